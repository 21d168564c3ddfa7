"""The W&B run beside a run's own metrics file. Only a recipe that asks for W&B needs wandb to be installed."""

import json
import secrets
from pathlib import Path
from typing import Any

from amemgym_train.config.tracking import TrackingConfig
from amemgym_train.errors import UserError

OFF = "or run without W&B: tracking.wandb=off"


class Board:
    """One W&B run for the whole life of ``run_dir``: its id is kept there and resumed by every later process.

    Raises UserError when wandb is not installed or W&B refuses the run.
    """

    def __init__(self, run_dir: Path, config: TrackingConfig, settings: dict[str, Any] | None = None) -> None:
        try:
            import wandb
        except ImportError as error:
            raise UserError(f"tracking.wandb={config.wandb} needs wandb: pip install 'amemgym-train[wandb]'; {OFF}") from error
        identity = _read_identity(run_dir)
        self._resumed = identity is not None
        self._axes: set[str] = set()
        try:
            self._run = wandb.init(
                project=config.project,
                entity=config.entity,
                name=run_dir.name,
                id=identity or secrets.token_hex(4),
                resume="allow",
                mode=config.wandb,
                dir=str(run_dir),
                config=settings,
            )
        except wandb.Error as error:
            raise UserError(f"W&B refused a run of project {config.project}: {error}\nLog in with: wandb login; {OFF}") from error
        _write_identity(run_dir, self._run.id)

    def log(self, metrics: dict[str, Any], step: int, stage: str, last: int | None) -> None:
        """One point. W&B cannot take one back, so what an earlier process sent (up to step ``last``) is not sent again."""
        if self._resumed and last is not None and step <= last:
            return
        prefix = f"{stage}/" if stage else ""
        axis = f"{prefix}step"
        if axis not in self._axes:  # every stage counts its own steps; W&B's single counter would refuse a smaller one
            self._run.define_metric(axis)
            self._run.define_metric(f"{prefix}*", step_metric=axis)
            self._axes.add(axis)
        self._run.log({f"{prefix}{key}": value for key, value in metrics.items()} | {axis: step})

    def finish(self, failed: bool) -> None:
        self._run.finish(exit_code=1 if failed else 0)


def _read_identity(run_dir: Path) -> str | None:
    path = run_dir / "wandb_run.json"
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))["id"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f'{path}: expected {{"id": "..."}}; mend it, or remove it to begin a new W&B run') from error


def _write_identity(run_dir: Path, identity: str) -> None:
    temporary = run_dir / "wandb_run.json.tmp"
    temporary.write_text(json.dumps({"id": identity}) + "\n", encoding="utf-8")
    temporary.replace(run_dir / "wandb_run.json")
