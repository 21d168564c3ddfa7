"""Whether a prompt is better than another on the same users: a paired test."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

RESAMPLES = 1 << 16  # flips tried; with 16 users or fewer these are all of them


@dataclass(frozen=True)
class Comparison:
    """``difference``: the mean over ``users`` of new minus old score; ``p``: the one-sided p-value of "no better"."""

    difference: float
    p: float
    users: int

    def better(self, alpha: float) -> bool:
        return self.difference > 0 and self.p <= alpha

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(new: Mapping[str, float], old: Mapping[str, float]) -> Comparison:
    """The sign-flip test (Fisher 1935) on the users that both have: were no prompt better, each user's difference could as well
    have had the other sign, so p is the share of sign patterns whose mean is as high as the one found.

    ValueError: no user has both scores.
    """
    users = sorted(new.keys() & old.keys())
    if not users:
        raise ValueError(f"none of {len(new)} users is among the {len(old)} that they are compared with")
    differences = [new[user] - old[user] for user in users]
    if len(users) == 1 or not any(differences):  # which scipy does not take, and where there is no sign to flip
        return Comparison(round(fmean(differences), 6), 0.5 if sum(differences) > 0 else 1.0, len(users))
    from scipy.stats import permutation_test

    found = permutation_test(
        (differences,), _mean, permutation_type="samples", alternative="greater", n_resamples=RESAMPLES, vectorized=True, rng=0
    )
    return Comparison(round(fmean(differences), 6), round(float(found.pvalue), 6), len(users))


def _mean(values, axis):
    import numpy

    return numpy.mean(values, axis=axis)
