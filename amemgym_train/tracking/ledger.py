"""What a board has been sent. Boards cannot take a point back, so a run that goes on must not send one again."""

import json
import secrets
from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError
from amemgym_train.files import write_json


class Ledger:
    """The file ``path`` of a run's folder: ``id``, the run's name on the board, how many ``rows`` it was sent, of each stage the
    last step that was sent, and ``open``, a folder of what was sent since and may not be whole. UserError: it cannot be read.

    What is entered holds for later processes once it is saved."""

    def __init__(self, path: Path) -> None:
        self.path, self.new = path, not path.exists()
        found = {"id": secrets.token_hex(4)} if self.new else _read(path)
        self.id: str = found["id"]
        self.rows: int = found.get("rows", 0)
        self.open: str | None = found.get("open")
        self._sent: dict[str, int] = found.get("sent", {})
        self._earlier = dict(self._sent)

    def lacks(self, stage: str, step: int) -> bool:
        """Whether no earlier process has sent this step."""
        return step > self._earlier.get(stage, step - 1)

    def enter(self, stage: str, step: int) -> None:
        self._sent[stage], self.rows = max(step, self._sent.get(stage, step)), self.rows + 1

    def save(self) -> None:
        write_json(self.path, {"id": self.id, "rows": self.rows, "sent": self._sent, "open": self.open})

    def keep_open(self, folder: str) -> None:
        """Save the name of the folder, and nothing of what this process sends until ``save``."""
        self.open = folder
        self.save()
        self.open = None


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        rows, sent, names = found.get("rows", 0), found.get("sent", {}), (found["id"], found.get("open") or "")
        if not all(isinstance(number, int) for number in (rows, *sent.values())) or not all(isinstance(n, str) for n in names):
            raise ValueError(f"got {found}")
        return found
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f'{path}: expected {{"id": "...", "rows": 0, "sent": {{}}}}; mend it, or remove it to begin a new run on that board'
        ) from error
