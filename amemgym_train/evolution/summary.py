"""The summary of a run: what the test users show before and after, what each iteration did, and how long it took."""

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from amemgym_train.config.load import recipe_hash
from amemgym_train.config.recipe import Recipe

if TYPE_CHECKING:
    from rich.table import Table


COLUMNS = {"memory score": "memory_score", "overall accuracy": "overall"}  # of controls
GOAL_COLUMNS = {"score": "score", "success": "success"}


def summarise(
    recipe: Recipe,
    before: dict[str, Any],
    after: dict[str, Any],
    history: list[dict[str, Any]],
    best: int,
    seconds: dict[str, float],
    stopped: int | None = None,
) -> dict[str, Any]:
    """JSON values; everything but ``wall_seconds`` is the same however often the run was interrupted.

    ``stopped``: the iteration after which the gate's patience ended the run.
    """
    old, new = before["agent"], after["agent"]
    return {
        "name": recipe.name,
        "seed": recipe.seed,
        "recipe": recipe_hash(recipe),
        "model": recipe.policy.model,
        "test": {
            "before": old,
            "after": new,
            "gain": round(new[recipe.measure] - old[recipe.measure], 6),
            "controls": {name: figures for name, figures in after.items() if name not in ("agent", "environments")},
            **_by_environment(before, after),
        },
        "best_iteration": best,
        **({} if stopped is None else {"stopped_after": stopped}),
        "iterations": [{**entry, "training": without_times(entry["training"])} for entry in history],
        "episodes": {
            "rollout": sum(entry["rollout"].get("episodes", 0) + entry["training"].get("episodes", 0) for entry in history),
            "test": new["episodes"],
        },
        "wall_seconds": {stage: round(value, 1) for stage, value in [*seconds.items(), ("total", sum(seconds.values()))]},
    }


def _by_environment(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The agent's figures before and after in each of several environments; nothing where there is one."""
    old, new = (one.get("environments", {}) for one in (before, after))
    apart = {name: {"before": old[name], "after": new[name]} for name in old if name in new}
    return {"environments": apart} if apart else {}


def without_times(metrics: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metrics.items() if key != "seconds"}


def _environments(apart: dict[str, Any]) -> "Table":
    from rich.table import Table

    table = Table(title="memory score by environment")
    for heading in ("environment", "users", "before", "after", "change"):
        table.add_column(heading, justify="left" if heading == "environment" else "right")
    for name, figures in apart.items():
        old, new = (figures[when]["memory_score"] for when in ("before", "after"))
        change = "-" if old is None or new is None else f"{new - old:+.3f}"
        shown = ["-" if value is None else f"{value:.3f}" for value in (old, new)]
        table.add_row(name, str(figures["after"]["episodes"]), *shown, change)
    return table


def show(summary: dict[str, Any], folder: Path) -> None:
    """Print the diagnosis before and after, the controls, and where everything lies."""
    from rich.console import Console
    from rich.table import Table

    from amemgym_train.diagnosis.table import before_after

    console, test = Console(), summary["test"]
    shown = GOAL_COLUMNS if "success" in test["after"] else COLUMNS
    whom = "tasks" if shown is GOAL_COLUMNS else "users"
    title = f"{summary['name']}, seed {summary['seed']}: test {whom} before and after"
    console.print(before_after(SimpleNamespace(**test["before"]), SimpleNamespace(**test["after"]), title))
    if "environments" in test:
        console.print(_environments(test["environments"]))
    controls = Table(title=f"controls on the same test {whom}")
    for heading in ("agent", *shown):
        controls.add_column(heading, justify="left" if heading == "agent" else "right")
    for name, figures in test["controls"].items():
        controls.add_row(name, *(f"{figures[key]:.3f}" for key in shown.values()))
    if test["controls"]:
        console.print(controls)
    best = summary["best_iteration"]
    here = folder / "iterations" / f"{best:03d}"
    for kind in ("adapter", "prompts"):
        if any((one / kind).is_dir() for one in (folder / "iterations").iterdir()):
            found = here / kind if best else "none: no iteration passed the gate"
            console.print(f"best {kind}: {found}", soft_wrap=True, highlight=False)
    if "stopped_after" in summary:
        why = "none of the last iterations passed the gate (evolution.gate.patience)"
        console.print(f"stopped after iteration {summary['stopped_after']}: {why}", soft_wrap=True, highlight=False)
    console.print(f"summary: {folder / 'summary.json'}", soft_wrap=True, highlight=False)
    times = ", ".join(f"{stage} {value:.0f} s" for stage, value in summary["wall_seconds"].items())
    console.print(f"time: {times}", soft_wrap=True, highlight=False)
