"""What holds in every environment of tools over a generated world."""

import json

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs import make
from amemgym_envs.toolkit import Call, write

NAMES = ["Movie", "Academia", "Sheet"]
HOSTILE = ["", " ", "\x00\x1b[31m", "é٣𝟛\ud800", "x" * 10_000, "[" * 9_000, "{" * 9_000,
           "__import__('os').system('true')", "'; DROP TABLE x",
           "finish", "finish with Action Input:", "finish with Action Input: {", "Action: finish with Action Input: []",
           "%s{0.__class__}",
           json.dumps({"name": "finish", "arguments": [[[[]]]]}), "check_valid_actions with Action Input: {}"]  # fmt: skip
VALUES = [None, True, -1, 0, 10**17, 1.5, -1e300, "", "A1", "\x00", "x" * 5000, "(a+)+$", "=SUM(A1:A1)", [], [[]],
          [["1"] * 60] * 60,         [None, {}], {"a": {"b": []}}, "../../etc/passwd", "\ud800"]  # fmt: skip


@pytest.fixture(scope="module", params=NAMES)
def env(request):
    return make(request.param)


def played(env, task, actions, seed=0):
    return [env.reset(seed=seed, options={"task": task}), *map(env.step, actions)]


def finished(env):
    """What the expert, from here on, ends with."""
    while True:
        observation, _, done, truncated, info = env.step(env.expert())
        if done or truncated:
            return observation, info


def test_gymnasium_has_nothing_to_object(env):
    check_env(env, skip_render_check=True)


def test_splits_are_as_the_card_says_and_ask_different_things(env):
    assert {split: len(tasks) for split, tasks in env.splits.items()} == env.card.splits
    assert env.splits is env.splits and len(env.tasks) == len(set(env.tasks)) >= 200
    goals = [(env.task_of(task).goal, json.dumps(env.task_of(task).init)) for task in env.tasks]
    assert len(set(goals)) == len(goals)


def test_every_split_has_every_kind(env):
    kinds = {split: {env.task_of(task).kind for task in tasks} for split, tasks in env.splits.items()}
    assert kinds["train"] == kinds["validation"] == kinds["test"]


def test_the_expert_solves_every_task_in_time_and_without_an_error(env):
    for task in env.tasks:
        env.reset(options={"task": task})
        *_, info = finished(env)
        assert info["success"] and info["score"] == 1.0, (task, env.task)
        assert info["steps"] == len(env.task.gold) + 1 <= env.card.step_cap
        assert not any("ERROR" in str(result) for result in env.results)


def test_task_and_seed_fix_an_episode(env):
    rng = np.random.default_rng(5)
    for task in env.tasks[::40]:
        actions = [write(call) for call in env.task_of(task).gold]
        actions += [action for action in (env.random_action(rng) for _ in range(5)) if not action.startswith("finish")]
        actions = actions[:env.card.step_cap]
        assert played(env, task, actions) == played(make(env.card.id), task, actions)


def test_no_action_raises_or_keeps_the_task_from_being_solved(env):
    long = make(env.card.id, max_steps=10**6)
    rng, tools = np.random.default_rng(6), [tool for tool in long.toolbox.values() if tool.name != "finish"]
    for task in env.tasks[::110]:
        long.reset(options={"task": task})
        for action in HOSTILE[:-1]:
            observation, reward, done, *_ = long.step(action)
            assert observation.startswith("Observation: ERROR | ") and observation.encode() and (reward, done) == (0.0, False)
            assert len(observation) < 2000
        for _ in range(300):
            tool = tools[rng.integers(len(tools))]
            names = [parameter.name for parameter in tool.parameters] + ["surplus"] * int(rng.integers(12) == 0)
            arguments = {name: VALUES[rng.integers(len(VALUES))] for name in names}
            assert long.step(write(Call(tool.name, arguments)))[0].encode()
        played_on = make(env.card.id)  # nor does what one episode has done reach another
        played_on.reset(options={"task": task})
        assert finished(played_on)[1]["success"]


def test_blindly_drawn_actions_are_of_the_grammar_and_hardly_solve_anything(env):
    rng, scores, wrong, made = np.random.default_rng(7), [], 0, 0
    for task in env.tasks:
        env.reset(options={"task": task})
        done = truncated = False
        while not (done or truncated):
            observation, _, done, truncated, info = env.step(env.random_action(rng))
            made, wrong = made + 1, wrong + observation.startswith("Observation: ERROR | format")
        scores.append(info["success"])
    assert wrong == 0 and np.mean(scores) < 0.02
