"""One episode, played action by action and kept as text, and those who choose the actions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from amemgym_envs.core import TextEnv

LONGEST = 2000  # steps, where neither environment nor task ends an episode
Player = Callable[[TextEnv, np.random.Generator], str]


class Episode:
    """``seen``: all that reset and steps returned, as text, so that what is changed later does not change it."""

    def __init__(self, env: TextEnv, task: str, seed: int) -> None:
        self.env, self.task, self.seed = env, task, seed
        observation, self.info = env.reset(seed=seed, options={"task": task})
        self.observation = observation
        self.actions: list[str] = []
        self.seen = [repr((observation, self.info))]
        self.over = False

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.actions.append(action)
        answer = self.env.step(action)
        self.observation, _, done, truncated, self.info = answer
        self.over = bool(done or truncated) or len(self.actions) == LONGEST
        self.seen.append(repr(answer))
        return answer


def expert(env: TextEnv, rng: np.random.Generator) -> str:
    """NotImplementedError: there is none."""
    choose = getattr(env, "expert", None)
    if choose is None:
        raise NotImplementedError(f"{env.card.id} has no expert")
    return choose()


def blind(env: TextEnv, rng: np.random.Generator) -> str:
    """NotImplementedError: the environment draws no actions."""
    draw = getattr(env, "random_action", None)
    if draw is None:
        raise NotImplementedError(f"{env.card.id} draws no actions")
    return draw(rng)


def mixed(env: TextEnv, rng: np.random.Generator) -> str:
    """The expert and a blind one by turns of a coin: gets further than the latter, and elsewhere than the former."""
    for player in (expert, blind) if rng.integers(2) else (blind, expert):
        try:
            return player(env, rng)
        except NotImplementedError:
            continue
    return f"{int(rng.integers(1, 5))}"


def draws(seed: int) -> np.random.Generator:
    """For who plays. Not the generator of an environment with that seed, whose secrets would be drawn once more."""
    return np.random.default_rng((seed, 1))


def play(env: TextEnv, task: str, seed: int, player: Player = mixed) -> Episode:
    episode, rng = Episode(env, task, seed), draws(seed)
    while not episode.over:
        episode.step(player(env, rng))
    return episode


def replay(env: TextEnv, played: Episode) -> Episode:
    """The same task, seed and actions again."""
    episode = Episode(env, played.task, played.seed)
    for action in played.actions:
        if episode.over:
            break
        episode.step(action)
    return episode


def difference(one: Episode, other: Episode) -> str:
    """Where two episodes of the same actions part; "" where they are equal."""
    for number, (first, second) in enumerate(zip(one.seen, other.seen, strict=False)):
        if first != second:
            place = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
            cut = slice(max(0, place - 20), place + 40)
            where = f"after step {number}" if number else "at reset"
            return f"{one.task} with seed {one.seed}, {where}: {first[cut]!r} and then {second[cut]!r}"
    return "" if len(one.seen) == len(other.seen) else f"{one.task} with seed {one.seed} ends after another step"
