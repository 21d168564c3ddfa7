"""``amemgym-train evolve``: a run from its recipe, in its folder."""

from typing import Any

from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution import ranks
from amemgym_train.evolution.folder import adopt, check_same, claimed
from amemgym_train.evolution.launcher import Launcher, launch_file
from amemgym_train.evolution.loop import Evolution
from amemgym_train.evolution.origin import versions
from amemgym_train.evolution.policies import check_trains
from amemgym_train.evolution.summary import show
from amemgym_train.files import write_json
from amemgym_train.tracking.tracker import Tracker


def evolve(recipe: Recipe, machine: int = 0) -> dict[str, Any]:
    """Run, or go on with, the evolution of ``recipe`` in its run folder; writes ``summary.json`` there and returns it.

    ``machine``: the number of this one among several, which only ``launcher: accelerate`` knows.

    UserError: the folder holds the run of another recipe, another process works in it, or what plays cannot be trained.
    """
    check_trains(recipe)
    launched = recipe.evolution.launcher == "accelerate"
    if launched:
        ranks.alone("evolution.launcher=accelerate, which starts the processes itself,")
        launch_file(recipe.evolution.launch)
    elif machine:
        raise UserError("--machine-rank goes with evolution.launcher=accelerate; launched by hand, accelerate launch knows it")
    if machine:
        return _follow(recipe, machine)
    if not ranks.is_main():
        ranks.wait()  # for the main process to have made the folder
        return Evolution(recipe, leads=False).run()
    run = Evolution(recipe)
    with claimed(run.folder) as lock:
        adopt(recipe, run.folder)
        write_json(run.folder / "versions.json", versions())
        ranks.wait()
        if launched:
            run.start = Launcher(recipe, machine, lock).start
        with Tracker(run.folder, recipe.tracking, recipe.model_dump(mode="json")) as run.tracker:
            summary = run.run()
        write_json(run.folder / "summary.json", summary)
    show(summary, run.folder)
    return summary


def _follow(recipe: Recipe, machine: int) -> dict[str, Any]:
    """The run on another machine than the first, which keeps the book: this one takes part in every launch."""
    check_same(recipe, recipe.run_dir)
    return Evolution(recipe, Launcher(recipe, machine).start, leads=False).run()
