"""JSON files of an evaluation: whole or not at all, the same content as the same bytes, and errors for people."""

import json
from pathlib import Path
from typing import Any

from amemgym_train import files
from amemgym_train.errors import UserError


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """UserError when it cannot be written: an OSError would pass for a lost connection while episodes are played."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(path, text)
    except OSError as error:
        raise UserError(
            f"could not write {path} ({error.strerror}). Finished periods are kept: free some space, or mend the path, then run "
            "the same command again"
        ) from error


def read_json(path: Path, kind: type) -> Any:
    """A ``kind`` of value, dict or list. UserError when it is absent, broken or something else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read ({error}); delete it and run the same command again") from error
    if not isinstance(value, kind):
        got = f"{path} holds a {type(value).__name__}, expected a {kind.__name__}"
        raise UserError(f"{got}; delete it and run the same command again")
    return value
