"""JSON files of an evaluation: written under a temporary name and then renamed, the same content as the same bytes."""

import json
from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """UserError when it cannot be written: an OSError would pass for a lost connection while episodes are played."""
    scratch = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise UserError(
            f"could not write {path} ({error.strerror}). Finished periods are kept: free some space, or mend the path, then run "
            "the same command again"
        ) from error


def read_json(path: Path) -> Any:
    """UserError when it is absent or broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read ({error}); delete it and run the same command again") from error
