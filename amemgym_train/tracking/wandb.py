"""The W&B run of a run. Only a recipe that asks for W&B needs wandb to be installed."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amemgym_train.config.tracking import TrackingConfig
from amemgym_train.errors import UserError
from amemgym_train.tracking.boards import named
from amemgym_train.tracking.ledger import Ledger

OFF = "or run without W&B: tracking.wandb=off"
OFFLINE = "offline-run-"  # begins W&B's names of folders
LOG_IN = f"Log in with: wandb login; keep the run here for a later wandb sync: tracking.wandb=offline; {OFF}"


class WandbBoard:
    """One W&B run for the whole life of ``run_dir``: its id is kept there and resumed by every later process.

    Offline, every process leaves a folder ``wandb/offline-run-*`` of the same id, which ``wandb sync`` puts together. W&B writes
    them in large pieces: that of a process that was killed may lack anything. It is set aside as ``wandb/killed-run-*``, and the
    next process sends again what that one sent; online it does so under the same row numbers, of which W&B passes over those
    that it has.
    Raises UserError when wandb is not installed, nobody is logged in, or W&B refuses the run.
    """

    def __init__(self, run_dir: Path, config: TrackingConfig, settings: dict[str, Any] | None = None) -> None:
        try:
            import wandb
        except ImportError as error:
            raise UserError(f"tracking.wandb={config.wandb} needs wandb: pip install 'amemgym-train[wandb]'; {OFF}") from error
        self.ledger = Ledger(run_dir / "wandb_run.json")
        self._axes: set[str] = set()
        self._online = config.wandb == "online"
        self._kept: dict[str, Any] = {}  # the last artifact of each kind
        if config.wandb == "online":
            _check_login(wandb)
        self._set_aside(run_dir)
        self.ledger.save()  # first: a kill while the run begins must not leave one that nobody finds again
        try:
            self._run = wandb.init(
                project=config.project,
                entity=config.entity,
                name=run_dir.name,
                id=self.ledger.id,
                resume="allow",
                mode=config.wandb,
                dir=str(run_dir),
                config=settings,
            )
        except wandb.Error as error:
            if self.ledger.new:
                self.ledger.path.unlink()
            raise UserError(f"W&B refused a run of project {config.project}: {error}\n{LOG_IN}") from error
        self.ledger.keep_open(Path(self._run.dir).parent.name)

    def _set_aside(self, run_dir: Path) -> None:
        """Put what a killed process left where ``wandb sync`` does not look."""
        folder = run_dir / "wandb" / (self.ledger.open or "")
        if folder.name.startswith(OFFLINE) and folder.is_dir():
            folder.rename(folder.with_name(f"killed-run-{folder.name.removeprefix(OFFLINE)}"))
        self.ledger.open = None

    def log(self, metrics: dict[str, Any], step: int, stage: str) -> None:
        """One row. W&B's own counter of rows goes on over all processes, as it takes no smaller number than one it has."""
        axis = named(stage, "step")
        if axis not in self._axes:  # every stage counts its own steps
            self._run.define_metric(axis)
            self._run.define_metric(named(stage, "*"), step_metric=axis)
            self._axes.add(axis)
        values = {named(stage, key): value for key, value in metrics.items()}
        self._run.log(values | {axis: step}, step=self.ledger.rows)

    def table(self, columns: Sequence[str], rows: list[list[Any]], step: int, stage: str) -> None:
        from wandb import Table

        self.log({"table": Table(columns=list(columns), data=rows, allow_mixed_types=True)}, step, stage)

    def keep(self, kind: str, folder: Path, aliases: list[str], previous: str | None, about: dict[str, Any]) -> None:
        """The files of ``folder`` as the next version of this run's artifact ``kind``, with ``about`` as its metadata.

        ``previous``: the alias of the version that it goes on from, which is named in the metadata; online the run is entered as
        its user, too. Offline W&B has no such entry.
        """
        from wandb import Artifact

        name = f"{kind}-{self.ledger.id}"
        if previous is not None:
            about = about | {"previous": f"{name}:{previous}"}
            if self._online:
                self._use(kind, about["previous"])
        artifact = Artifact(name, type=kind, metadata=about)
        artifact.add_dir(str(folder))
        self._kept[kind] = self._run.log_artifact(artifact, aliases=aliases)

    def _use(self, kind: str, name: str) -> None:
        import wandb

        try:
            if kind in self._kept:
                self._kept[kind].wait()  # it is uploaded in the background
            self._run.use_artifact(name)
        except (wandb.Error, ValueError) as error:  # not worth a run that trains
            print(f"W&B does not find {name}, so its lineage is in the metadata alone: {error}", flush=True)

    def finish(self, failed: bool) -> None:
        self._run.finish(exit_code=1 if failed else 0)
        self.ledger.save()


def _check_login(wandb: Any) -> None:
    """UserError when nobody is logged in, before W&B asks at a terminal that nobody may be watching."""
    if (mode := os.environ.get("WANDB_MODE", "online")) not in ("online", "shared"):
        raise UserError(f"tracking.wandb=online, but WANDB_MODE={mode} is set; unset it, or set tracking.wandb=offline")
    try:
        logged_in = wandb.login(prompt=False)
    except wandb.Error as error:
        raise UserError(f"tracking.wandb=online, but W&B takes no login: {error}\n{LOG_IN}") from error
    if not logged_in:
        raise UserError(f"tracking.wandb=online, but nobody is logged in to W&B. Nothing was started.\n{LOG_IN}")
