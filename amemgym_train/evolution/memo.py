"""What costs much and is the same each time: kept on disk as soon as it is there, by a hash of all that decides it."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym_train.evolution import ranks
from amemgym_train.files import write_json


@dataclass(frozen=True)
class Memo:
    """JSON objects in ``folder``, which may be deleted at any time. ``about``: what all of them depend on."""

    folder: Path
    about: Mapping[str, Any]

    def get(self, key: Mapping[str, Any], work: Callable[[], dict[str, Any]], everywhere: bool = True) -> dict[str, Any]:
        """What is kept under ``key``, else of ``work`` now: done by every process, or (not ``everywhere``) by the main one."""
        whole = json.dumps({**self.about, **key}, sort_keys=True)
        path = self.folder / f"{hashlib.sha256(whole.encode()).hexdigest()[:32]}.json"
        found = _read(path)
        ranks.wait()  # no process may write while another still reads
        if found is None:
            made = work() if everywhere or ranks.is_main() else None
            if ranks.is_main():
                self.folder.mkdir(exist_ok=True)
                write_json(path, made)
            ranks.wait()
            found = made if everywhere else _read(path)
        return found


def _read(path: Path) -> dict[str, Any] | None:
    """None where nothing is kept, or what is kept is damaged."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else None
    except (OSError, ValueError):
        return None
