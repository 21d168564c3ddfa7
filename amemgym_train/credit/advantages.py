"""Rewards to advantages: how much better a call did than the same call in the other episodes of its group.

Every estimator takes the signals of all processes, before any of them becomes a row, and gives one advantage each, in the same
order. r_i are the n signals that are not None at one slot (operation, period, index) of one group, m is their mean. A signal of
None takes part in no m, s or n, and has advantage 0; so has one that is alone at its slot. Sums are exact (``math.fsum``): the
order of the signals changes nothing, and where all r_i are equal their advantages are exactly 0.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from amemgym_train.config.credit import CreditConfig

EPSILON = 1e-4  # added to a standard deviation before dividing by it, as TRL does


@dataclass(frozen=True)
class Signal:
    """The reward of one call; ``value`` None: no signal."""

    group: str
    slot: str
    episode: str
    value: float | None


def grpo(signals: Sequence[Signal], scale_by_std: bool = False) -> list[float]:
    """A_i = r_i - m; with ``scale_by_std`` A_i = (r_i - m) / (s + 1e-4), s = sqrt(sum (r_i - m)^2 / (n - 1)).

    DeepSeekMath (arXiv 2402.03300), section 4.1.2, outcome supervision: there one reward per episode is compared over the group,
    here one per slot.
    """
    advantages = _centred(signals)
    if scale_by_std:
        for indices in _slots(signals).values():
            deviation = _deviation([advantages[i] for i in indices])
            for i in indices:
                advantages[i] /= deviation + EPSILON
    return advantages


def dr_grpo(signals: Sequence[Signal]) -> list[float]:
    """A_i = r_i - m, never divided by a deviation.

    Dr. GRPO (Understanding R1-Zero-Like Training, arXiv 2503.20783), section 3: the division weighs a question more the closer it
    is to always or never right. Its other half, no division by a completion's own length, is ``credit.loss: dr_grpo``.
    """
    return _centred(signals)


def rloo(signals: Sequence[Signal]) -> list[float]:
    """A_i = r_i - (mean of r_j, j != i) = n / (n - 1) * (r_i - m).

    REINFORCE leave-one-out (Back to Basics, arXiv 2402.14740): the baseline does not depend on the call itself.
    """
    advantages = _centred(signals)
    for indices in _slots(signals).values():
        for i in indices:
            advantages[i] *= len(indices) / max(len(indices) - 1, 1)
    return advantages


def reinforce_pp(signals: Sequence[Signal]) -> list[float]:
    """A_i = (r_i - m) / (S + 1e-4), S = sqrt(sum over all N signals of the batch of (r - m)^2 / (N - 1)).

    REINFORCE++ with baseline (arXiv 2501.03262), its form for groups: first the mean of the group is taken off, then the whole
    batch is normalised; its mean, which the paper takes off too, is 0 by then. Each signal counts once in S, whatever its length.
    """
    advantages = _centred(signals)
    deviation = _deviation([advantages[i] for i, signal in enumerate(signals) if signal.value is not None])
    return [advantage / (deviation + EPSILON) for advantage in advantages]


def advantages(signals: Sequence[Signal], method: str, config: CreditConfig) -> list[float]:
    """The advantages of all signals by ``training.method``, in their order."""
    if method == "grpo":
        return grpo(signals, config.scale_by_std)
    return {"dr_grpo": dr_grpo, "rloo": rloo, "reinforce_pp": reinforce_pp}[method](signals)


def figures(signals: Sequence[Signal], advantages: Sequence[float] | None = None) -> dict[str, float]:
    """What a batch had to teach.

    ``zero_spread``: share of the (group, slot) with a signal whose signals are all equal, or just one; ``no_signal``: share of
    calls without one; ``zero_advantage``, when they are given: share of calls with one whose advantage is 0;
    ``reward/<operation>``: mean.
    """
    slots = _slots(signals)
    flat = sum(len({signals[i].value for i in indices}) == 1 for indices in slots.values())
    given = [i for i, signal in enumerate(signals) if signal.value is not None]
    values: dict[str, list[float]] = defaultdict(list)
    for i in given:
        values[signals[i].slot.partition("/")[0]].append(signals[i].value)
    return {
        "zero_spread": flat / max(len(slots), 1),
        "no_signal": 1 - len(given) / len(signals) if signals else 0.0,
        **({} if advantages is None else {"zero_advantage": sum(advantages[i] == 0 for i in given) / max(len(given), 1)}),
        **{f"reward/{name}": math.fsum(found) / len(found) for name, found in sorted(values.items())},
    }


def _slots(signals: Sequence[Signal]) -> dict[tuple[str, str], list[int]]:
    """{(group, slot): the indices of its signals that are not None}."""
    slots: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, signal in enumerate(signals):
        if signal.value is not None:
            slots[signal.group, signal.slot].append(i)
    return slots


def _centred(signals: Sequence[Signal]) -> list[float]:
    """r_i - m, and 0 for None."""
    result = [0.0] * len(signals)
    for indices in _slots(signals).values():
        values = [signals[i].value for i in indices]
        if len(set(values)) > 1:  # a mean of equal values may be off by a rounding
            mean = math.fsum(values) / len(values)
            for i, value in zip(indices, values, strict=True):
                result[i] = value - mean
    return result


def _deviation(centred: Sequence[float]) -> float:
    """The sample standard deviation of values whose mean is 0; 0 for fewer than two."""
    return math.sqrt(math.fsum(value * value for value in centred) / max(len(centred) - 1, 1))
