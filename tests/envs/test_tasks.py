"""What every environment with a goal shares, on one that counts to three."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs import Outcome, TaskEnv, make
from amemgym_envs.core import EnvCard
from amemgym_envs.registry import CLASSES, cards, class_of, full_name, lacking


class Counting(TaskEnv):
    card = EnvCard("Counting-v0", "Count.", "three", {"train": 2, "test": 1}, (0.0, 1.0), "three are counted", 5, "one | two")
    splits = {"train": ["a", "b"], "test": ["c"]}
    instruction = "Say one until there are three."

    def begin(self, task):
        self.count = 0
        return f"{task}: {self.np_random.integers(1000)}"

    def act(self, action):
        self.count += action == "one"
        return Outcome(f"{self.count}", self.count / 3, self.count == 3)

    def available(self):
        return ["one", "two"]

    def expert(self):
        return "one"


def played(env, actions, task="a", seed=1):
    return [env.reset(seed=seed, options={"task": task}), *map(env.step, actions)]


def test_gymnasium_has_nothing_to_object():
    check_env(Counting(), skip_render_check=True)


def test_rewards_sum_up_to_the_score_and_the_end_says_whether_it_is_a_success():
    steps = played(Counting(), ["one", "two", "one", "one"])
    assert sum(step[1] for step in steps[1:]) == steps[-1][4]["score"] == 1.0
    assert [step[2:4] for step in steps[1:]] == [(False, False)] * 3 + [(True, False)]
    assert [step[4]["success"] for step in steps[1:]] == [None, None, None, True]
    assert "available_actions" in steps[0][1] and "available_actions" not in steps[-1][4]


@pytest.mark.parametrize(("options", "cap"), [({}, 5), ({"max_steps": 2}, 2)])
def test_out_of_steps_is_no_success(options, cap):
    env = Counting(**options)
    steps = played(env, ["two"] * cap)
    assert steps[-1][2:4] == (False, True) and steps[-1][4]["success"] is False and steps[-1][4]["steps"] == cap
    with pytest.raises(RuntimeError, match="call reset first"):
        env.step("one")


def test_task_and_seed_fix_an_episode():
    env = Counting()
    assert played(env, ["one"] * 3) == played(Counting(), ["one"] * 3)
    assert env.reset(seed=1, options={"task": "b"})[0] != env.reset(seed=2, options={"task": "b"})[0]
    with pytest.raises(ValueError, match="task is 'd', expected one of a, b, c"):
        env.reset(options={"task": "d"})


def test_an_action_is_looked_at_as_far_as_any_grammar_goes():
    env = Counting()
    seen = []
    env.act = lambda action: seen.append(len(action)) or Outcome("", 0.0)
    played(env, ["x" * 10**6])
    assert seen == [20_000]


def test_numbers_of_agentgym_stand_for_tasks():
    env = Counting()
    assert [env.item(number) for number in range(3)] == ["a", "b", "c"] == env.tasks
    with pytest.raises(ValueError, match="task number 3, expected 0 to 2"):
        env.item(3)
    assert env.random_action(np.random.default_rng(0)) in ("one", "two")


@pytest.mark.parametrize("name", CLASSES)
def test_every_environment_is_found_by_its_names(name):
    short = name.rpartition("-v")[0]
    assert full_name(name) == full_name(short) == full_name(short.lower()) == name
    assert class_of(name).card.id == name


def test_an_unknown_environment_is_told_with_those_that_there_are():
    with pytest.raises(ValueError, match="no environment 'chess'; there are AMemGym"):
        make("chess")


def test_what_a_card_lacks_is_what_cannot_be_imported():
    card = next(iter(cards()))
    other = EnvCard("X", "", "", {}, (0, 1), "", 1, "", requires=("numpy", "no_such"))
    assert lacking(card) == [] and lacking(other) == ["no_such"]
