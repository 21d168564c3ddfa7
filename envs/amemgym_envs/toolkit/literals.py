"""JSON and Python literals from text that nobody vouches for: read, never evaluated."""

import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

DEPTH = 12  # lists in lists, and so on; no argument here has use for more
DIGITS = 18  # of a whole number
WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
TOKEN = re.compile(
    r"\s*(?:"
    r'(?P<text>"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')'
    r"|(?P<number>[-+]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][-+]?[0-9]++)?+)"
    r"|(?P<word>[A-Za-z]++))(?![\w.])",
    re.DOTALL,
)
MARK = re.compile(r"\s*(?P<mark>[\[\](){},:])")
CLOSING = {"[": "]", "(": ")", "{": "}"}


def literal(text: str) -> Any:
    """The value that ``text`` writes in JSON or as a Python literal; tuples become lists. ValueError: it writes none, or one that
    is nested deeper than ``DEPTH``, or a number that is not finite or has more than ``DIGITS`` digits."""
    tokens = _tokens(text)
    value = _value(next(tokens), tokens, 0)
    if next(tokens) != ("end", ""):
        raise ValueError("there is text after the value")
    return value


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = MARK.match(text, at) or TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"no value is written like {text[at:at + 20].strip()!r}")
        yield match.lastgroup or "", match[match.lastgroup or 0]
        at = match.end()
    while True:
        yield "end", ""


def _value(token: tuple[str, str], tokens: Iterator[tuple[str, str]], depth: int) -> Any:
    kind, written = token
    if kind == "text":
        return _text(written)
    if kind == "number":
        return _number(written)
    if kind == "word" and written in WORDS:
        return WORDS[written]
    if written in CLOSING and kind == "mark":
        if depth == DEPTH:
            raise ValueError(f"nested deeper than {DEPTH}")
        return _mapping(tokens, depth + 1) if written == "{" else _list(CLOSING[written], tokens, depth + 1)
    raise ValueError(f"a value was expected, not {written[:20]!r}" if written else "the value is cut off")


def _list(closing: str, tokens: Iterator[tuple[str, str]], depth: int) -> list[Any]:
    values = []
    while (token := next(tokens)) != ("mark", closing):
        values.append(_value(token, tokens, depth))
        if _separated(tokens, closing):
            break
    return values


def _mapping(tokens: Iterator[tuple[str, str]], depth: int) -> dict[Any, Any]:
    values: dict[Any, Any] = {}
    while (token := next(tokens)) != ("mark", "}"):
        key = _value(token, tokens, depth)
        if isinstance(key, list | dict):
            raise ValueError("a key is a list or an object")
        if next(tokens) != ("mark", ":"):
            raise ValueError(f"a ':' was expected after the key {key!r}"[:80])
        values[key] = _value(next(tokens), tokens, depth)
        if _separated(tokens, "}"):
            break
    return values


def _separated(tokens: Iterator[tuple[str, str]], closing: str) -> bool:
    """Whether the list ends here; otherwise a comma was read."""
    token = next(tokens)
    if token not in (("mark", ","), ("mark", closing)):
        raise ValueError(f"a ',' or {closing!r} was expected, not {token[1][:20]!r}" if token[1] else f"{closing!r} is missing")
    return token[1] == closing


def _text(written: str) -> str:
    body = written[1:-1]
    if written[0] == "'":
        body = re.sub(r"\\.|\"", lambda match: {"\\'": "'", '"': '\\"'}.get(match[0], match[0]), body, flags=re.DOTALL)
    try:
        text = json.loads(f'"{body}"', strict=False)
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a string holds half of a surrogate pair, which is no character") from None
    except json.JSONDecodeError:
        raise ValueError(f"the string {written[:20]!r} holds an escape that JSON does not know") from None
    return text


def _number(written: str) -> int | float:
    if re.fullmatch(r"[-+]?[0-9]+", written):
        if len(written) > DIGITS:
            raise ValueError(f"a number has more than {DIGITS} digits")
        return int(written)
    number = float(written)
    if not isfinite(number):
        raise ValueError(f"the number {written[:20]} is not finite")
    return number
