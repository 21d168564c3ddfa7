"""The run's folder, and the disk it lies on."""

import tempfile

from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.finding import Finding, green, red, yellow
from amemgym_train.errors import UserError

ELSEWHERE = "name=ANOTHER, or output=ANOTHER/FOLDER"


def run_folder(recipe: Recipe) -> list[Finding]:
    """Nobody works in it, files can be written there, and what is in it is a run of this recipe."""
    from amemgym_train.evolution.folder import check_same, holder

    name, folder = "run folder", recipe.run_dir
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
        who = holder(folder)
    except OSError as error:
        return [red(name, f"{folder} cannot be written ({there}: {error.strerror})", ELSEWHERE)]
    if who:
        return [red(name, f"{folder}: {who} works on this run", f"wait for it, or {ELSEWHERE}")]
    try:
        check_same(recipe, folder)
    except UserError as error:
        return [red(name, str(error), f"name=ANOTHER, or amemgym-train evolve RECIPE --fork ANOTHER (from {recipe.name})")]
    return [green(name, f"{folder} {'is there, of this recipe' if folder.exists() else 'can be made'}")]


def disk(recipe: Recipe) -> list[Finding]:
    """The disk has room for all that the run will keep."""
    from amemgym_train.evolution.disk import free, in_bytes
    from amemgym_train.evolution.forecast import disk_bytes, forecast
    from amemgym_train.evolution.sizes import saved_bytes

    adapter = saved_bytes(recipe)
    needed = disk_bytes(forecast(recipe, adapter), recipe.evolution.keep_last)
    there = free(recipe.run_dir)
    unknown = "" if adapter or recipe.training.method == "none" else " besides adapters, whose size is not known yet"
    told = f"the run takes about {in_bytes(needed)} at most{unknown}, {in_bytes(there)} are free"
    if needed > there:
        return [red("disk", told, "evolution.keep_last=1, or output=FOLDER on a larger disk")]
    if 2 * needed > there:
        return [yellow("disk", f"{told}: little more than that", "evolution.keep_last=1")]
    return [green("disk", told)]
