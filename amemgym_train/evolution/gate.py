"""Whether an iteration's adapter and prompts take the place of the best so far."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from amemgym_train.config.evolution import GateConfig
from amemgym_train.evaluation.intervals import interval, resampled

Scores = Mapping[str, float | None]  # memory score by validation user, None without headroom
ROUNDING = 1e-9  # two sums of the same numbers may differ by it


@dataclass(frozen=True)
class Verdict:
    """``decision``: accept, reject (the best so far stays) or stop (and the run ends).

    ``difference``: mean over the ``users`` that both could play of new minus best score, between ``low`` and ``high`` in
    95% of the bootstrap's means (None for fewer than two users); ``share``: of those means, the ones that reach ``min_delta``.
    ``rejections``: in a row, this one included.
    """

    decision: str
    difference: float
    low: float | None
    high: float | None
    share: float
    users: int
    min_delta: float
    confidence: float
    rejections: int

    @property
    def passed(self) -> bool:
        return self.decision == "accept"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"passed": self.passed}


def judge(new: Scores, best: Scores, config: GateConfig, rejections: int) -> Verdict:
    """The verdict on ``new`` after so many ``rejections`` in a row.

    The bootstrap is paired (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 16): users are drawn with
    replacement, each with both of its scores. ValueError: no user has both.
    """
    users = [user for user in sorted(new) if new[user] is not None and best.get(user) is not None]
    if not users:
        raise ValueError(f"none of {len(new)} users has a score before and after")
    differences = np.array([new[user] - best[user] for user in users])
    means = resampled(differences) if len(users) > 1 else differences
    difference, share = float(differences.mean()), float((means >= config.min_delta - ROUNDING).mean())
    passed = difference >= config.min_delta - ROUNDING and share >= config.confidence
    rejected = 0 if passed else rejections + 1
    stops = config.patience is not None and rejected >= config.patience
    low, high = interval(differences) or (None, None)
    return Verdict(
        decision="accept" if passed else "stop" if stops else "reject",
        difference=round(difference, 6),
        low=None if low is None else round(low, 6),
        high=None if high is None else round(high, 6),
        share=round(share, 6),
        users=len(users),
        min_delta=config.min_delta,
        confidence=config.confidence,
        rejections=rejected,
    )
