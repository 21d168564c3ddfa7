"""RAG: old messages go into an index as they are, and those that fit a question come back (a baseline of arXiv 2603.01966)."""

from collections.abc import Sequence
from typing import Any

from amemgym_train.agents.batches import BatchAgent
from amemgym_train.agents.past import Message
from amemgym_train.agents.retrieval.store import Entry, Store
from amemgym_train.rollout.records import Memory


class RagAgent(BatchAgent):
    """``store`` holds every message that left ``recent``, labelled User or Assistant. No call is made to write one.

    A snapshot of the memory after every write would repeat the whole conversation each time: there is one per period, and it
    belongs to no turn.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store = Store(self.config)
        self.pictured = 0  # messages in the last snapshot

    async def recall(self, query: str) -> Sequence[str]:
        return [_note(entry) for entry in self.store.recall(query, self.config.top_k)]

    async def write(self, batch: list[Message], period: int, number: int) -> None:
        for message in batch:
            self.store.add(message["role"].capitalize(), message["content"], message["time"])

    async def settle(self, period: int) -> None:
        await super().settle(period)
        if len(self.store.entries) > self.pictured:
            self.pictured = len(self.store.entries)
            self.memories.append(Memory(None, period, list(self.store.entries.values())))

    def save(self) -> dict[str, Any]:
        return {**super().save(), "entries": self.store.save()}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self.store.load(state.get("entries", []))
        self.pictured = len(self.store.entries)


def _note(entry: Entry) -> str:
    said = f"{entry['label']}: {entry['value']}"
    return said if entry["timestamp"] in entry["value"] else f"[{entry['timestamp']}] {said}"  # an opening tells its own time
