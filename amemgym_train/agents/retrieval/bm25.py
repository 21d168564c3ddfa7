"""BM25 by SQLite's full-text index FTS5 (k1 = 1.2, b = 0.75), in memory."""

import heapq
import sqlite3
from collections import Counter
from itertools import accumulate

from amemgym_train.agents.retrieval.words import words

# Of a query's words the rarest are looked for, so many at most, and only while the texts that hold them are not more than these:
# a long message would else match nearly every text, for next to no weight.
TERMS, MATCHES = 20, 1250
IN_HASH = 1 << 30

INSERT = "INSERT INTO texts(rowid, text) VALUES (?, ?)"
DELETE = "INSERT INTO texts(texts, rowid, text) VALUES ('delete', ?, ?)"
SEARCH = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank, rowid DESC LIMIT ?"


class Bm25Index:
    """The words are told apart here, so that FTS5 need only split at spaces; ``texts`` has them, in one string per id."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self.holding: Counter[str] = Counter()  # texts that hold a word
        self.database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, content = '', tokenize = 'ascii')")
        # Never committed: what is new stays in FTS5's hash table and makes no segment of its own, four times as fast to search.
        self.database.execute("INSERT INTO texts(texts, rank) VALUES ('hashsize', ?)", (IN_HASH,))
        self.database.execute("BEGIN")

    def add(self, id: int, text: str) -> None:
        found = words(text)
        self.texts[id] = " ".join(found)
        self.holding.update(set(found))
        self.database.execute(INSERT, (id, self.texts[id]))

    def remove(self, id: int) -> None:
        text = self.texts.pop(id)
        self.holding.subtract(set(text.split()))
        self.database.execute(DELETE, (id, text))

    def search(self, query: str, k: int) -> list[int]:
        terms = self._terms(query)
        if not terms:
            return []
        match = " OR ".join([f'"{term}"' for term in terms])  # quoted, so that no word is an operator; none holds a quote
        return [id for (id,) in self.database.execute(SEARCH, (match, k))]

    def _terms(self, query: str) -> list[str]:
        """The words to look for. One that most texts hold tells nothing (FTS5's weight of it is 0), unless there is no other."""
        held = self.holding.get  # a Counter's own [] is slow where a word is not there
        known = heapq.nsmallest(TERMS, [(count, word) for word in set(words(query)) if (count := held(word))])
        matches = accumulate(count for count, _ in known)
        few = [one for one, sum in zip(known, matches, strict=True) if sum <= MATCHES] or known[:1]
        telling = [word for count, word in few if 2 * count <= len(self.texts)]
        return telling or [word for _, word in few]
