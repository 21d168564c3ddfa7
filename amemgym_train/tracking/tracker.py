"""Where the metrics of a run go: always to its own metrics.jsonl, and to W&B when the recipe asks for it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from amemgym_train.config.tracking import TrackingConfig
from amemgym_train.tracking.metrics import MetricsFile

if TYPE_CHECKING:
    from amemgym_train.tracking.board import Board


class Tracker:
    """Logs to the run in ``run_dir`` while it is entered; under a distributed launch only the main process may open one.

    ``settings`` (JSON values, for instance the recipe) are shown by W&B beside the metrics.
    Entering raises UserError where W&B is asked for and cannot be had.
    """

    def __init__(self, run_dir: str | Path, config: TrackingConfig, settings: dict[str, Any] | None = None) -> None:
        self.run_dir = Path(run_dir)
        self.config = config
        self.settings = settings
        self._board: Board | None = None

    def __enter__(self) -> Self:
        self.run_dir.mkdir(parents=True, exist_ok=True)
        self._file = MetricsFile(self.run_dir / "metrics.jsonl")
        if self.config.wandb != "off":
            from amemgym_train.tracking.board import Board

            try:
                self._board = Board(self.run_dir, self.config, self.settings)
            except BaseException:
                self._file.close()
                raise
        return self

    def log(self, metrics: dict[str, Any], step: int, stage: str = "") -> None:
        """One point of ``stage`` at ``step``. What a stage logs again after a kill replaces the old lines, see MetricsFile."""
        self._file.append(metrics, step, stage)
        if self._board is not None:
            self._board.log(metrics, step, stage, self._file.earlier.get(stage))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()
        if self._board is not None:
            self._board.finish(failed=error is not None)
