"""Whether a run's disk has room for what comes next."""

import shutil
from functools import cached_property
from pathlib import Path

from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution.forecast import Stage, forecast
from amemgym_train.evolution.sizes import saved_bytes

NAMES = {"before": "test before", "after": "test after"}  # stages of the folder test, by their names there
LEAST = 1 << 16  # bytes that any stage needs, for its figures and the manifest


class Disk:
    """The disk of a run of ``recipe``."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    @cached_property
    def stages(self) -> dict[str, Stage]:
        return {stage.name: stage for stage in forecast(self.recipe, saved_bytes(self.recipe))}

    def check(self, folder: Path, label: str, name: str) -> None:
        """UserError when the stage ``name`` would not fit."""
        stage = self.stages.get(NAMES.get(name, name))
        needed, there = max(stage.bytes + stage.scratch if stage else 0, LEAST), free(folder)
        if needed > there:
            raise UserError(
                f"{label}: stage {name} needs about {in_bytes(needed)} of disk, {in_bytes(there)} are free in {folder}. Finished "
                "stages are kept: free some space, or let fewer iterations stay (--keep-last), and run the same command again"
            )


def free(folder: Path) -> int:
    """Bytes that are free where ``folder`` is or will be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def in_bytes(number: int) -> str:
    """A number of bytes."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number / 1e3:.0f} KB"
