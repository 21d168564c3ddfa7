"""AWI, agentic write in context: the model keeps labelled notes (AMemGym, arXiv 2603.01966)."""

import copy
import json
from collections.abc import Sequence
from typing import Any

from amemgym_train.agents.batches import BatchAgent, about
from amemgym_train.agents.parsing import parse_object
from amemgym_train.agents.past import Message, Past
from amemgym_train.rollout.records import Memory, Parsed

Entry = dict[str, str]


class AwiAgent(BatchAgent):
    """``entries`` are the notes {label, value, timestamp}, oldest first; labels are unique.

    awi-hack (an ablation of the paper) is told what the questions will be about: ``types``, the info types of the schema.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entries: list[Entry] = []
        self.types: list[str] = []

    @property
    def notes(self) -> list[str]:
        return [f"{entry['label']}: {entry['value']}" for entry in self.entries]

    async def recall(self, query: str) -> Sequence[str]:
        return self.notes

    def save(self) -> dict[str, Any]:
        return {**super().save(), "entries": copy.deepcopy(self.entries)}

    def load(self, state: dict[str, Any]) -> None:
        super().load(state)
        self.entries = copy.deepcopy(state.get("entries", []))

    async def act(self, observation: str, info: dict[str, Any]) -> str:
        if self.config.name == "awi-hack":
            self.types = info.get("info_types", self.types)
        return await super().act(observation, info)

    async def write(self, batch: list[Message], period: int, number: int) -> None:
        """One memory-update call."""
        values = {"types": ", ".join(self.types)}
        slot, past = f"write/p{period}/{number}", Past(batch, self.notes)
        turn = await self.call("write", slot, self.prompts["write"], past, values, about(batch, period))
        updates, turn.meta["parsed"] = read_updates(turn.text, self.config.max_entry_chars)
        index = self.record(turn)
        self.entries = merge(self.entries, updates, batch[-1]["time"])
        if self.config.max_entries is not None:
            self.entries = self.entries[-self.config.max_entries :]
        self.memories.append(Memory(index, period, [dict(entry) for entry in self.entries]))


def merge(entries: list[Entry], updates: dict[str, str], timestamp: str) -> list[Entry]:
    """Dict union: a new label is appended; one that exists gets its new value and moves to the end, where the newest stand."""
    kept = [entry for entry in entries if entry["label"] not in updates]
    return kept + [{"label": label, "value": value, "timestamp": timestamp} for label, value in updates.items()]


def read_updates(text: str, max_chars: int) -> tuple[dict[str, str], Parsed]:
    """The notes {label: value} in a write reply; what cannot be a note (nested, empty, or over ``max_chars`` long) is dropped.

    A reply with some notes dropped is ``repaired``, one with all of them dropped ``failed``; an empty object is a valid reply.
    """
    found, how = parse_object(text)
    if found is None:
        return {}, how
    notes = {" ".join(label.split()): _as_text(value) for label, value in found.items()}
    good = {label: value for label, value in notes.items() if 0 < len(label) <= max_chars and 0 < len(value) <= max_chars}
    if len(good) == len(found):
        return good, how
    return good, "repaired" if good else "failed"


def _as_text(value: Any) -> str:
    """A value on one line; numbers and booleans as JSON writes them. Empty for what is no single value (null, lists, objects)."""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return " ".join(value.split()) if isinstance(value, str) else ""
