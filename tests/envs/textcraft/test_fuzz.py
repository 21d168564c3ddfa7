"""No action whatever breaks an episode."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_envs import make

ENV = make("TextCraft", max_steps=10**6)
PIECES = ["get", "craft", "inventory", "using", "1", "0", "4", "-1", "9" * 5000, "oak logs", "oak planks", "planks", "stick", ",",
          " ", "\n", "\x00", "\ud800", "é", "٣", "𝟛", "minecraft:", "Action:", "{}", "{0.__class__}", "%s", "'; DROP TABLE x; --",
          "__import__('os')", "\\", "(a+)+$", "None"]  # fmt: skip


def undamaged():
    """The inventory holds known items, none of them owed, and the task can still be done."""
    assert all(name in ENV.book.items and count >= 0 for name, count in ENV.inventory.items())
    for _ in range(60):
        *_, done, _, info = ENV.step(ENV.expert())
        if done:
            return info["success"]
    return False


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.text(st.characters(codec=None, categories=None)), st.lists(st.sampled_from(PIECES)).map(" ".join)),
                min_size=1, max_size=12))  # fmt: skip
def test_any_text_is_answered(actions):
    ENV.reset(options={"task": "lectern"})
    for action in actions:
        observation, reward, done, *_ = ENV.step(action)
        assert observation.encode() and reward == 0.0 and not done
    assert undamaged()


@pytest.mark.parametrize(
    "action",
    ["x" * 10**6, "craft " * 5000, "craft a using " * 2000, "get 1 " + "coal" * 5000, "action:" * 5000, " " * 10**5 + "x",
     "craft x using " + "1 coal," * 4000, "craft x using " + ", ".join(["0 coal"] * 3000), "get " + "9" * 10**4 + " coal",
     json.dumps([[[[{"a": "b" * 100}]]]] * 100), "[" * 20_000],
)  # fmt: skip
def test_long_actions_get_short_answers(action):
    ENV.reset(options={"task": "lectern"})
    assert len(ENV.step("get 1 coal")[0]) < 400 and len(ENV.step(action)[0]) < 400
    assert undamaged()


def test_blindly_drawn_actions_do_no_damage():
    rng = np.random.default_rng(0)
    for task in ENV.tasks[::6]:
        ENV.reset(options={"task": task})
        if not any(ENV.step(ENV.random_action(rng))[2] for _ in range(50)):
            assert undamaged()
