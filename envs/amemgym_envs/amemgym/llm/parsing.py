"""The JSON object in a model's reply, and the shapes that its parts may have.

Everything here raises ValueError with a complaint that can be shown to the model.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from amemgym_envs.amemgym.node import Node

_LONGEST = 4000  # characters of any one text
_LOOKED_AT = 200  # opening braces of one reply
_THOUGHT = "</think>"  # ends the thoughts of a reasoning model
_DECODER = json.JSONDecoder()


def parse_reply(text: str) -> Node:
    """The one JSON object in ``text``, which may stand in a code fence, among words, or after a reasoning model's thoughts."""
    found = _objects(text)
    if len(found) != 1:
        raise ValueError(f"there is {'no' if not found else 'more than one'} JSON object in the reply")
    clean = json.dumps(found[0], ensure_ascii=False).encode("utf-8", "replace")  # lone surrogates could not be saved
    return Node(json.loads(clean), "your reply")


def _objects(text: str) -> list[Any]:
    """The outermost JSON objects in ``text``; those of its thoughts only when no other follows."""
    found: list[Any] = []
    thoughts = end = 0
    for _ in range(_LOOKED_AT):
        at = text.find("{", end)
        if text.find(_THOUGHT, end, at if at >= 0 else None) >= 0:
            thoughts = len(found)
        if at < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, at)
        except ValueError:  # a brace among the words, or digits by the thousand
            end = at + 1
        else:
            found.append(value)
    return found[thoughts:] or found


def part(node: Node, key: str) -> Node:
    parts = node.mapping()
    if key not in parts:
        node.fail(f"an object with the key {key!r}")
    return parts[key]


def prose(node: Node) -> str:
    """A text on one line, neither empty nor endless."""
    text = " ".join(node.text().split())
    if not 0 < len(text) <= _LONGEST:
        node.fail(f"a text of 1 to {_LONGEST} characters")
    return text


def snake(node: Node) -> str:
    """A name or value as snake_case; blanks and dashes are mended."""
    name = re.sub(r"[^a-z0-9]+", "_", node.text().lower()).strip("_")
    if not 0 < len(name) <= 60:
        node.fail("a short name in English snake_case")
    return name


def distinct(node: Node, count: int) -> list[str]:
    """``count`` different names or values."""
    names = [snake(entry) for entry in node.items()]
    if len(names) != count or len(set(names)) != count:
        node.fail(f"a list of {count} different values in English snake_case")
    return names


def unquoted(text: str, names: Iterable[str]) -> str:
    """``text``, unless it has one of ``names`` with its underscores."""
    quoted = sorted(name for name in names if "_" in name and name in text.lower())
    if quoted:
        raise ValueError(f"the text contains {', '.join(quoted)}; say it in plain words")
    return text
