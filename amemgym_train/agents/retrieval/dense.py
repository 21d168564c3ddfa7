"""Search by meaning: the texts whose vectors point most where the query's does."""

import numpy as np

from amemgym_train.agents.retrieval.embedders import Embedder


class DenseIndex:
    """One row of ``vectors`` per text, in the order of ``ids``. New texts wait for a search, which embeds all of them at once."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.ids: list[int] = []
        self.vectors = np.zeros((16, embedder.size), np.float32)  # the first len(ids) rows count
        self.waiting: dict[int, str] = {}

    def add(self, id: int, text: str) -> None:
        self.waiting[id] = text

    def remove(self, id: int) -> None:
        if self.waiting.pop(id, None) is None:
            row, count = self.ids.index(id), len(self.ids)
            self.vectors[row : count - 1] = self.vectors[row + 1 : count]
            del self.ids[row]

    def search(self, query: str, k: int) -> list[int]:
        self._embed()
        if not self.ids:
            return []
        scores = self.vectors[: len(self.ids)] @ self.embedder.embed([query])[0]
        best = np.lexsort((np.arange(len(scores)), scores))[: -k - 1 : -1]  # of equals the one further on, which is newer
        return [self.ids[row] for row in best]

    def _embed(self) -> None:
        if not self.waiting:
            return
        count, needed = len(self.ids), len(self.ids) + len(self.waiting)
        if needed > len(self.vectors):
            grown = np.zeros((max(needed, 2 * len(self.vectors)), self.embedder.size), np.float32)
            grown[:count] = self.vectors[:count]
            self.vectors = grown
        self.vectors[count:needed] = self.embedder.embed(list(self.waiting.values()))
        self.ids += self.waiting
        self.waiting = {}
