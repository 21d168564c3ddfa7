"""The gate's arithmetic, and what the loop does with its decision."""

import json
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym_train.config.environments import EnvironmentGate
from amemgym_train.config.evolution import GateConfig
from amemgym_train.evaluation.intervals import interval
from amemgym_train.evolution.gate import judge

scores = st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=1, max_size=12)


def of(values):
    return {f"user-{i:02d}": value for i, value in enumerate(values)}


@given(scores)
def test_the_difference_is_that_of_the_means_and_lies_between_the_extremes(pairs):
    new, old = zip(*pairs, strict=True)
    found = judge(of(new), of(old), GateConfig(), 0).everybody
    assert found.difference == pytest.approx(fmean(new) - fmean(old), abs=1e-5)
    assert found.users == len(pairs) and 0 <= found.share <= 1
    assert (found.low is None) == (len(pairs) == 1)
    if found.low is not None:
        differences = [a - b for a, b in pairs]
        assert (found.low, found.high) == pytest.approx(interval(differences), abs=1e-6)
        assert min(differences) - 1e-6 <= found.low <= found.high <= max(differences) + 1e-6


@given(scores, st.randoms(use_true_random=False))
def test_the_order_of_users_does_not_matter(pairs, draw):
    new, old = map(of, zip(*pairs, strict=True))
    names = list(new)
    draw.shuffle(names)
    assert judge({name: new[name] for name in names}, old, GateConfig(), 0) == judge(new, old, GateConfig(), 0)


def test_equal_scores_pass_unless_more_is_asked_for():
    same = of([0.1, 0.7, 0.3])
    assert judge(same, same, GateConfig(confidence=0.99), 2).to_dict() | {"low": 0, "high": 0} == {
        **{"decision": "accept", "difference": 0, "low": 0, "high": 0, "share": 1, "users": 3, "min_delta": 0},
        **{"confidence": 0.99, "rejections": 0, "passed": True},
    }
    assert judge(same, same, GateConfig(min_delta=0.01), 0).decision == "reject"


def test_a_gain_of_one_user_is_not_sure_and_a_gain_of_all_is():
    old = of([0.2] * 8)
    lucky, steady = of([0.9] + [0.15] * 7), of([0.21] * 8)
    assert judge(lucky, old, GateConfig(), 0).passed and judge(steady, old, GateConfig(), 0).passed
    sure = GateConfig(confidence=0.9)
    assert not judge(lucky, old, sure, 0).passed and judge(steady, old, sure, 0).passed


def test_the_share_is_a_probability_over_users_drawn_anew():
    """Two users, one gains and one loses more: the mean is a gain only if the first is drawn twice."""
    found = judge(of([1.0, 0.0]), of([0.0, 2.0]), GateConfig(), 0)
    assert found.everybody.share == pytest.approx(0.25, abs=0.02) and found.decision == "reject"


def test_users_without_a_score_take_no_part():
    new, old = of([0.5, None, 0.4, 0.3]), of([0.1, 0.9, None, 0.2])
    assert judge(new, old | {"more": 1.0}, GateConfig(), 0).everybody.users == 2
    with pytest.raises(ValueError, match="none of 1 users"):
        judge({"a": None}, {"a": 1.0}, GateConfig(), 0)


def test_patience_counts_rejections_in_a_row():
    worse, better, config = of([0.0, 0.1]), of([0.5, 0.6]), GateConfig(patience=2)
    first = judge(worse, better, config, 0)
    assert (first.decision, first.rejections) == ("reject", 1)
    second = judge(worse, better, config, first.rejections)
    assert (second.decision, second.rejections, second.passed) == ("stop", 2, False)
    assert judge(better, worse, config, first.rejections).rejections == 0


def test_what_all_gain_does_not_pay_for_what_one_environment_loses():
    new = {"short.a": 0.9, "short.b": 0.8, "long.a": 0.1, "long.b": 0.2}
    old = {"short.a": 0.2, "short.b": 0.2, "long.a": 0.3, "long.b": 0.3}
    anything = {"short": EnvironmentGate(), "long": EnvironmentGate()}
    passed = judge(new, old, GateConfig(), 0, anything)
    assert passed.decision == "accept" and passed.environments["long"].difference == pytest.approx(-0.15)
    gated = judge(new, old, GateConfig(patience=1), 0, anything | {"long": EnvironmentGate(min_delta=-0.1)})
    assert gated.decision == "stop" and gated.everybody == passed.everybody and not gated.environments["long"].passed
    mild = judge(new, old, GateConfig(), 0, anything | {"long": EnvironmentGate(min_delta=-0.15, confidence=0)})
    assert mild.decision == "accept"
    told = gated.to_dict()
    assert told["passed"] is False and told["difference"] == pytest.approx(0.25)
    assert told["environments"]["short"] == gated.environments["short"].__dict__


def test_users_of_an_environment_are_told_by_the_whole_name():
    """"long" is the beginning of "long-quiet", and of no user of it."""
    new, old = {"long.a": 0.5, "long-quiet.a": 0.1}, {"long.a": 0.4, "long-quiet.a": 0.9}
    found = judge(new, old, GateConfig(), 0, {"long": EnvironmentGate(), "long-quiet": EnvironmentGate()})
    assert {name: (one.users, one.difference) for name, one in found.environments.items()} == {
        "long": (1, pytest.approx(0.1)),
        "long-quiet": (1, pytest.approx(-0.8)),
    }


def test_a_real_gate_says_what_its_users_say(undisturbed):
    for iteration in (1, 2):
        here = undisturbed / "iterations" / f"{iteration:03d}"
        verdict = json.loads((here / "gate.json").read_text())
        best = undisturbed / "iterations" / f"{verdict['best_iteration_before']:03d}"
        new, old = (json.loads((folder / "eval_users.json").read_text()) for folder in (here, best))
        assert verdict["difference"] == pytest.approx(np.mean([new[user] - old[user] for user in new]), abs=1e-6)
        assert verdict["score"] == pytest.approx(fmean(new.values()))
        assert verdict["score"] == json.loads((here / "eval.json").read_text())["agent"]["memory_score"]
