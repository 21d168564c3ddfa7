"""Advantages over turns and inside them: eq. 16 as it is written, and where a reward may not get lost."""

import math
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit.canned import canned
from amemgym_train.credit.gae import gae, moments, per_turn, token_advantages, turn_advantages, whitened
from amemgym_train.credit.rewards import operation, outcome
from amemgym_train.diagnosis.operations import diagnose

number = st.floats(-3, 3)
share = st.floats(0, 1)


@st.composite
def a_life(draw, reward=number):
    """(rewards, values) of as many turns."""
    turns = draw(st.lists(st.tuples(reward, number), max_size=12))
    return [r for r, _ in turns], [v for _, v in turns]


def double_sum(rewards, values, discount, trace, last):
    following = [*values, last][1:]
    deltas = [r + discount * after - v for r, v, after in zip(rewards, values, following, strict=True)]
    return [sum((discount * trace) ** k * deltas[t + k] for k in range(len(deltas) - t)) for t in range(len(deltas))]


@given(a_life(), share, share, number)
def test_the_recursion_is_the_double_sum(life, discount, trace, last):
    assert gae(*life, discount, trace, last) == pytest.approx(double_sum(*life, discount, trace, last), abs=1e-6)


@given(a_life(st.none() | number), share, share, number)
def test_a_turn_without_a_signal_is_passed_over(life, discount, trace, last):
    rewards, values = life
    kept = [(r, v) for r, v in zip(rewards, values, strict=True) if r is not None]
    wanted = iter(double_sum([r for r, _ in kept], [v for _, v in kept], discount, trace, last))
    found = turn_advantages(rewards, values, discount, trace, last)
    assert found == pytest.approx([0.0 if r is None else next(wanted) for r in rewards], abs=1e-6)


@given(st.integers(1, 9), share, number)
def test_the_last_reward_reaches_the_first_turn(turns, discount, reward):
    rewards, values = [0.0] * (turns - 1) + [reward], [0.0] * turns
    assert turn_advantages(rewards, values, 1.0, 1.0)[0] == reward
    assert turn_advantages(rewards, values, discount, 1.0)[0] == pytest.approx(discount ** (turns - 1) * reward)


@given(a_life(), share, number)
def test_a_whole_trace_forgets_the_values_between(life, discount, last):
    """A_t + V_t is the discounted sum of what was earned from t on."""
    rewards, values = life
    returns = [a + v for a, v in zip(gae(rewards, values, discount, 1.0, last), values, strict=True)]
    for t, found in enumerate(returns):
        wanted = sum(discount**k * r for k, r in enumerate(rewards[t:])) + discount ** (len(rewards) - t) * last
        assert found == pytest.approx(wanted, abs=1e-6)


@given(number, st.lists(number, min_size=1, max_size=8), share, share)
def test_inside_a_turn_its_advantage_stands_at_the_last_token(turn, values, discount, trace):
    """Below it is eq. 16 of a turn that earns its own return, turn + values[-1]."""
    rewards = [0.0] * (len(values) - 1) + [turn + values[-1]]
    assert token_advantages(turn, values, discount, trace) == pytest.approx(
        double_sum(rewards, values, discount, trace, 0.0), abs=1e-6
    )
    whole = token_advantages(turn, values, 1.0, 1.0)
    assert whole == pytest.approx([turn + values[-1] - value for value in values], abs=1e-6)


def test_rewards_of_tokens_reach_the_tokens_before_them_only():
    assert token_advantages(1.0, [0.0] * 4, 1.0, 1.0, [0.0, -0.5, 0.0, 0.0]) == [0.5, 0.5, 1.0, 1.0]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.floats(0.1, 2), number), min_size=1, max_size=9), st.data())
def test_two_processes_whiten_as_one(pairs, data):
    cut = data.draw(st.integers(0, len(pairs)))
    alone = moments(pairs, lambda local: local)
    for found in together(moments, [pairs[:cut], pairs[cut:]]):
        assert found == pytest.approx(alone, abs=1e-9)
    total = sum(w for w, _ in pairs)
    white = [(w, whitened(v, alone)) for w, v in pairs]
    assert sum(w * v for w, v in white) / total == pytest.approx(0, abs=1e-6)
    if alone[1] > 1e-3:
        assert math.sqrt(sum(w * v * v for w, v in white) / total) == pytest.approx(1, abs=1e-4)


def test_nothing_to_whiten_is_no_division_by_zero():
    assert moments([], lambda local: local) == (0.0, 0.0)
    assert whitened(0.5, (0.5, 0.0)) == 0.0


def test_an_outcome_enters_once_and_at_the_end():
    for episode in canned():
        diagnosis = diagnose(episode)
        config = CreditConfig(scheme="outcome")
        (accuracy,) = {reward.value for reward in outcome(episode, diagnosis, config).values()}
        rewards = per_turn(episode, diagnosis, config)
        assert set(rewards) == set(outcome(episode, diagnosis, config))
        assert [reward.value for _, reward in sorted(rewards.items())] == [0.0] * (len(rewards) - 1) + [accuracy]


def test_the_operation_stays_where_it_was_earned():
    for episode in canned():
        diagnosis = diagnose(episode)
        assert per_turn(episode, diagnosis, CreditConfig()) == operation(episode, diagnosis, CreditConfig())
        blend = CreditConfig(scheme="blend", operation_share=0.25)
        own, given = operation(episode, diagnosis, blend), per_turn(episode, diagnosis, blend)
        expected = {index: 0.25 * reward.value if reward else 0.0 for index, reward in own.items()}
        expected[max(expected)] += 0.75 * sum(answer.correct for answer in episode.answers) / len(episode.answers)
        assert {index: reward.value for index, reward in given.items()} == pytest.approx(expected)


def test_a_turn_without_tokens_holds_no_reward_back():
    (episode, *_) = canned()
    diagnosis, config = diagnose(episode), CreditConfig(scheme="outcome")
    *_, before, last = sorted(per_turn(episode, diagnosis, config))
    episode.turns[last].completion_ids, episode.turns[last].logprobs = [], []
    rewards = per_turn(episode, diagnosis, config)
    assert rewards[last] is None and rewards[before].value == 1.0


def test_rewards_of_ones_own_are_taken_as_they_are():
    (episode, *_) = canned()
    config = CreditConfig(scheme="tests.credit.test_gae:paid")
    assert {reward.value for reward in per_turn(episode, diagnose(episode), config).values() if reward} == {0.5}


def paid(episode, diagnosis, config):
    return {index: 0.5 for index, turn in enumerate(episode.turns) if turn.operation == "write"}


def together(function, parts):
    """``function(part, gather)`` of each part, as processes that wait for each other in every gather."""
    given, barrier = [None] * len(parts), Barrier(len(parts))

    def alone(rank):
        def gather(local):
            given[rank] = local
            barrier.wait()
            whole = [entry for part in given for entry in part]
            barrier.wait()
            return whole

        return function(parts[rank], gather)

    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(alone, range(len(parts))))
