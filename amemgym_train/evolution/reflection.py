"""The stage ``reflect``: the search for better prompts of one iteration, on disk.

Trials and replies are kept in the run's folder ``trials`` as soon as they are there, each under a hash of all that decides it, so
that a search that was killed, or meets prompts again that it has tried, plays nothing twice.
"""

import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from amemgym_train.agents.templates import Prompt, load_prompts, write_prompts
from amemgym_train.config.environments import training_users, users
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.reflection import FeedbackKind
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.evaluation.controls import GREEDY
from amemgym_train.evaluation.memory import report
from amemgym_train.evolution import ranks
from amemgym_train.evolution.memo import Memo
from amemgym_train.evolution.plays import load_folder, play_users
from amemgym_train.evolution.policies import answering
from amemgym_train.evolution.stages import stage_seed
from amemgym_train.files import write_json
from amemgym_train.policy.base import Policy
from amemgym_train.reflection.cases import cases_of
from amemgym_train.reflection.feedback import summarise
from amemgym_train.reflection.reflectors import Ask, messages, reflector_of
from amemgym_train.reflection.room import bounds_of
from amemgym_train.reflection.search import Found, Prompts, search
from amemgym_train.reflection.trial import Trial
from amemgym_train.rollout.records import Episode
from amemgym_train.rollout.runner import check_unscorable

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario


@dataclass
class Players:
    """Plays the users of a search with ``policy``. ``start``: the prompts that ``evaluated`` holds validation episodes of."""

    recipe: Recipe
    policy: Policy
    memo: Memo
    scratch: Path
    start: Prompts
    evaluated: Path
    users: "Mapping[str, Sequence[Scenario]]"
    played: int = field(default=0, init=False)

    def trial(self, prompts: Prompts, role: str) -> Trial:
        key = {"role": role, "users": [one.id for one in self.users[role]], "prompts": texts(prompts)}
        return Trial.from_dict(self.memo.get(key, lambda: self._play(prompts, role).to_dict()))

    def _play(self, prompts: Prompts, role: str) -> Trial:
        config, users = self.recipe.reflection, self.users[role]
        if role == "validation" and prompts == self.start:
            episodes = load_folder(self.evaluated)
        else:
            self.played += 1
            folder = self.scratch / f"{self.played:03d}"
            if ranks.is_main():
                write_prompts(folder / "prompts", prompts)
            ranks.wait()
            recipe = with_prompts(self.recipe, folder / "prompts")
            episodes = play_users(recipe, role, users, self.policy, GREEDY, 1, recipe.seed, folder / "episodes")
        check_unscorable(episodes, self.recipe.rollout.max_unscorable)
        kind = config.feedback if role == "train" else None
        return tried(episodes, {one.id: one for one in users}, kind, config.prompts.max_chars)


def tried(
    episodes: Sequence[Episode],
    scenarios: "Mapping[str, Scenario]",
    kind: FeedbackKind | None = None,
    max_chars: int = 0,
) -> Trial:
    """The trial that ``episodes`` are, with feedback of ``kind`` (None: without). ValueError: none could be played to its end."""
    scored = [episode for episode in episodes if episode.error is None]
    if not scored:
        raise ValueError(f"none of {len(episodes)} episodes could be played to its end")
    memory, known, cases = {}, {}, []
    for episode in scored:
        figures = report([episode])
        memory[episode.task] = round(figures.memory_score or 0.0, 6)  # none only if every question has a single choice
        diagnosis = diagnose(episode) if episode.probes else None
        if diagnosis is not None:
            known[episode.task] = round(fmean(right for cell in diagnosis.cells for right in cell.known.values()), 6)
        if kind is not None:
            cases += cases_of(episode, scenarios[episode.task], diagnosis)
    return Trial(memory, known, summarise(cases, kind, max_chars) if kind is not None else None)


def texts(prompts: Prompts) -> dict[str, str]:
    return {name: prompt.text for name, prompt in prompts.items()}


def with_prompts(recipe: Recipe, folder: Path) -> Recipe:
    """``recipe`` with the agent's prompts from ``folder``."""
    return recipe.model_copy(update={"agent": recipe.agent.model_copy(update={"prompts": str(folder), "start": "default"})})


def reflect(
    recipe: Recipe,
    iteration: int,
    adapter: Path | None,
    version: str,
    evaluated: Path,
    before: Path | None,
    about: Mapping[str, Any],
    guided: bool,
    out: Path,
) -> dict[str, Any]:
    """Search for better prompts than the recipe's. Writes ``prompts``, ``candidates`` and ``reflection.json``.

    ``evaluated``: the validation episodes of the recipe's prompts with this adapter; ``before``: the iteration before, whose
    candidates are gone on from; ``about``: what trials depend on beside prompts and users. UserError: the reflector could not
    be asked.
    """
    config, scenarios = recipe.reflection.prompts, training_users(recipe, iteration - 1)
    played = {"train": scenarios[: config.users], "validation": users(recipe, "validation")}
    memo = Memo(recipe.run_dir / "trials", about)
    start, seed = load_prompts(recipe.agent.prompts, recipe.agent.start), stage_seed(recipe, iteration)
    with answering(recipe, adapter, version) as policy:
        players = Players(recipe, policy, memo, out / "plays", start, evaluated, played)

        def reply(ask: Ask) -> str:
            return memo.get({"asked": messages(ask), "draw": ask.draw, "seed": seed}, lambda: _reply(ask), False)["reply"]

        def _reply(ask: Ask) -> dict[str, str]:
            reflector = reflector_of(recipe.reflection.reflector, policy, recipe.policy.dtype, seed)
            try:
                return {"reply": asyncio.run(reflector.reply(ask))}
            except Unscorable as error:
                raise UserError(
                    f"iteration {iteration}: {error}. What was tried so far is kept: mend it and run the same command again"
                ) from error

        pool, bounds = kept_in(before, start), bounds_of(config, scenarios, policy)
        found = search(start, pool, recipe.agent.name, config, players.trial, reply, bounds, seed, guided)
    if ranks.is_main():
        shutil.rmtree(out / "plays", ignore_errors=True)
        save(found, out)
    return found.counts()


def save(found: Found, out: Path) -> None:
    """``prompts``: those of the best; ``candidates/NN``: of all that were tried; ``reflection.json``: lineage and scores."""
    best = found.candidates[found.best]
    write_prompts(out / "prompts", best.prompts)
    for one in found.candidates:
        if one.train is not None:
            write_prompts(out / "candidates" / f"{one.number:02d}", one.prompts)
    told = {
        "best": found.best,
        "kept": found.kept,
        "counts": found.counts(),
        "feedback": best.train.feedback.text,
        "candidates": [one.to_dict(found.candidates) for one in found.candidates],
    }
    write_json(out / "reflection.json", told)


def kept_in(folder: Path | None, start: Prompts) -> list[dict[str, Prompt]]:
    """The prompts that the iteration in ``folder`` kept to go on from, other than ``start``."""
    if folder is None:
        return []
    kept = json.loads((folder / "reflection.json").read_text(encoding="utf-8"))["kept"]
    found = [load_prompts(str(folder / "candidates" / f"{number:02d}")) for number in kept]
    named = [{name: prompts[name] for name in start} for prompts in found]  # a set may lack some, which a folder is lent
    return [prompts for prompts in named if prompts != start]
