"""Generalised advantage estimation: rewards and a critic's values to advantages, over the turns of an episode or inside a turn.

arXiv 1506.02438, eq. 16: A_t = sum over k >= 0 of (discount * trace)^k * delta_{t+k}, with
delta_t = r_t + discount * V_{t+1} - V_t. The reward of a turn stands with that turn, and not with a token that a mask may hide.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit.records import Reward, Rewards
from amemgym_train.credit.rewards import operation, outcome, rewarded
from amemgym_train.diagnosis.operations import Diagnosis
from amemgym_train.rollout.records import Episode

EPSILON = 1e-8  # added to a deviation before dividing by it


def gae(rewards: Sequence[float], values: Sequence[float], discount: float, trace: float, last: float = 0.0) -> list[float]:
    """A_t of each step. ``last`` is V_T: 0 after a finished episode, the critic's value where an episode was cut off."""
    advantages, following, later = [0.0] * len(rewards), last, 0.0
    for t in reversed(range(len(rewards))):
        later = rewards[t] + discount * following - values[t] + discount * trace * later
        advantages[t], following = later, values[t]
    return advantages


def turn_advantages(
    rewards: Sequence[float | None], values: Sequence[float], discount: float, trace: float, last: float = 0.0
) -> list[float]:
    """A_t of each turn. One whose reward is None has no signal: the chain runs as if it was not there, its advantage is 0."""
    given = [t for t, reward in enumerate(rewards) if reward is not None]
    found = gae([rewards[t] for t in given], [values[t] for t in given], discount, trace, last)
    advantages = [0.0] * len(rewards)
    for t, advantage in zip(given, found, strict=True):
        advantages[t] = advantage
    return advantages


def token_advantages(
    turn: float, values: Sequence[float], discount: float, trace: float, rewards: Sequence[float] | None = None
) -> list[float]:
    """A_i of a turn's tokens: ``turn``, the turn's own advantage, at the last one, and eq. 16 from there back to the first.

    Bi-level estimation (RAGEN, arXiv 2504.20073): the turn's value is that of its last token's state, ``values[-1]``, so that all
    of its tokens have the return that the turn has, where discount and trace are 1. ``rewards`` are those of single tokens but
    the last, whose reward is in ``turn`` (default: 0).
    """
    advantages, later = [turn] * len(values), turn
    for i in reversed(range(len(values) - 1)):
        later = (rewards[i] if rewards else 0.0) + discount * values[i + 1] - values[i] + discount * trace * later
        advantages[i] = later
    return advantages


def moments(pairs: Sequence[tuple[float, float]], gather: Callable[[list[Any]], list[Any]]) -> tuple[float, float]:
    """Mean and deviation of the values of all processes, from each one's (weight, value)."""
    weight, total = _summed([(math.fsum(w for w, _ in pairs), math.fsum(w * v for w, v in pairs))], gather)
    mean = total / weight if weight else 0.0
    (squares,) = _summed([(math.fsum(w * (v - mean) ** 2 for w, v in pairs),)], gather)
    return mean, math.sqrt(squares / weight) if weight else 0.0


def whitened(advantage: float, moments: tuple[float, float]) -> float:
    """(A - mean) / (deviation + 1e-8)."""
    mean, deviation = moments
    return (advantage - mean) / (deviation + EPSILON)


def per_turn(episode: Episode, diagnosis: Diagnosis, config: CreditConfig) -> Rewards:
    """The rewards that are summed over an episode's turns: the scheme's own, but for the outcome, which enters once.

    ``outcome`` pays every turn with the same accuracy, to be compared with the same turn of other episodes; a sum over turns
    would count it as often as there are turns. It is settled when the last trained turn is made: there it stands, and the others
    of ``outcome`` earn 0. ``blend`` is operation_share * operation (0 where it has no signal) with the rest of the outcome at the
    last turn. ``return`` pays every turn with its own step: GAE sums and discounts by itself. Rewards of ``operation`` and of a
    function of one's own are taken as they are. A turn without tokens has no choice to pay for: no signal.
    """
    if config.scheme in ("outcome", "blend"):
        given = _once(episode, diagnosis, config)
    else:
        given = rewarded(episode, diagnosis, config.model_copy(update={"discount": 0.0}))
    return {index: reward if episode.turns[index].completion_ids else None for index, reward in given.items()}


def _once(episode: Episode, diagnosis: Diagnosis, config: CreditConfig) -> Rewards:
    shared = outcome(episode, diagnosis, config)
    share = config.operation_share if config.scheme == "blend" else 0.0
    own = operation(episode, diagnosis, config) if share else {}
    last = max((index for index in shared if episode.turns[index].completion_ids), default=None)
    given: Rewards = {}
    for index, whole in shared.items():
        earned = own.get(index)
        value = share * earned.value if earned else 0.0
        reasons = [earned.reason] if earned else []
        if index == last:
            value += (1 - share) * whole.value
            reasons.append(whole.reason)
        given[index] = Reward(value, "; ".join(reasons) or "paid by what follows")
    return given


def _summed(local: list[tuple[float, ...]], gather: Callable[[list[Any]], list[Any]]) -> list[float]:
    return [math.fsum(column) for column in zip(*gather(local), strict=True)]
