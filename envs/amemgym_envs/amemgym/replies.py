"""What the environment accepts as an answer: one JSON object, bare or in a code fence. Nothing is repaired here."""

import json
import re
from typing import Any

_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object that ``text`` is; None for anything else, also for an object with words around it."""
    text = text.strip()
    fenced = _FENCE.fullmatch(text)
    try:
        value = json.loads(fenced.group(1) if fenced else text)
    except (ValueError, RecursionError):  # ValueError: no JSON, or an int of thousands of digits
        return None
    return value if isinstance(value, dict) else None


def parse_answer(text: str, choices: int) -> int | None:
    """The 0-based choice in {"answer": <1-based int>}; None when there is none or it is out of range."""
    answer = (parse_object(text) or {}).get("answer")
    if isinstance(answer, bool) or not isinstance(answer, int) or not 1 <= answer <= choices:
        return None
    return answer - 1


def parse_probe(text: str, schema: dict[str, list[str]]) -> dict[str, str | None]:
    """{info_type: value} for every type of ``schema``; None for a type that is missing or whose value is not allowed."""
    reply = parse_object(text) or {}
    return {name: reply.get(name) if reply.get(name) in values else None for name, values in schema.items()}
