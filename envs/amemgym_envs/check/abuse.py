"""Garbage actions: nothing raises, every answer is text, and nothing stays behind, neither here nor in an instance beside."""

import time
from traceback import extract_tb

from amemgym_envs.check.episode import Episode, Player, difference, draws, expert, mixed, play
from amemgym_envs.check.garbage import garbage
from amemgym_envs.check.plan import Plan
from amemgym_envs.check.result import Fault, Result, short
from amemgym_envs.core import TextEnv
from amemgym_envs.tasks import TaskEnv

LONGEST = 100_000  # characters of an answer
SLOW, TOO_SLOW = 1.0, 5.0  # seconds of an action


def by_garbage(plan: Plan) -> Result:
    env, twin = plan.build(), plan.build()
    rng = draws(plan.seeds)
    given, episodes, slowest, slow = 0, 0, 0.0, ""
    chosen = list(plan.episodes(3))
    clean: dict[tuple[str, int], tuple[Player, Episode]] = {}
    while given < plan.garbage:
        task, seed = chosen[episodes % len(chosen)]
        if (task, seed) not in clean:
            clean[task, seed] = _clean(plan, task, seed)
        player, before = clean[task, seed]
        episode, beside = Episode(env, task, seed), Episode(twin, task, seed)
        while not episode.over and given < plan.garbage:
            action = garbage(rng, mixed(env, rng))
            seconds = _given(env, episode, action)
            if seconds > slowest:
                slowest, slow = seconds, action
            given += 1
            if not beside.over:
                beside.step(before.actions[len(beside.actions)])
        while not beside.over:
            beside.step(before.actions[len(beside.actions)])
        _unharmed(before, beside, "an instance beside one that was given garbage")
        _unharmed(before, play(env, task, seed, player), "after an episode of garbage")
        episodes += 1
    figures = {"actions": given, "episodes": episodes, "slowest_seconds": round(slowest, 4)}
    told = f"{given:,} actions in {episodes:,} episodes: all answered, nothing stays behind; slowest {slowest * 1000:.1f} ms"
    if slowest > SLOW:
        level, remedy = ("red", "bound what an action may cost") if slowest > TOO_SLOW else ("yellow", "")
        return Result("garbage", level, f"{told}: {short(slow)}", remedy, figures)
    return Result("garbage", "green", told, figures=figures)


def _given(env: TextEnv, episode: Episode, action: str) -> float:
    """Do ``action``; the seconds that it took."""
    start = time.perf_counter()
    try:
        answer = episode.step(action)
    except Exception as error:
        place = extract_tb(error.__traceback__)[-1]
        told = f"{short(action)} raises {type(error).__name__} ({short(str(error))}) at {place.name}, line {place.lineno}"
        raise Fault(f"{episode.task}: {told}", "answer it by what would have been understood") from error
    seconds = time.perf_counter() - start
    observation = answer[0]
    if not isinstance(observation, str):
        raise Fault(f"{short(action)} is answered by {short(observation)}", "observations are strings")
    if isinstance(env, TaskEnv) and not episode.over and not observation.strip():
        raise Fault(f"{short(action)} is answered by nothing", "say what would have been understood")
    if len(observation) > LONGEST:
        raise Fault(f"{short(action)} is answered by {len(observation):,} characters", "bound the answer")
    try:
        observation.encode()
    except UnicodeEncodeError:
        raise Fault(f"{short(action)} is answered by half a character", "repeat no lone surrogate") from None
    return seconds


def _clean(plan: Plan, task: str, seed: int) -> tuple[Player, Episode]:
    """The expert, or who else plays, and what they play in an instance that saw nothing before."""
    try:
        return expert, play(plan.build(), task, seed, expert)
    except NotImplementedError:
        return mixed, play(plan.build(), task, seed, mixed)


def _unharmed(before: Episode, after: Episode, where: str) -> None:
    if told := difference(before, after):
        raise Fault(f"{where}: {told}", "an action changes nothing but its own episode")
