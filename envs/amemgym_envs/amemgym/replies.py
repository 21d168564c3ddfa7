"""What the environment accepts as an answer: one JSON object, bare or in a code fence. Nothing is repaired here."""

import json
from typing import Any

_FENCE = "```"


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object that ``text`` is; None for anything else, also for an object with words around it."""
    text = text.strip()
    if len(text) >= 2 * len(_FENCE) and text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text[len(_FENCE) : -len(_FENCE)].removeprefix("json")
    return strict_object(text)


def strict_object(text: str) -> dict[str, Any] | None:
    """``text`` without a fence as a JSON object that is ``storable``; None for anything else."""
    try:
        value = json.loads(text.strip())
        return value if isinstance(value, dict) and storable(value) else None
    except (ValueError, RecursionError):  # ValueError: no JSON, or an int of thousands of digits
        return None


def storable(value: dict[str, Any]) -> bool:
    """True if ``value`` can be written back as UTF-8 JSON; where it cannot (half a character, NaN, infinity), this raises
    ValueError or RecursionError."""
    return bool(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())


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
