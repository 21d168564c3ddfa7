"""JSON files, plain or gzipped: read with the place of a mistake, written under a temporary name and then renamed."""

import gzip
import json
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

from amemgym_envs.amemgym.errors import ScenarioError


def read_json(path: Path) -> Any:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    try:
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8 text ({error}); save it as UTF-8") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ScenarioError(f"{path}: truncated or no {path.suffix} file ({error}); copy or download it again") from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ScenarioError(
            f"{path}: invalid JSON at line {error.lineno}, column {error.colno} ({error.msg}); "
            "the file may be truncated, copy or download it again"
        ) from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, thousands of nested lists
        raise ScenarioError(f"{path}: no sensible JSON ({error}); compare it with a file of the public layout") from error


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
