"""Where the metrics of a run go: always to its own metrics.jsonl, and to the boards that the recipe asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from amemgym_train.config.tracking import TrackingConfig
from amemgym_train.tracking.metrics import MetricsFile, plain

if TYPE_CHECKING:
    from amemgym_train.tracking.boards import Board
    from amemgym_train.tracking.wandb import WandbBoard


class Tracker:
    """Logs to the run in ``run_dir`` while it is entered; under a distributed launch only the main process may open one.

    ``settings`` (JSON values, for instance the recipe) are shown by W&B beside the metrics.
    Entering raises UserError where a board is asked for and cannot be had.
    """

    def __init__(self, run_dir: str | Path, config: TrackingConfig, settings: dict[str, Any] | None = None) -> None:
        self.run_dir = Path(run_dir)
        self.config = config
        self.settings = settings
        self.boards: list[Board] = []

    def __enter__(self) -> Self:
        from amemgym_train.tracking.boards import opened

        self.run_dir.mkdir(parents=True, exist_ok=True)
        self._file = MetricsFile(self.run_dir / "metrics.jsonl")
        try:
            self.boards = opened(self.run_dir, self.config, self.settings)
        except BaseException:
            self._file.close()
            raise
        return self

    def log(self, metrics: dict[str, Any], step: int, stage: str = "") -> None:
        """One point of ``stage`` at ``step``. What a stage logs again after a kill replaces the old lines, see MetricsFile; a
        board gets what no earlier process has sent it."""
        self._file.append(metrics, step, stage)
        for board in self.boards:
            if board.ledger.lacks(stage, step):
                board.ledger.enter(stage, step)
                board.log({key: plain(value) for key, value in metrics.items()}, step, stage)

    def shows(self, stage: str, step: int) -> bool:
        """Whether W&B is asked for and was not sent the table or artifact ``stage`` of ``step`` before."""
        return self._wandb is not None and self._wandb.ledger.lacks(stage, step)

    def table(self, columns: Sequence[str], rows: list[list[Any]], step: int, stage: str) -> None:
        """A table for W&B alone."""
        if (board := self._wandb) is not None:
            board.ledger.enter(stage, step)
            board.table(columns, rows, step, stage)

    def keep(
        self, kind: str, step: int, folder: Path, aliases: list[str], previous: str | None, about: dict[str, Any]
    ) -> None:
        """A folder as an artifact, for W&B alone; see ``WandbBoard.keep``."""
        if (board := self._wandb) is not None:
            board.ledger.enter(kind, step)
            board.keep(kind, folder, aliases, previous, about)

    @property
    def _wandb(self) -> WandbBoard | None:
        return self.boards[0] if self.boards and self.config.wandb != "off" else None  # type: ignore[return-value]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()
        for board in self.boards:
            board.finish(failed=error is not None)
