"""Playing the users of a stage, each process its share, so that a kill costs little of what was played."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amemgym_train.config.recipe import Recipe
from amemgym_train.evaluation.controls import agents, environment
from amemgym_train.evaluation.goals import task_of
from amemgym_train.evolution import ranks
from amemgym_train.policy.base import Policy, Sampling
from amemgym_train.reflection.reflectors import Failure, reflector_of
from amemgym_train.reflection.retry import Adviser, FirstTry, second_tries
from amemgym_train.rollout.pieces import Pieces
from amemgym_train.rollout.pool import Task, episode_of
from amemgym_train.rollout.records import Episode
from amemgym_train.rollout.runner import play
from amemgym_train.rollout.store import load_episodes, save_episodes

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario


def play_users(
    recipe: Recipe,
    role: str,
    scenarios: "Sequence[Scenario]",
    policy: Policy,
    sampling: Sampling,
    group: int,
    seed: int,
    out: Path,
    kept: Path | None = None,
) -> list[Episode]:
    """Play ``group`` episodes of every scenario and save them in ``out``; returns those of all processes.

    In ``kept`` finished work survives a kill. Servers wait for nobody: there every period of an episode is kept. A model in this
    process answers episodes in batches, on whose make-up the last digits of its numbers depend: its episodes are played in waves
    of ``rollout.concurrency`` at a time, and waves are kept whole, so that a run that was killed ends with the same numbers.
    """
    tasks = ranks.share([task_of(recipe, scenario.id, number) for scenario in scenarios for number in range(group)])
    users, factory = environment(recipe, role, scenarios), agents(recipe, policy, sampling, scenarios)
    remote, concurrency = recipe.policy.remote, recipe.rollout.concurrency
    pieces = None if kept is None or not remote else lambda task: Pieces(kept / _name(episode_of(task).id))
    played = {} if kept is None else _kept_in(kept)
    ranks.wait()  # no process may keep more while another still looks
    for number, wave in enumerate([tasks] if remote else waves(tasks, concurrency)):
        left = [task for task in wave if episode_of(task).id not in played]
        episodes = play(users, left, factory, seed, concurrency, f"{role} {recipe.played}", remote, pieces) if left else []
        if kept is not None and not remote and left:
            save_episodes(kept / f"wave-{ranks.rank():03d}-{number:05d}-{os.getpid()}.parquet", episodes)
        played |= {episode.id: episode for episode in episodes}
    save_episodes(out / f"part-{ranks.rank():03d}.parquet", [played[episode_of(task).id] for task in tasks])
    ranks.wait()
    return load_folder(out)


def waves(tasks: Sequence[Task], size: int) -> Iterator[Sequence[Task]]:
    """``tasks`` in order, ``size`` at a time."""
    for start in range(0, len(tasks), size):
        yield tasks[start : start + size]


def load_folder(folder: Path) -> list[Episode]:
    """The episodes of every shard in ``folder``, in one order however many processes played them."""
    episodes = [episode for path in sorted(folder.glob("part-*.parquet")) for episode in load_episodes(path)]
    return sorted(episodes, key=lambda episode: (episode.task, episode.seed))


def play_again(
    recipe: Recipe,
    policy: Policy,
    firsts: Sequence[FirstTry],
    scenarios: "Sequence[Scenario]",
    seed: int,
    label: str | None = None,
) -> list[Episode]:
    """The second tries of this process's ``firsts``, by the recipe's agents answering with ``policy``."""
    sampling = Sampling(**recipe.sampling.model_dump())
    return second_tries(
        firsts,
        policy,
        policy.tokenizer,
        environment(recipe, "train", scenarios),
        lambda reminded: agents(recipe, reminded, sampling),
        seed=seed,
        group_size=recipe.rollout.group_size,
        concurrency=recipe.rollout.concurrency,
        together=recipe.policy.remote,
        label=label,
        adviser=adviser_of(recipe, policy, seed),
    )


def adviser_of(recipe: Recipe, policy: Policy, seed: int) -> Adviser | None:
    """Who writes the reflections of second tries; None: rules."""
    if recipe.reflection.retry.written == "rules":
        return None
    config, dtype = recipe.reflection.reflector, recipe.policy.dtype

    async def advise(episode: str, failure: Failure) -> str:
        return await reflector_of(config, policy, dtype, seed, episode).advise(failure)

    return advise


def _kept_in(folder: Path) -> dict[str, Episode]:
    """The episodes of the waves in ``folder`` that were played to their end, by id."""
    found = [episode for path in sorted(folder.glob("wave-*.parquet")) for episode in load_episodes(path)]
    return {episode.id: episode for episode in found if episode.error is None}


def _name(episode: str) -> str:
    """A folder's name for an episode, whatever its user's id holds."""
    return hashlib.sha256(episode.encode()).hexdigest()[:24]
