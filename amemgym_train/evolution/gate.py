"""Whether an iteration's adapter and prompts take the place of the best so far."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from amemgym_train.config.environments import EnvironmentGate
from amemgym_train.config.evolution import GateConfig
from amemgym_train.evaluation.intervals import interval, resampled

Scores = Mapping[str, float | None]  # memory score by validation user, None without headroom
Gates = Mapping[str, EnvironmentGate]
ROUNDING = 1e-9  # two sums of the same numbers may differ by it


@dataclass(frozen=True)
class Comparison:
    """``difference``: mean over the ``users`` that both could play of new minus best score, between ``low`` and ``high`` in
    95% of the bootstrap's means (None for fewer than two users); ``share``: of those means, the ones that reach ``min_delta``
    (None: all do). ``passed``: whether the difference and the share reach what was asked of them."""

    passed: bool
    difference: float
    low: float | None
    high: float | None
    share: float
    users: int
    min_delta: float | None
    confidence: float


@dataclass(frozen=True)
class Verdict:
    """``decision``: accept, reject (the best so far stays) or stop (and the run ends).

    ``everybody``: all validation users; ``environments``: those of each, where the recipe has several. All of them must pass.
    ``rejections``: in a row, this one included.
    """

    decision: str
    everybody: Comparison
    environments: dict[str, Comparison]
    rejections: int

    @property
    def passed(self) -> bool:
        return self.decision == "accept"

    def to_dict(self) -> dict[str, Any]:
        """JSON values; the figures of everybody stand beside the decision."""
        apart = {name: asdict(one) for name, one in self.environments.items()}
        decided = {"decision": self.decision, "passed": self.passed, "rejections": self.rejections}
        return asdict(self.everybody) | decided | ({"environments": apart} if apart else {})


def judge(new: Scores, best: Scores, config: GateConfig, rejections: int, gates: Gates | None = None) -> Verdict:
    """The verdict on ``new`` after so many ``rejections`` in a row. ``gates``: of each environment, whose users' ids begin with
    its name and a dot. ValueError: no user, of all or of an environment, has a score in both."""
    everybody = compare(new, best, config.min_delta, config.confidence)
    apart = {}
    for name, gate in (gates or {}).items():
        ours, theirs = ({user: score for user, score in one.items() if user.startswith(f"{name}.")} for one in (new, best))
        apart[name] = compare(ours, theirs, gate.min_delta, gate.confidence)
    passed = all(one.passed for one in (everybody, *apart.values()))
    rejected = 0 if passed else rejections + 1
    stops = config.patience is not None and rejected >= config.patience
    return Verdict("accept" if passed else "stop" if stops else "reject", everybody, apart, rejected)


def compare(new: Scores, best: Scores, min_delta: float | None, confidence: float) -> Comparison:
    """``new`` against ``best``, user by user.

    The bootstrap is paired (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 16): users are drawn with
    replacement, each with both of its scores. ValueError: no user has both.
    """
    users = [user for user in sorted(new) if new[user] is not None and best.get(user) is not None]
    if not users:
        raise ValueError(f"none of {len(new)} users has a score before and after")
    differences = np.array([new[user] - best[user] for user in users])
    means = resampled(differences) if len(users) > 1 else differences
    least = -np.inf if min_delta is None else min_delta - ROUNDING
    difference, share = float(differences.mean()), float((means >= least).mean())
    low, high = interval(differences) or (None, None)
    return Comparison(
        passed=difference >= least and share >= confidence,
        difference=round(difference, 6),
        low=None if low is None else round(low, 6),
        high=None if high is None else round(high, 6),
        share=round(share, 6),
        users=len(users),
        min_delta=min_delta,
        confidence=confidence,
    )
