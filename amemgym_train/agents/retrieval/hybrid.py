"""Several indexes as one: reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""

from collections import defaultdict
from collections.abc import Sequence

from amemgym_train.agents.retrieval import Index

K = 60  # the constant of the paper
POOL = 100  # ranks below it would add less than 1/160 each


class HybridIndex:
    """The score of a text is the sum of 1 / (60 + rank) over the ``parts`` that found it; ranks count from 1."""

    def __init__(self, parts: Sequence[Index]) -> None:
        self.parts = parts

    def add(self, id: int, text: str) -> None:
        for part in self.parts:
            part.add(id, text)

    def remove(self, id: int) -> None:
        for part in self.parts:
            part.remove(id)

    def search(self, query: str, k: int) -> list[int]:
        scores: dict[int, float] = defaultdict(float)
        for part in self.parts:
            for rank, id in enumerate(part.search(query, max(k, POOL)), 1):
                scores[id] += 1 / (K + rank)
        return sorted(scores, key=lambda id: (-scores[id], -id))[:k]
