"""The boards that a run's metrics go to besides its own file, behind one small interface.

The package of a board is imported only when a recipe names it.
"""

from pathlib import Path
from typing import Any, Protocol

from amemgym_train.config.tracking import TrackingConfig
from amemgym_train.errors import UserError
from amemgym_train.tracking.ledger import Ledger


class Board(Protocol):
    """``ledger``: what it was sent. ``metrics`` are numbers by name, None where one is not finite; ``step`` counts per stage."""

    ledger: Ledger

    def log(self, metrics: dict[str, Any], step: int, stage: str) -> None: ...

    def finish(self, failed: bool) -> None: ...


def opened(run_dir: Path, config: TrackingConfig, settings: dict[str, Any] | None) -> list[Board]:
    """The boards that ``config`` names, W&B first. UserError: one cannot be had; those before it are closed again."""
    boards: list[Board] = []
    try:
        if config.wandb != "off":
            from amemgym_train.tracking.wandb import WandbBoard

            boards.append(WandbBoard(run_dir, config, settings))
        for name in dict.fromkeys(config.report_to):
            boards.append({"tensorboard": TensorBoard, "trackio": Trackio}[name](run_dir, config, settings))
    except BaseException:
        for board in boards:
            board.finish(failed=True)
        raise
    return boards


class TensorBoard:
    """Event files in the run's folder ``tensorboard``, one more for each process that worked on the run."""

    def __init__(self, run_dir: Path, config: TrackingConfig, settings: dict[str, Any] | None = None) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise _missing("tensorboard", error) from error
        self.ledger = Ledger(run_dir / "tensorboard_run.json")
        self._writer = SummaryWriter(run_dir / "tensorboard")

    def log(self, metrics: dict[str, Any], step: int, stage: str) -> None:
        self.ledger.save()  # before it is sent: a kill between the two loses one point rather than showing it twice
        for key, value in metrics.items():
            if isinstance(value, int | float):
                self._writer.add_scalar(named(stage, key), value, step)
        self._writer.flush()  # it would wait for two minutes, and a kill would not

    def finish(self, failed: bool) -> None:
        self._writer.close()


class Trackio:
    """A run of trackio's local dashboard, ``trackio show --project ...``; resumed under the same name."""

    def __init__(self, run_dir: Path, config: TrackingConfig, settings: dict[str, Any] | None = None) -> None:
        try:
            import trackio
        except ImportError as error:
            raise _missing("trackio", error) from error
        self.ledger = Ledger(run_dir / "trackio_run.json")
        name = f"{run_dir.name}-{self.ledger.id}"
        self._run = trackio.init(project=config.project, name=name, resume="allow", config=settings)
        self.ledger.save()

    def log(self, metrics: dict[str, Any], step: int, stage: str) -> None:
        self.ledger.save()
        self._run.log({named(stage, key): value for key, value in metrics.items()}, step=step)

    def finish(self, failed: bool) -> None:
        self._run.finish()


def named(stage: str, key: str) -> str:
    """A metric's name on a board: boards gather what has the same first part."""
    return f"{stage}/{key}" if stage else key


def _missing(name: str, error: ImportError) -> UserError:
    return UserError(f"tracking.report_to names {name}, which is not installed ({error}): pip install {name}; or remove it there")
