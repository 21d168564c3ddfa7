"""Reading the two replies of an AWE write: the facts, and what becomes of the memory. mem0's own spelling is accepted."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from amemgym_train.agents.parsing import parse_object
from amemgym_train.rollout.records import Parsed

EVENTS = ("add", "update", "delete", "none")


@dataclass(frozen=True)
class Decision:
    """``id``: the number under which the memory was shown; -1 for one that is added."""

    event: Literal["add", "update", "delete"]
    id: int = -1
    text: str = ""


def read_facts(text: str, max_chars: int) -> tuple[list[str], Parsed]:
    """``{"facts": ["...", ...]}``, each once; a fact may also be {"fact": "..."} or {"text": "..."}.

    What is no fact (empty, nested, or over ``max_chars`` long) is dropped, see ``_judged``.
    """
    found, how = parse_object(text)
    told = (found or {}).get("facts")
    if not isinstance(told, list):
        return [], "failed"
    lines = [_line(fact.get("fact", fact.get("text")) if isinstance(fact, dict) else fact) for fact in told]
    facts = [line for line in lines if 0 < len(line) <= max_chars]
    return list(dict.fromkeys(facts)), _judged(how, len(facts), len(told))


def read_decisions(text: str, shown: int, max_chars: int) -> tuple[list[Decision], Parsed]:
    """``{"memory": [{"event": "add" | "update" | "delete" | "none", "id": 0, "text": "..."}, ...]}`` about ``shown`` memories.

    Dropped, see ``_judged``: an unknown event, an id that was not shown or comes a second time, a text that is no fact.
    """
    found, how = parse_object(text)
    told = (found or {}).get("memory")
    if not isinstance(told, list):
        return [], "failed"
    decisions: list[Decision] = []
    good, taken = 0, set()
    for item in told:
        event, id, line = _item(item)
        known = event in ("add", "none") or (0 <= id < shown and id not in taken)
        if event not in EVENTS or not known or (event in ("add", "update") and not 0 < len(line) <= max_chars):
            continue
        good += 1
        if event in ("update", "delete"):
            taken.add(id)
        if event != "none":
            decisions.append(Decision(event, -1 if event == "add" else id, "" if event == "delete" else line))
    return decisions, _judged(how, good, len(told))


def _judged(how: Parsed, good: int, told: int) -> Parsed:
    """A reply with some of its items dropped is ``repaired``, one with all of them dropped ``failed``."""
    if good == told:
        return how
    return "repaired" if good else "failed"


def _item(item: Any) -> tuple[str, int, str]:
    if not isinstance(item, dict):
        return "", -1, ""
    event, id = item.get("event"), item.get("id")
    number = int(id) if re.fullmatch("[0-9]{1,9}", str(id)) else -1
    return (event.strip().lower() if isinstance(event, str) else ""), number, _line(item.get("text"))


def _line(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
