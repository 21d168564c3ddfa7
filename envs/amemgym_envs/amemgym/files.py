"""JSON and YAML files: read with the place of a mistake, written under a temporary name and then renamed."""

import gzip
import json
import math
import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from amemgym_envs.amemgym.errors import ScenarioError

_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # half of a character, if its other half does not follow


def read_json(path: Path) -> Any:
    text = _text(path)
    try:
        return _writable(_DECODER.decode(text), _escaped(text))
    except json.JSONDecodeError as error:
        raise ScenarioError(_misread(path, error)) from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, thousands of nested lists
        raise ScenarioError(f"{path}: no sensible JSON ({error}); compare it with a file of the public layout") from error


def read_items(path: Path) -> Iterator[Any]:
    """The entries of a JSON list, one at a time: only one of them is held as objects."""
    text = _text(path)
    place, escaped = _skip(text, 0), _escaped(text)
    if text[place : place + 1] != "[":
        raise ScenarioError(f"{path}: starts with {text[:20]!r}, expected a list of scenarios")
    place = _skip(text, place + 1)
    try:
        ended = text[place : place + 1] == "]"
        while not ended:
            item, place = _DECODER.raw_decode(text, place)  # refuses a bracket after a comma
            yield _writable(item, escaped)
            place = _skip(text, place)
            ended = text[place : place + 1] == "]"
            if not ended and text[place : place + 1] != ",":
                raise json.JSONDecodeError("Expecting ',' delimiter", text, place)
            place = place if ended else _skip(text, place + 1)
        if (rest := _skip(text, place + 1)) < len(text):
            raise json.JSONDecodeError("Extra data after the list", text, rest)
    except json.JSONDecodeError as error:
        raise ScenarioError(_misread(path, error)) from error
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{path}: no sensible JSON ({error}); compare it with a file of the public layout") from error


def _skip(text: str, place: int) -> int:
    """The next place that is no white space."""
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _escaped(text: str) -> bool:
    return _SURROGATE.search(text) is not None


def _writable(value: Any, escaped: bool) -> Any:
    """``value`` if it can be written again; ValueError for half a character, which only an escape can hold."""
    if escaped:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Python would let the last of equal keys win in silence."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(key for key in keys if keys.count(key) > 1)!r} stands twice in one object")
    return found


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is no number of JSON")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_finite)


def _misread(path: Path, error: json.JSONDecodeError) -> str:
    return (
        f"{path}: invalid JSON at line {error.lineno}, column {error.colno} ({error.msg}); "
        "the file may be truncated, copy or download it again"
    )


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    try:
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8 text ({error}); save it as UTF-8") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ScenarioError(f"{path}: truncated or no {path.suffix} file ({error}); copy or download it again") from error


def read_yaml(path: Path) -> Any:
    """Plain data only: tags that would build objects are refused."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # both are safe; the C one takes a tenth of the time
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: no valid YAML ({' '.join(str(error).split())})") from error


def write_json(path: Path, content: Any) -> None:
    """Laid out as the public files are (indent 1, no final newline). Equal content gives equal bytes, gzipped or not."""
    raw = json.dumps(content, indent=1, ensure_ascii=False).encode("utf-8")
    if path.suffix == ".gz":
        raw = gzip.compress(raw, mtime=0)
    if path.exists() and not path.is_file():
        raise ScenarioError(f"{path}: no regular file, so it is not replaced; choose another path")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be written ({error.strerror}); check the path and permissions") from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be written ({error.strerror}); check free space and permissions") from error
    finally:
        temporary.unlink(missing_ok=True)
