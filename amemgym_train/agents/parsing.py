"""Reading JSON replies of a model: strict first, repaired second, and never an exception.

Every reader also returns how the reply was read: ``strict`` (valid JSON, bare or in a code fence), ``repaired`` (by json_repair,
or a number written as a string) or ``failed`` (nothing usable in it).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from amemgym_envs.amemgym import replies
from amemgym_train.rollout.records import Parsed

# json_repair takes quadratic time on degenerate text (20 s for 25,000 characters of "{a:b:"): longer replies are read strictly.
REPAIR_LIMIT = 6000


def parse_object(text: str) -> tuple[dict[str, Any] | None, Parsed]:
    """Read ``text`` as one JSON object: the whole text or a ```json fence in it, else what json_repair makes of it.

    An empty object counts only when it is strict; a repaired one must hold something. An object that could not be written
    back as UTF-8 JSON (lone surrogates, NaN, infinity) does not count. What the environment can read is read as it reads it.
    """
    found = replies.parse_object(text)
    if found is None:
        found = next((one for body in _fences(text) if (one := replies.strict_object(body)) is not None), None)
    if found is not None:
        return found, "strict"
    found = _repaired(text)
    return (found, "repaired") if found else (None, "failed")


def parse_answer(text: str, choices: int, texts: Sequence[str] = ()) -> tuple[int | None, Parsed]:
    """Read ``{"answer": n}``, n an integer from 1 to ``choices``; returns the 0-based choice or None. "2" counts as repaired.

    With the choices' ``texts``, a reply may also quote its choice word for word (``{"answer": "take the tram"}``): small models
    copy far better than they number. A quotation that fits no choice, or several, is ``failed``.
    """
    found, how = parse_object(text)
    value = (found or {}).get("answer")
    if isinstance(value, str) and list(texts).count(value) == 1:
        return list(texts).index(value), how
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}\s*", value):
        value, how = int(value), "repaired"
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= choices:
        return None, "failed"
    return value - 1, how


def parse_states(text: str, schema: Mapping[str, Sequence[str]]) -> tuple[dict[str, str | None], Parsed]:
    """Read ``{state: value}`` for the states of ``schema`` ({state: allowed values}); a missing or foreign value becomes None.

    Other keys are ignored. A reply from which no state could be read is ``failed``.
    """
    found, how = parse_object(text)
    states = {state: _allowed((found or {}).get(state), values) for state, values in schema.items()}
    return states, how if any(value is not None for value in states.values()) else "failed"


def _allowed(value: Any, values: Sequence[str]) -> str | None:
    return value if isinstance(value, str) and value in list(values) else None


def _fences(text: str) -> list[str]:
    """The bodies of the closed code fences, without a json tag. Splitting, unlike a regular expression, is linear on any text."""
    parts = text.split("```")
    bodies = [part.lstrip() for part in parts[1:-1:2]]
    return [body[4:] if body[:4].lower() == "json" else body for body in bodies]


def _repaired(text: str) -> dict[str, Any] | None:
    if len(text) > REPAIR_LIMIT:
        return None
    import json_repair

    try:
        found = json_repair.repair_json(text, return_objects=True)
        return found if isinstance(found, dict) and replies.storable(found) else None
    except (ValueError, RecursionError):
        return None
