"""The evolution loop: reflect, rollout, diagnose, retry, train, evaluate, gate.

Test users are met before the first iteration and after the last.
"""

import fcntl
import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from amemgym_train.agents.templates import SETS
from amemgym_train.config.curriculum import scheduled
from amemgym_train.config.load import UNHASHED, recipe_hash
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution import ranks, reflection, stages
from amemgym_train.evolution.manifest import Stages, digest
from amemgym_train.evolution.policies import check_trains
from amemgym_train.evolution.summary import show, summarise
from amemgym_train.files import write_json
from amemgym_train.tracking.tracker import Tracker


class Evolution:
    """One run. ``best`` is the iteration whose adapter and prompts stand (0 = what the run started with: the base model, or
    ``policy.adapter`` on it, and the recipe's prompts), ``scores`` the validation score of each.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.hash = recipe_hash(recipe)
        self.folder = recipe.run_dir
        self.files = named_files(recipe)
        self.seconds: dict[str, float] = {}
        self.best = 0
        self.scores: list[float] = []
        self.history: list[dict[str, Any]] = []
        self.tracker: Tracker | None = None  # the main process's

    def run(self) -> dict[str, Any]:
        """All stages that are not finished yet; returns the summary."""
        before = self.test("before", 0)
        self.scores.append(self.validate(0))
        for iteration in range(1, self.recipe.evolution.iterations + 1):
            self.iterate(iteration)
        after = self.test("after", self.best)
        return summarise(self.recipe, before, after, self.history, self.best, self.seconds)

    def iterate(self, iteration: int) -> None:
        """One turn of the loop; the new adapter and the new prompts stand, both, only if the gate lets them pass."""
        reflected = self.reflect(iteration)
        played, tried, training = self.train(iteration)
        score = self.validate(iteration)
        gate = self.recipe.evolution.gate
        passed = score >= self.scores[self.best] + gate.min_delta
        verdict = {"score": score, "best_before": self.scores[self.best], "min_delta": gate.min_delta, "passed": passed}
        book = self.stages(iteration)
        book.run("gate", verdict, lambda out: write_json(out / "gate.json", verdict) if ranks.is_main() else None)
        self.scores.append(score)
        entry = {"iteration": iteration, "validation": score, "passed": passed, "rollout": played, "training": training}
        self.history.append(entry | ({"retry": tried} if tried else {}) | ({"reflection": reflected} if reflected else {}))
        if passed:
            self.best = iteration
        self.log({"best_iteration": self.best, "passed": int(passed)}, iteration, "gate")
        self.log(self.recipe.evolution.curriculum.at(iteration), iteration, "curriculum")
        for stage, figures in (("reflect", reflected), ("rollout", played), ("retry", tried), ("train", training)):
            self.log(figures, iteration, stage)
        self.log_steps(iteration)
        self.link("latest", iteration)
        if self.best:
            self.link("best", self.best)

    def reflect(self, iteration: int) -> dict[str, Any]:
        """Before anything is played: rows are to be drawn with the prompts that the adapter is then judged with."""
        if not self.rewrites:
            return {}
        best, before = self.best, self.iteration_folder(iteration - 1) if iteration > 1 else None
        recipe, came_from = scheduled(self.recipe_at(best), iteration), self.inputs(best)
        kept = {} if before is None else {"candidates": digest(before / "reflection.json")}
        about = self.inputs(best, 0) | self.recipe.evolution.curriculum.at(iteration)  # all that a trial depends on, but prompts
        evaluated, guided = self.iteration_folder(best) / "eval_episodes", self.recipe.agent.start == "guided_info_type"
        return self.stages(iteration).run(
            "reflect",
            {**came_from, **kept},
            lambda out: reflection.reflect(
                recipe, iteration, self.adapter(best), self.version(best), evaluated, before, about, guided, out
            ),
        )

    def train(self, iteration: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """The figures of the rollout, of the second tries and of the training; of those that the recipe leaves out, none."""
        played: dict[str, Any] = {}
        tried: dict[str, Any] = {}
        if self.recipe.training.method == "none":
            return played, tried, {}
        recipe, came_from = scheduled(self.recipe_at(iteration), iteration), self.inputs(self.best, iteration)
        here, book = self.iteration_folder(iteration), self.stages(iteration)
        best, version = self.adapter(self.best), self.version(self.best)
        if self.recipe.training.selects:  # an on-policy method plays its episodes while it trains
            played = book.run("rollout", came_from, lambda out: stages.roll_out(recipe, iteration, best, version, out))
            played = played | book.run("diagnose", came_from, lambda out: stages.diagnose_rollout(here / "episodes", out))
        if self.recipe.training.selects and self.recipe.reflection.retry.episodes:
            tried = book.run(
                "retry", came_from, lambda out: stages.try_again(recipe, iteration, best, version, here / "episodes", out)
            )
        start = 0 if self.recipe.evolution.start_from == "base" else self.best
        training = book.run(
            "train",
            {**came_from, "start": self.version(start)},
            lambda out: stages.train(recipe, iteration, here, self.adapter(start), out),
        )
        return played, tried, training

    def validate(self, iteration: int) -> float:
        """The validation memory score of an iteration's adapter."""
        result = self.stages(iteration).run(
            "evaluate",
            self.inputs(iteration),
            lambda out: stages.evaluate(
                self.recipe_at(iteration), "validation", self.adapter(iteration), self.version(iteration), out, "eval"
            ),
        )["agent"]
        self.log(result, iteration, "validation")
        return result["memory_score"]

    def test(self, name: str, iteration: int) -> dict[str, Any]:
        """The figures on test users; after the last iteration with the controls."""
        controls = self.recipe.evaluation.controls if name == "after" else ()
        result = Stages(self.folder / "test", "test", self.seconds).run(
            name,
            {**self.inputs(iteration), "controls": list(controls)},
            lambda out: stages.evaluate(
                self.recipe_at(iteration), "test", self.adapter(iteration), self.version(iteration), out, name, controls
            ),
        )
        self.log(result["agent"], 0 if name == "before" else self.recipe.evolution.iterations, f"test_{name}")
        return result

    def iteration_folder(self, iteration: int) -> Path:
        return self.folder / "iterations" / f"{iteration:03d}"

    def stages(self, iteration: int) -> Stages:
        label = f"iteration {iteration} of {self.recipe.evolution.iterations}"
        return Stages(self.iteration_folder(iteration), label, self.seconds)

    def adapter(self, iteration: int) -> Path | None:
        start = self.recipe.policy.adapter
        return self.iteration_folder(iteration) / "adapter" if self.trained(iteration) else Path(start) if start else None

    def version(self, iteration: int) -> str:
        return f"iteration-{iteration:03d}" if self.trained(iteration) else "start" if self.recipe.policy.adapter else "base"

    def trained(self, iteration: int) -> bool:
        """Whether ``iteration`` makes an adapter of its own."""
        return iteration > 0 and self.recipe.training.method != "none"

    @property
    def rewrites(self) -> bool:
        """Whether each iteration has prompts of its own."""
        return self.recipe.reflection.prompts.cadence == "iteration"

    def prompts(self, iteration: int) -> Path | None:
        """The folder of an iteration's prompts; None for those of the recipe."""
        return self.iteration_folder(iteration) / "prompts" if self.rewrites and iteration else None

    def recipe_at(self, iteration: int) -> Recipe:
        """The recipe with the prompts of an iteration."""
        folder = self.prompts(iteration)
        if folder is None:
            return self.recipe
        return reflection.with_prompts(self.recipe, folder)

    def inputs(self, iteration: int, prompts: int | None = None) -> dict[str, Any]:
        """What a stage depends on that answers with an iteration's adapter, and with its prompts or those of ``prompts``."""
        folder = self.prompts(iteration if prompts is None else prompts)
        worded = {} if folder is None else {"prompts": digest(folder)}
        return {"recipe": self.hash, "policy": self.version(iteration), **worded, **self.files}

    def log(self, metrics: dict[str, Any], step: int, stage: str) -> None:
        if self.tracker is not None:
            self.tracker.log({key: value for key, value in metrics.items() if isinstance(value, int | float)}, step, stage)

    def log_steps(self, iteration: int) -> None:
        """The figures of an on-policy method's steps, counted on over the iterations."""
        settings = self.recipe.training.on_policy
        if settings is None or self.tracker is None:
            return
        entries = json.loads((self.iteration_folder(iteration) / "training.json").read_text(encoding="utf-8"))
        done = (iteration - 1) * settings.steps
        for entry in entries:
            if "tokens_sampled" in entry:  # the last entry sums up the training
                figures = {name: value for name, value in entry.items() if name != "step"}
                self.log(figures, done + entry["step"] // settings.updates, self.recipe.training.method)

    def link(self, name: str, iteration: int) -> None:
        """Let ``name`` in the run folder lead to an iteration: ``latest`` to the newest, ``best`` to the one that stands."""
        if ranks.is_main():
            scratch = self.folder / f".{name}.partial"
            scratch.unlink(missing_ok=True)
            scratch.symlink_to(self.iteration_folder(iteration).relative_to(self.folder), target_is_directory=True)
            scratch.replace(self.folder / name)


def evolve(recipe: Recipe) -> dict[str, Any]:
    """Run, or go on with, the evolution of ``recipe`` in its run folder; writes ``summary.json`` there and returns it.

    UserError: the folder holds the run of another recipe, another process works in it, or what plays cannot be trained.
    """
    check_trains(recipe)
    run = Evolution(recipe)
    if not ranks.is_main():
        ranks.wait()  # for the main process to have made the folder
        return run.run()
    with claimed(run.folder):
        adopt(recipe, run.folder)
        ranks.wait()
        with Tracker(run.folder, recipe.tracking, recipe.model_dump(mode="json")) as run.tracker:
            summary = run.run()
        write_json(run.folder / "summary.json", summary)
    show(summary, run.folder)
    return summary


@contextmanager
def claimed(folder: Path, instead: str = "another name=... or output=..."):
    """Hold the run folder, so that no second process writes into it. The lock goes with this process, however it ends.

    ``instead``: what the user may choose when it cannot be held.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise UserError(f"{folder}: no folder can be made there ({error}); choose {instead}") from error
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"{folder}: another process works on this run; wait for it, or choose {instead}") from error
        yield


def adopt(recipe: Recipe, folder: Path) -> None:
    """Write config.json; once a stage has finished only that of the same recipe, so that one run never mixes two."""
    check_same(recipe, folder)
    write_json(folder / "config.json", recipe.model_dump(mode="json"))


def check_same(recipe: Recipe, folder: Path) -> None:
    """UserError when stages have finished in ``folder`` that are not known to be of ``recipe``."""
    path = folder / "config.json"
    if not path.exists() and any(folder.rglob("manifest.json")):
        raise UserError(f"{path} is missing, so it cannot be said whose run this is; choose another name=..., or put it back")
    if path.is_file() and any(folder.rglob("manifest.json")):
        try:
            stored = Recipe.model_validate(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise UserError(
                f"{path} is damaged or from another version ({str(error).splitlines()[0]}). Put it back as it was, or choose "
                "another name=..."
            ) from error
        keys = differing(*(one.model_dump(mode="json", exclude=UNHASHED) for one in (stored, recipe)))
        if keys:
            raise UserError(
                f"{folder} holds a run of another recipe; it differs in {', '.join(keys)}. Choose another name=..., or delete "
                "the folder to start over"
            )


def named_files(recipe: Recipe) -> dict[str, str]:
    """Digests of the files that the recipe names, by key: what they hold decides a stage as much as the recipe does.

    UserError: ``policy.adapter`` is no folder of a saved adapter.
    """
    files: dict[str, str | None] = {"policy.adapter": recipe.policy.adapter}
    if recipe.policy.adapter is not None:
        from amemgym_train.training.lora import check_adapter

        check_adapter(recipe.policy.adapter)
    for role in ("train", "validation", "test"):
        scenarios = getattr(recipe.scenarios, role)
        files[f"scenarios.{role}.data"] = scenarios.data
        files[f"scenarios.{role}.personas"] = scenarios.personas or None
        files[f"scenarios.{role}.language"] = scenarios.language if "/" in scenarios.language else None  # else a shipped pack
    if recipe.agent.prompts not in SETS:
        files["agent.prompts"] = recipe.agent.prompts
    return {key: digest(Path(path)) for key, path in files.items() if path is not None}


def differing(stored: dict[str, Any], wanted: dict[str, Any], prefix: str = "") -> list[str]:
    """The dotted keys whose values differ."""
    keys: list[str] = []
    for key in wanted:
        ours, theirs = wanted[key], stored.get(key)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            keys += differing(theirs, ours, f"{prefix}{key}.")
        elif ours != theirs:
            keys.append(prefix + key)
    return keys
