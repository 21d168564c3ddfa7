"""AWI, agentic write in context: the model keeps labelled notes (AMemGym, arXiv 2603.01966)."""

import copy
import json
from collections.abc import Sequence
from typing import Any

from amemgym_train.agents.base import MemoryAgent
from amemgym_train.agents.parsing import parse_object
from amemgym_train.agents.past import Past
from amemgym_train.rollout.records import Memory, Parsed

Entry = dict[str, str]


class AwiAgent(MemoryAgent):
    """``entries`` are the notes {label, value, timestamp}, oldest first; labels are unique."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entries: list[Entry] = []

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

    async def absorb(self, period: int) -> None:
        while len(self.recent) >= self.config.update_bsz + self.config.local_length:
            await self._write(period)

    async def settle(self, period: int) -> None:
        while self.config.flush == "period" and self.recent:
            await self._write(period)

    async def _write(self, period: int) -> None:
        """One memory-update call for the oldest ``update_bsz`` messages, which then leave ``recent``."""
        batch = self.take(self.config.update_bsz)
        about = {"period": period, "sessions": sessions_of(batch), "exposed": exposed_by(batch)}
        number = sum(turn.operation == "write" and turn.meta["period"] == period for turn in self.turns)
        past = Past(batch, self.notes)
        turn = await self.call("write", f"write/p{period}/{number}", self.prompts["write"], past, {}, about)
        updates, turn.meta["parsed"] = read_updates(turn.text, self.config.max_entry_chars)
        index = self.record(turn)
        self.entries = merge(self.entries, updates, batch[-1]["time"])
        if self.config.max_entries is not None:
            self.entries = self.entries[-self.config.max_entries :]
        self.memories.append(Memory(index, period, copy.deepcopy(self.entries)))


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


def sessions_of(messages: list[dict[str, Any]]) -> list[list[int]]:
    """The [period, session] pairs that the messages come from, each once, in order."""
    return [list(pair) for pair in dict.fromkeys((message["period"], message["session"]) for message in messages)]


def exposed_by(messages: list[dict[str, Any]]) -> dict[str, str]:
    """{info_type: value} that the messages gave away; the last one counts."""
    return {state: value for message in messages for state, value in message["exposed"].items()}
