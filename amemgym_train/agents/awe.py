"""AWE, agentic write to an external store (arXiv 2603.01966): a model extracts facts, then decides what becomes of the store.

As in mem0 (arXiv 2504.19413), the second call sees the stored facts that resemble the new ones, under small numbers.
"""

from collections.abc import Sequence
from typing import Any

from amemgym_train.agents.batches import BatchAgent, about
from amemgym_train.agents.decisions import Decision, read_decisions, read_facts
from amemgym_train.agents.past import Message, Past
from amemgym_train.agents.retrieval.store import Store
from amemgym_train.rollout.records import Memory

SIMILAR = 5  # stored facts that are looked up for each new one, as many as mem0's


class AweAgent(BatchAgent):
    """``store`` holds the facts, each with the time of the last message it was taken from."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store = Store(self.config)

    async def recall(self, query: str) -> Sequence[str]:
        found = self.store.recall(query, self.config.top_k)
        return [f"[{entry['timestamp']}] {entry['value']}" for entry in found]

    def save(self) -> dict[str, Any]:
        return {**super().save(), "entries": self.store.save()}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self.store.load(state.get("entries", []))

    async def write(self, batch: list[Message], period: int, number: int) -> None:
        """One call or two: where no fact was found, or none like it is stored, there is nothing to decide."""
        slot, meta, time = f"write/p{period}/{number}", about(batch, period), batch[-1]["time"]
        turn = await self.call("write", f"{slot}/facts", self.prompts["facts"], Past(batch), {}, meta, step="facts")
        facts, turn.meta["parsed"] = read_facts(turn.text, self.config.max_entry_chars)
        index = self.record(turn)
        near = sorted({id for fact in facts for id in self.store.index.search(fact, SIMILAR)})
        if near:
            found = [self.store.entries[id]["value"] for id in near]
            shown = Past((), [f"{i}. {text}" for i, text in enumerate(found)])
            values, prompt = {"facts": "\n".join(facts)}, self.prompts["decide"]
            turn = await self.call("write", f"{slot}/decide", prompt, shown, values, meta, step="decide", found=found)
            decisions, turn.meta["parsed"] = read_decisions(turn.text, len(found), self.config.max_entry_chars)
            index = self.record(turn)
        else:
            decisions = [Decision("add", text=fact) for fact in facts]
        for decision in decisions:
            self._apply(decision, near, time)
        self.memories.append(Memory(index, period, list(self.store.entries.values())))

    def _apply(self, decision: Decision, near: Sequence[int], time: str) -> None:
        """An update is a removal and an addition, so that what is newest stands last."""
        if decision.event in ("update", "delete"):
            self.store.remove(near[decision.id])
        if decision.event in ("add", "update"):
            self.store.add("fact", decision.text, time)
