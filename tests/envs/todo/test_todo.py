import json
from collections import Counter
from copy import deepcopy
from datetime import date

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs import make
from amemgym_envs.todo.account import Account
from amemgym_envs.todo.accounts import draw_account
from amemgym_envs.todo.goals import DONE, make_tasks
from amemgym_envs.todo.tools import TOOLS
from amemgym_envs.toolkit import Call, ToolError, save, write

AGENTGYM = """get_user_current_date get_user_current_location get_projects update_project get_tasks get_task_description
get_task_duration complete_task update_task delete_task check_valid_actions finish""".split()


@pytest.fixture(scope="module")
def env():
    return make("Todo")


@pytest.fixture
def record():
    return draw_account(np.random.default_rng(5), date(2024, 5, 6))


def call(name, /, **arguments):
    return write(Call(name, arguments))


def solve(env, task, before=()):
    """Play ``before``, then the solution; the last info."""
    env.reset(seed=0, options={"task": task})
    for action in before:
        env.step(action)
    done = truncated = False
    while not (done or truncated):
        observation, _, done, truncated, info = env.step(env.expert())
        assert "ERROR" not in observation
    return info


def test_gymnasium_has_nothing_to_object(env):
    check_env(make("Todo"), skip_render_check=True)
    assert set(env.toolbox) == set(AGENTGYM) and all(name in env.instruction for name in AGENTGYM)


def test_splits_are_stable_disjoint_and_of_many_kinds(env):
    assert {split: len(tasks) for split, tasks in env.splits.items()} == env.card.splits
    assert len(set(env.tasks)) == 308 and env.splits is make("Todo").splits and make_tasks() == env.make_tasks()
    tasks = [env.task_of(task) for task in env.tasks]
    assert len({json.dumps(task.init["account"]) for task in tasks}) == 308
    assert set(Counter(task.kind for task in tasks).values()) == {14}
    assert {task.difficulty for task in tasks} == {"easy", "medium", "hard"}


def test_the_expert_succeeds_in_every_task(env):
    assert [task for task in env.tasks if not solve(env, task)["success"]] == []


def test_doing_nothing_fails_whatever_is_answered(env):
    for task in env.tasks:
        requested = env.task_of(task).answer == DONE
        for answer in ("done", 0, []):
            env.reset(options={"task": task})
            assert env.step(call("finish", answer=answer))[4]["success"] is False
        assert requested == any(made.tool in ("complete_task", "update_task", "delete_task", "update_project")
                                for made in env.task_of(task).gold)


def test_whatever_else_is_changed_fails_the_task_unless_it_is_undone(env):
    for task in env.splits["validation"][:22]:
        account = env.task_of(task).init["account"]
        used = {made.arguments.get("task_id") for made in env.task_of(task).gold}
        other = next(one["id"] for one in account["tasks"] if one["id"] not in used)
        project = account["projects"][0]
        for damage in (call("delete_task", task_id=other), call("complete_task", task_id=other),
                       call("update_task", task_id=other, due_date="2031-01-01")):
            assert solve(env, task, [damage])["success"] is False
        undone = [call("update_project", project_id=project["id"], is_favorite=wish)
                  for wish in (not project["is_favorite"], project["is_favorite"])]
        assert solve(env, task, undone)["success"] is True


def test_the_expert_goes_on_where_its_calls_have_been_made_before():
    env = make("Todo", max_steps=40)
    for task in env.tasks[:22]:
        env.reset(options={"task": task})
        for made in env.task_of(task).gold[::-1]:
            env.step(write(made))
        done = truncated = False
        while not (done or truncated):
            *_, done, truncated, info = env.step(env.expert())
        assert info["success"]


def test_episodes_and_environments_share_nothing(env):
    before = deepcopy(env.task_of("train-0").init)
    one, other = make("Todo"), make("Todo")
    for each in (one, other):
        each.reset(options={"task": "train-0"})
    listed = other.step(call("get_projects"))[0]
    for project in before["account"]["projects"]:
        one.step(call("update_project", project_id=project["id"], is_favorite=not project["is_favorite"]))
    assert other.step(call("get_projects"))[0] == listed != one.step(call("get_projects"))[0]
    one.reset(options={"task": "train-0"})
    assert one.step(call("get_projects"))[0] == listed and env.task_of("train-0").init == before


def test_progress_counts_results_but_not_in_a_damaged_account():
    env = make("Todo", scoring="progress")
    asked = [task for task in env.tasks if env.task_of(task).kind == "favourites"]
    damage = call("complete_task", task_id=env.task_of(asked[0]).init["account"]["tasks"][0]["id"])
    assert solve(env, asked[0])["success"] and solve(env, asked[0], [damage])["score"] == 0
    env.reset(options={"task": asked[0]})
    assert env.step(call("finish", answer="x"))[4]["score"] == 0


def test_an_account_does_what_it_is_told(record):
    given = deepcopy(record)
    account, task = Account(record), record["tasks"][0]
    project = task["project_id"]
    start, count = account.state(), len(account.tasks(project))
    account.postpone(task["id"], "2030-01-02")
    assert account.task(task["id"])["due_date"] == "2030-01-02" and account.state() != start
    account.complete(task["id"])
    assert len(account.tasks(project)) == count - 1
    with pytest.raises(ToolError, match="no open task"):
        account.complete(task["id"])
    account.delete(record["tasks"][1]["id"])
    account.favour(project, True)
    assert next(one for one in account.projects() if one["id"] == project)["is_favorite"]
    assert record == given and Account(record).state() == start


def test_what_an_account_hands_out_is_a_copy(record):
    account = Account(record)
    start = account.state()
    account.projects()[0]["name"] = account.tasks(record["projects"][0]["id"])[0]["content"] = "x"
    account.state()[1].clear()
    assert account.state() == start


@pytest.mark.parametrize(("name", "arguments", "told"), [
    ("get_tasks", {"project_id": "1"}, "no project '1'; get_projects tells"),
    ("complete_task", {"task_id": "1"}, "no open task '1'"),
    ("delete_task", {"task_id": 1}, "'task_id' is the integer '1', expected: string"),
    ("update_task", {"task_id": "1", "due_date": "soon"}, "expected: date written YYYY-MM-DD"),
    ("update_project", {"project_id": "1", "is_favorite": "True"}, "expected: boolean"),
])
def test_what_cannot_be_done_is_told(env, name, arguments, told):
    env.reset(options={"task": "train-0"})
    assert told in env.step(call(name, **arguments))[0]


def test_files_of_tasks_are_solved_and_broken_ones_refused(env, tmp_path):
    path = tmp_path / "tasks.jsonl"
    tasks = [env.task_of(task) for task in env.splits["test"][:22]]
    save(path, tasks)
    loaded = make("Todo", tasks=path)
    assert all(solve(loaded, task)["success"] for task in loaded.tasks)
    custom = make("Todo", tasks=path, world=lambda init: Account(init["account"]))
    assert solve(custom, "5")["success"]
    line = json.loads(path.read_text().split("\n")[0])
    for change, told in (({"init_config": {}}, "task 0 of .*tasks.jsonl: init_config has no account"),
                         ({"init_config": {"account": {"projects": []}}}, "task 0 of .*: no account: 'tasks' is missing"),
                         ({"answer": {}, "gold": []}, "the answer is the state of an account")):
        path.write_text(json.dumps(line | {"additional_info": line["additional_info"] | change}))
        with pytest.raises(ValueError, match=told):
            make("Todo", tasks=path)


def test_a_task_in_no_project_is_no_account(record):
    record["tasks"][3]["project_id"] = "0"
    with pytest.raises(ValueError, match=f"task {record['tasks'][3]['id']} is in project 0, which there is not"):
        Account(record)


def test_task_and_seed_fix_an_episode(env):
    def episode():
        rng = np.random.default_rng(1)
        return [env.reset(seed=3, options={"task": "test-7"}), *(env.step(env.random_action(rng)) for _ in range(4))]
    assert str(episode()) == str(episode())


def test_noise_and_random_actions_do_no_harm(env):
    rng, done = np.random.default_rng(0), True
    for _ in range(2_000):
        if done:
            env.reset(seed=int(rng.integers(1000)))
            before = env.session.account.state()
        action = env.random_action(rng)
        if rng.random() < 0.5:
            cut = int(rng.integers(len(action)))
            action = action[:cut] + chr(int(rng.integers(1, 0xD7FF))) + action[cut + int(rng.integers(3)):]
        observation, _, ended, truncated, _ = env.step(action)
        done = ended or truncated
        assert observation.startswith("Observation: ") and env.session.account.state() == before  # no id was guessed


@pytest.mark.parametrize("value", [10**17, 1e308, "9" * 5_000, None, [[]], {}, "2023-02-30", "'; DROP", "\0"])
def test_odd_arguments_are_answered(env, value):
    rng = np.random.default_rng(0)
    for tool in TOOLS.values():
        for parameter in tool.parameters:
            env.reset(seed=1)
            assert env.step(call(tool.name, **tool.draw(rng) | {parameter.name: value}))[0].startswith("Observation: ERROR")
