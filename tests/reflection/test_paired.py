import math
from itertools import product
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.reflection.paired import compare

SCORES = st.integers(-4, 4).map(lambda quarter: quarter / 4)


def by_user(values):
    return {f"user {i}": value for i, value in enumerate(values)}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=8))
def test_p_is_the_share_of_sign_patterns_with_a_mean_as_high(pairs):
    found = compare(by_user(new for new, _ in pairs), by_user(old for _, old in pairs))
    differences = [new - old for new, old in pairs]
    assert found.users == len(pairs) and math.isclose(found.difference, fmean(differences), abs_tol=1e-6)
    means = [sum(s * d for s, d in zip(signs, differences, strict=True)) for signs in product((1, -1), repeat=len(pairs))]
    expected = fmean(mean >= sum(differences) - 1e-9 for mean in means)
    assert math.isclose(found.p, expected, abs_tol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=24), st.floats(0.001, 1))
def test_what_is_called_better_has_the_higher_mean(pairs, alpha):
    found = compare(by_user(new for new, _ in pairs), by_user(old for _, old in pairs))
    assert 0 < found.p <= 1
    assert not found.better(alpha) or fmean(new for new, _ in pairs) > fmean(old for _, old in pairs)


def test_few_users_can_prove_little_and_many_more():
    def gain(users):
        return compare(by_user([0.5] * users), by_user([0.25] * users))

    assert gain(4).p == 1 / 16 and not gain(4).better(0.05)
    assert gain(5).p == 1 / 32 and gain(5).better(0.05)
    assert gain(40).better(0.001)  # more than all sign patterns could be tried


def test_only_users_with_both_scores_are_compared():
    assert compare({"a": 1.0, "b": 0.0}, {"a": 0.5, "c": 1.0}).users == 1
    with pytest.raises(ValueError, match="none of 1 users"):
        compare({"a": 1.0}, {"b": 1.0})
