"""Finding the texts that go with a query: by words (BM25), by meaning (a sentence-embedding model), or by both."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from amemgym_train.config.agent import AgentConfig


class Index(Protocol):
    """Texts under numbers, which grow: a text added later has the higher one. A change needs nothing to be built anew."""

    def add(self, id: int, text: str) -> None: ...

    def remove(self, id: int) -> None:
        """Forget a text that was added."""
        ...

    def search(self, query: str, k: int) -> list[int]:
        """At most ``k`` ids, best first, of equals the newest. Texts that have nothing in common with the query are not there."""
        ...


def build_index(config: "AgentConfig") -> Index:
    """An empty index of the kind ``agent.retrieval``."""
    from amemgym_train.agents.retrieval.bm25 import Bm25Index
    from amemgym_train.agents.retrieval.dense import DenseIndex
    from amemgym_train.agents.retrieval.embedders import embedder
    from amemgym_train.agents.retrieval.hybrid import HybridIndex

    if config.retrieval == "bm25":
        return Bm25Index()
    dense = DenseIndex(embedder(config.embedder))
    return dense if config.retrieval == "dense" else HybridIndex([Bm25Index(), dense])
