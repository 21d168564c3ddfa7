"""The evolution loop: reflect, rollout, diagnose, retry, train, evaluate, gate.

Test users are met before the first iteration and after the last.
"""

import json
from pathlib import Path
from typing import Any

from amemgym_train.config.curriculum import scheduled
from amemgym_train.config.load import recipe_hash
from amemgym_train.config.recipe import Recipe
from amemgym_train.evolution import ranks, reflection, stages
from amemgym_train.evolution.disk import Disk
from amemgym_train.evolution.folder import link
from amemgym_train.evolution.fork import Origin
from amemgym_train.evolution.gate import judge
from amemgym_train.evolution.inputs import named_files
from amemgym_train.evolution.manifest import Stages, Start, Work
from amemgym_train.evolution.overview import overview
from amemgym_train.evolution.shown import keep, show_episodes
from amemgym_train.evolution.summary import summarise
from amemgym_train.files import write_json
from amemgym_train.tracking.tracker import Tracker

GATED = ("decision", "difference", "low", "high", "share", "environments")  # of a verdict, for the summary
HEAVY = ("episodes", "retries", "eval_episodes", "adapter", "rows.json", "candidates")  # what pruning removes


class Evolution:
    """One run. ``best`` is the iteration whose adapter and prompts stand (0 = what the run started with: the base model, or
    ``policy.adapter`` on it, and the recipe's prompts), ``scores`` the validation score of each.

    ``start`` performs a stage (None: this process does), see ``Stages``. ``leads``: whether this process keeps the run's book:
    its metrics, its links, and what of it stays on disk.
    """

    def __init__(self, recipe: Recipe, start: Start | None = None, leads: bool = True) -> None:
        self.recipe = recipe
        self.hash = recipe_hash(recipe)
        self.folder = recipe.run_dir
        self.files = named_files(recipe)
        self.origin = Origin.of(self.folder)
        self.start = start or Stages.perform
        self.leads = leads
        self.disk = Disk(recipe)
        self.seconds: dict[str, float] = {}
        self.best = 0
        self.rejections = 0  # in a row
        self.stopped: int | None = None  # the iteration after which the gate ended the run
        self.scores: list[float] = []
        self.history: list[dict[str, Any]] = []
        self.tracker: Tracker | None = None  # the leading process's

    def run(self) -> dict[str, Any]:
        """All stages that are not finished yet; returns the summary."""
        before = self.test("before", 0)
        self.scores.append(self.validate(0))
        for iteration in range(1, self.recipe.evolution.iterations + 1):
            self.iterate(iteration)
            if self.stopped is not None:
                break
        after = self.test("after", self.best)
        return summarise(self.recipe, before, after, self.history, self.best, self.seconds, self.stopped)

    def iterate(self, iteration: int) -> None:
        """One turn of the loop; the new adapter and the new prompts stand, both, only if the gate lets them pass."""
        reflected = self.reflect(iteration)
        played, tried, training = self.train(iteration)
        score = self.validate(iteration)
        self.scores.append(score)
        verdict = self.judge(iteration)
        passed = verdict["passed"]
        entry = {"iteration": iteration, "validation": score, "passed": passed, "rollout": played, "training": training}
        entry |= {"gate": {key: verdict[key] for key in GATED if key in verdict}}
        self.history.append(entry | ({"retry": tried} if tried else {}) | ({"reflection": reflected} if reflected else {}))
        if passed:
            self.best = iteration
        self.rejections = verdict["rejections"]
        self.stopped = iteration if verdict["decision"] == "stop" else None
        self.log({"best_iteration": self.best, "passed": int(passed), **verdict}, iteration, "gate")
        self.log(self.recipe.evolution.curriculum.at(iteration), iteration, "curriculum")
        for stage, figures in (("reflect", reflected), ("rollout", played), ("retry", tried), ("train", training)):
            self.log(figures, iteration, stage)
        self.log_steps(iteration)
        self.show(iteration, verdict)
        if self.leads and ranks.is_main():
            link(self.folder, "latest", self.iteration_folder(iteration))
            if self.best:
                link(self.folder, "best", self.iteration_folder(self.best))
            self.prune(iteration)

    def judge(self, iteration: int) -> dict[str, Any]:
        """The gate: the iteration's validation users against the same users with the best so far."""
        config, best, book = self.recipe.evolution.gate, self.best, self.stages(iteration)
        gates = {name: one.gate for name, one in self.recipe.environments.items()}
        name = "eval_users.json"
        digests = {key: self.stages(at).outputs("evaluate")[name] for key, at in (("new", iteration), ("best", best))}
        inputs = {"recipe": self.given(iteration)["recipe"], "rejections": self.rejections, "best_iteration": best, **digests}

        def work(out: Path) -> dict[str, Any]:
            new, old = (json.loads((self.iteration_folder(at) / name).read_text(encoding="utf-8")) for at in (iteration, best))
            found = judge(new, old, config, self.rejections, gates).to_dict()
            verdict = {"score": self.scores[iteration], "best_before": self.scores[best], "best_iteration_before": best, **found}
            if ranks.is_main():
                write_json(out / "gate.json", verdict)
            return verdict

        return book.run("gate", inputs, work)

    def reflect(self, iteration: int) -> dict[str, Any]:
        """Before anything is played: rows are to be drawn with the prompts that the adapter is then judged with."""
        if not self.rewrites:
            return {}
        best, before = self.best, self.iteration_folder(iteration - 1) if iteration > 1 else None
        recipe, came_from = scheduled(self.recipe_at(best), iteration), self.inputs(iteration, best)
        kept = {} if before is None else {"candidates": self.stages(iteration - 1).outputs("reflect")["reflection.json"]}
        about = self.inputs(iteration, best, 0) | self.recipe.evolution.curriculum.at(iteration)  # of a trial, but its prompts
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
        recipe, came_from = scheduled(self.recipe_at(iteration), iteration), self.inputs(iteration, self.best, iteration)
        here, book = self.iteration_folder(iteration), self.stages(iteration)
        best, version = self.adapter(self.best), self.version(self.best)
        rows = dict(came_from)  # what those come from that are trained on
        if self.recipe.training.selects:  # an on-policy method plays its episodes while it trains
            played = book.run("rollout", came_from, lambda out: stages.roll_out(recipe, iteration, best, version, out))
            rows["episodes"] = book.outputs("rollout")["episodes"]
            played = played | book.run("diagnose", rows, lambda out: stages.diagnose_rollout(recipe, here / "episodes", out))
        if self.recipe.training.selects and self.recipe.reflection.retry.episodes:
            firsts = here / "episodes"
            tried = book.run("retry", rows, lambda out: stages.try_again(recipe, iteration, best, version, firsts, out))
            rows["retries"] = book.outputs("retry")["retries"]
        start = 0 if self.recipe.evolution.start_from == "base" else self.best
        training = book.run(
            "train",
            {**rows, "start": self.version(start), **self.weights(start, "start_adapter")},
            lambda out: stages.train(recipe, iteration, here, self.adapter(start), out),
        )
        return played, tried, training

    def validate(self, iteration: int) -> float:
        """The validation score of an iteration's adapter."""
        result = self.stages(iteration).run(
            "evaluate",
            self.inputs(iteration, iteration),
            lambda out: stages.evaluate(
                self.recipe_at(iteration), "validation", self.adapter(iteration), self.version(iteration), out, "eval"
            ),
        )
        self.log_scores(result, iteration, "validation")
        return result["agent"][self.recipe.measure]

    def test(self, name: str, iteration: int) -> dict[str, Any]:
        """The figures on test users; after the last iteration with the controls."""
        controls = self.recipe.evaluation.controls if name == "after" else ()
        at = 0 if name == "before" else self.recipe.evolution.iterations
        result = Stages(self.folder / "test", "test", self.seconds, self.begin).run(
            name,
            {**self.inputs(at, iteration), "controls": list(controls)},
            lambda out: stages.evaluate(
                self.recipe_at(iteration), "test", self.adapter(iteration), self.version(iteration), out, name, controls
            ),
        )
        self.log_scores(result, at, f"test_{name}")
        return result

    def begin(self, book: Stages, name: str, inputs: dict[str, Any], work: Work) -> None:
        """Have a stage performed for which there is room."""
        if self.leads and ranks.is_main():
            self.disk.check(book.folder, book.label, name)
        self.start(book, name, inputs, work)

    def prune(self, iteration: int) -> None:
        """Remove what is large of the iterations that ``evolution.keep_last`` does not name; that of the best stays."""
        last = self.recipe.evolution.keep_last
        for old in range(0 if last is None else max(iteration - last + 1, 0)):
            if old != self.best:
                self.stages(old).prune(HEAVY)

    def iteration_folder(self, iteration: int) -> Path:
        return self.folder / "iterations" / f"{iteration:03d}"

    def stages(self, iteration: int) -> Stages:
        label = f"iteration {iteration} of {self.recipe.evolution.iterations}"
        return Stages(self.iteration_folder(iteration), label, self.seconds, self.begin)

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

    def inputs(self, at: int, iteration: int, prompts: int | None = None) -> dict[str, Any]:
        """What a stage of iteration ``at`` depends on that answers with the adapter of ``iteration``, and with its prompts or
        those of iteration ``prompts``."""
        told = iteration if prompts is None else prompts
        worded = {} if self.prompts(told) is None else {"prompts": self.stages(told).outputs("reflect")["prompts"]}
        return {
            "policy": self.version(iteration),
            **self.weights(iteration, "adapter"),
            **worded,
            **self.given(at),
        }

    def given(self, iteration: int) -> dict[str, str]:
        """Digests of the recipe and of the files that it names, of the run in which the iteration was made."""
        return self.origin.given.get(iteration, {"recipe": self.hash, **self.files})

    def weights(self, iteration: int, key: str) -> dict[str, str]:
        """The digest of the adapter that ``iteration`` made, under ``key``; nothing where it made none."""
        return {key: self.stages(iteration).outputs("train")["adapter"]} if self.trained(iteration) else {}

    def log_scores(self, result: dict[str, Any], step: int, stage: str) -> None:
        """The agent's figures on all users, and on those of each of several environments."""
        self.log(result["agent"], step, stage)
        for name, figures in result.get("environments", {}).items():
            self.log({f"{name}/{key}": value for key, value in figures.items() if not isinstance(value, dict)}, step, stage)

    def log(self, metrics: dict[str, Any], step: int, stage: str) -> None:
        if self.tracker is not None:
            self.tracker.log({key: value for key, value in metrics.items() if isinstance(value, int | float)}, step, stage)

    def show(self, iteration: int, verdict: dict[str, Any]) -> None:
        """The iteration's overview, and its table and artifacts where a board takes them."""
        if self.tracker is None:
            return
        here, book, previous = self.iteration_folder(iteration), self.stages(iteration), verdict["best_iteration_before"]
        self.log(overview(book.path, here / "training.json", self.recipe.measure), iteration, "overview")
        show_episodes(self.tracker, iteration, here / "eval_episodes")
        made = {"adapter": "train"} if self.trained(iteration) else {}
        for kind, stage in (made | ({"prompts": "reflect"} if self.rewrites else {})).items():
            about = {"score": self.scores[iteration], "digest": book.outputs(stage)[kind]}
            starts_anew = kind == "adapter" and self.recipe.evolution.start_from == "base"
            keep(self.tracker, kind, iteration, here / kind, 0 if starts_anew else previous, verdict["passed"], about)

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
