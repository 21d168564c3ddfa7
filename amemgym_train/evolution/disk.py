"""Whether a run's disk has room for what comes next."""

import shutil
from functools import cached_property
from pathlib import Path

from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution.forecast import Stage, disk_bytes, forecast
from amemgym_train.evolution.sizes import adapter_bytes

NAMES = {"before": "test before", "after": "test after"}  # stages of the folder test, by their names there
LEAST = 1 << 16  # bytes that any stage needs, for its figures and the manifest


class Disk:
    """The disk of a run of ``recipe``."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    @cached_property
    def stages(self) -> dict[str, Stage]:
        return {stage.name: stage for stage in forecast(self.recipe, adapter_bytes(self.recipe))}

    def most(self) -> int:
        """Bytes that the whole run takes at most, about."""
        return disk_bytes(list(self.stages.values()), self.recipe.evolution.keep_last)

    def check(self, folder: Path, label: str, name: str) -> None:
        """UserError when the stage ``name`` would not fit."""
        stage = self.stages.get(NAMES.get(name, name))
        needed, free = max(stage.bytes + stage.scratch if stage else 0, LEAST), shutil.disk_usage(folder).free
        if needed > free:
            raise UserError(
                f"{label}: stage {name} needs about {told(needed)} of disk, {told(free)} are free in {folder}. Finished stages "
                "are kept: free some space, or let fewer iterations stay (--keep-last), and run the same command again"
            )


def told(number: int) -> str:
    """A number of bytes."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number / 1e3:.0f} KB"
