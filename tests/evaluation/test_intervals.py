import numpy as np
import pytest

from amemgym_train.evaluation.intervals import interval, spread


def test_the_interval_of_normal_values_is_that_of_the_normal_law():
    """With many users the bootstrap's interval of the mean is mean +- 1.96 s / sqrt(n), s with n in the denominator."""
    values = np.random.default_rng(1).normal(0.3, 0.2, 400)
    low, high = interval(list(values))
    half = 1.96 * values.std() / len(values) ** 0.5
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.05 * half)


def test_about_95_of_100_intervals_hold_the_true_mean():
    draw = np.random.default_rng(2)
    held = [low <= 0.5 <= high for low, high in (interval(list(draw.random(40)), seed) for seed in range(200))]
    assert 0.90 <= sum(held) / len(held) <= 0.985


def test_few_users_have_the_exact_percentiles():
    """Means of two draws from {0, 1} are 0, 1/2, 1 with 1/4, 1/2, 1/4: the middle 95 % reaches from end to end."""
    assert interval([0.0, 1.0]) == (0.0, 1.0)
    assert interval([0.25, 0.25, 0.25]) == (0.25, 0.25)


def test_a_single_user_tells_nothing_of_others():
    assert interval([0.5]) is None and interval([]) is None
    assert spread([0.5]) == {"mean": 0.5, "low": None, "high": None, "users": 1}
    assert spread([]) == {"mean": None, "low": None, "high": None, "users": 0}


def test_the_same_values_and_seed_give_the_same_interval():
    values = list(np.random.default_rng(3).random(12))
    assert interval(values) == interval(values) != interval(values, seed=1)
    low, high = interval(values)
    shifted = interval([value + 1 for value in values])
    assert shifted == pytest.approx((low + 1, high + 1))  # the same users are drawn, whatever their values
