"""Confidence intervals over users, by the bootstrap."""

from collections.abc import Sequence

import numpy as np

RESAMPLES = 10_000
LEVEL = 0.95


def interval(values: Sequence[float], seed: int = 0) -> tuple[float, float] | None:
    """The percentile interval of the mean of ``values``, one per user; None for fewer than two users, who tell nothing of others.

    It holds the middle LEVEL of the means of ``resampled`` users.
    """
    if len(values) < 2:
        return None
    low, high = np.quantile(resampled(values, seed), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def resampled(values: Sequence[float], seed: int = 0) -> np.ndarray:
    """The means of ``values`` over RESAMPLES draws of as many users as there are, with replacement: (RESAMPLES,).

    Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13. The same number of users and the same ``seed`` draw
    the same users.
    """
    drawn = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)), dtype=np.int32)
    return np.asarray(values, dtype=np.float64)[drawn].mean(axis=1)


def spread(values: Sequence[float]) -> dict[str, float | int | None]:
    """{mean, low, high, users}: the mean of one value per user and its interval; None where there is none."""
    mean = sum(values) / len(values) if values else None
    low, high = interval(values) or (None, None)
    return {"mean": mean, "low": low, "high": high, "users": len(values)}
