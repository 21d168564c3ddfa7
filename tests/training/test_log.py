"""The log that is saved is the same text however often its training was interrupted."""

import json

import pytest

from amemgym_train.training.log import mean_loss, steady

STEPS = [
    {"step": step, "loss": float(step), "reward": step / 10, "entropy": 1.0, "step_time": step * 0.7, "num_tokens": 9.0}
    for step in range(1, 6)
]
LOG = [STEPS[0], {"step": 1, "eval_runtime": 1.0}, *STEPS[1:], {"train_runtime": 3.0, "train_loss": 2.0}]


def test_a_log_read_back_from_a_checkpoint_is_saved_as_the_same_text():
    """A trainer's checkpoint has sorted keys, and a resumed process counts seconds and tokens from its own start."""
    read_back = [json.loads(json.dumps(entry | {"step_time": 0.1}, sort_keys=True)) for entry in LOG[:3]]
    assert json.dumps(steady(read_back + LOG[3:])) == json.dumps(steady(LOG))
    assert [set(entry) for entry in steady(LOG)] == [{"step", "loss", "reward", "entropy"}] * 5


def test_of_several_steps_the_last_stands_with_their_mean_loss():
    found = steady(LOG, 2)
    assert [(entry["step"], entry["loss"]) for entry in found] == [(2, 1.5), (4, 3.5), (5, 5.0)]
    assert [entry["reward"] for entry in found] == [0.2, 0.4, 0.5]
    assert mean_loss(LOG) == pytest.approx(3.0)
