"""JSON files: a list of objects, or one object a line. Every mistake is told with the file and the number of the entry."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError
from amemgym_train.files import write_text


def read_entries(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(``<path>, entry <n>``, object) of every entry; numbers begin with 1. UserError: no such file, no JSON, no objects."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise UserError(f"there is no file {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error
    if text.lstrip().startswith("["):
        entries: Iterable[Any] = _parse(text, str(path))
    else:
        lines = [line for line in text.split("\n") if line.strip()]
        entries = (_parse(line, f"{path}, entry {number}") for number, line in enumerate(lines, 1))
    number = 0
    for number, entry in enumerate(entries, 1):
        where = f"{path}, entry {number}"
        if not isinstance(entry, dict):
            raise UserError(f"{where}: {_kind(entry)}, expected an object with the key item_id")
        yield where, entry
    if not number:
        raise UserError(f"{path} has no entry")


def write_entries(path: str | Path, entries: list[dict[str, Any]], indent: int | None = None) -> None:
    """One JSON list, or one object a line where the name of ``path`` ends in .jsonl; whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        write_text(path, "".join(_dumped(entry) + "\n" for entry in entries))
    else:
        write_text(path, _dumped(entries, indent) + "\n")


def taken(where: str, entry: dict[str, Any], key: str, kind: type | tuple[type, ...], expected: str) -> Any:
    """``entry[key]``. UserError: it is not there, or of another kind than ``expected`` says."""
    value = entry.get(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        got = _kind(value) if key in entry else f"not there (keys: {', '.join(entry) or 'none'})"
        raise UserError(f"{where}: {key} is {got}, expected {expected}")
    return value


def text_of(where: str, entry: dict[str, Any], key: str) -> str:
    value = taken(where, entry, key, str, "a text")
    if value.isascii() or value.encode("utf-8", "ignore").decode() == value:
        return value
    raise UserError(f"{where}: {key} has half a surrogate pair (\\ud800 to \\udfff), which is no text; delete the entry")


def _dumped(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # Half a surrogate pair in a key that is merely handed on has no UTF-8, but an escape.
    return text if text.encode("utf-8", "ignore").decode() == text else json.dumps(value, indent=indent)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError as error:
        raise UserError(f"{where}: nested too deep") from error
    except ValueError as error:
        raise UserError(f"{where}: not JSON ({error}); expected a list of objects, or one object a line") from error


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")
