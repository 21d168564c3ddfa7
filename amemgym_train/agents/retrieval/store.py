"""The memory of agents that retrieve: entries under growing numbers, and an index over them."""

from typing import Any

from amemgym_train.agents.retrieval import Index, build_index
from amemgym_train.config.agent import AgentConfig

Entry = dict[str, str]


class Store:
    """``entries`` {id: {label, value, timestamp}}, oldest first. An entry is never changed: snapshots of the memory share it."""

    def __init__(self, config: AgentConfig) -> None:
        self.config = config
        self.entries: dict[int, Entry] = {}
        self.index: Index = build_index(config)
        self.following = 0  # the next id

    def add(self, label: str, value: str, timestamp: str) -> int:
        id = self.following
        self._put(id, {"label": label, "value": value, "timestamp": timestamp})
        return id

    def remove(self, id: int) -> None:
        del self.entries[id]
        self.index.remove(id)

    def recall(self, query: str, k: int) -> list[Entry]:
        """The ``k`` entries that fit best, oldest first. Where fewer have anything in common with it, the newest fill up."""
        found = set(self.index.search(query, k))
        for id in reversed(self.entries):
            if len(found) >= k:
                break
            found.add(id)
        return [self.entries[id] for id in sorted(found)]

    def save(self) -> list[dict[str, Any]]:
        return [{"id": id, **entry} for id, entry in self.entries.items()]

    def load(self, saved: list[dict[str, Any]]) -> None:
        """An index is made from its texts again; not where they are what it holds already, as between two questions."""
        if saved == self.save():
            return
        self.entries, self.index, self.following = {}, build_index(self.config), 0
        for one in saved:
            self._put(one["id"], {name: text for name, text in one.items() if name != "id"})

    def _put(self, id: int, entry: Entry) -> None:
        self.entries[id] = entry
        self.index.add(id, entry["value"])
        self.following = id + 1
