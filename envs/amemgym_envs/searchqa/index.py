"""Full-text search over articles by SQLite's FTS5. One index serves all environments of a process, from any thread."""

import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from threading import Lock

from amemgym_envs.searchqa.articles import Article

MOST_TERMS = 32  # of a query that are looked up
COMMON = 100, 0.1  # articles, and share of all articles, that a word has to be in to be a common one
_WORD = re.compile(r"\w+")
_EVERYWHERE = frozenset(
    "a an and are as at be been by did do does for from had has have how in is it its of on or that the their they this to was"
    " were what when where which who whom whose why with".split()
)


def terms(query: str) -> list[str]:
    """The words of ``query`` that tell articles apart, in order, each once."""
    words = list(dict.fromkeys(_WORD.findall(query.lower())))
    return ([word for word in words if word not in _EVERYWHERE] or words)[:MOST_TERMS]


class Index:
    """``articles`` by BM25 over title and text, a word of the title counting five times. RuntimeError: SQLite has no FTS5."""

    def __init__(self, articles: Sequence[Article]) -> None:
        self._lock = Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        try:
            self._database.execute("CREATE VIRTUAL TABLE article USING fts5(title, text, tokenize='porter unicode61')")
        except sqlite3.OperationalError as error:
            raise RuntimeError(f"SearchQA needs SQLite with FTS5, and this Python's SQLite says: {error}") from error
        clean = ([part.encode("utf-8", "replace").decode() for part in article] for article in articles)
        self._database.executemany("INSERT INTO article VALUES (?, ?)", clean)
        self._database.execute("INSERT INTO article(article, rank) VALUES ('rank', 'bm25(5.0, 1.0)')")
        self._database.commit()
        self._database.execute("PRAGMA query_only = 1")
        self._most = max(COMMON[0], COMMON[1] * len(articles))
        self._is_common = lru_cache(maxsize=65_536)(self._is_common)
        self.search = lru_cache(maxsize=4096)(self.search)

    def search(self, query: str, top: int) -> tuple[Article, ...]:
        """The ``top`` articles that share a word with ``query``, best first; of equal ones the earlier first.

        Common words, beside others, are looked up in titles only: in texts they cost the most and say the least.
        """
        words = terms(query)
        if not words:
            return ()
        common = [self._is_common(word) for word in words]
        titles = common if not all(common) else [False] * len(words)
        # Every word is quoted: bare text from outside would be read as FTS5's query language.
        match = " OR ".join(f'title : "{word}"' if title else f'"{word}"' for word, title in zip(words, titles, strict=True))
        rows = self._rows("SELECT title, text FROM article WHERE article MATCH ? ORDER BY rank, rowid LIMIT ?", match, top)
        return tuple(Article(*row) for row in rows)

    def _is_common(self, word: str) -> bool:
        [[count]] = self._rows("SELECT count(*) FROM article WHERE article MATCH ?", f'"{word}"')
        return count > self._most

    def _rows(self, statement: str, *values: str | int) -> list[tuple]:
        with self._lock:
            return self._database.execute(statement, values).fetchall()
