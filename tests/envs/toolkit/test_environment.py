import json

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs.toolkit import Call, Parameter, Tool, ToolTask, catalogue, load, save, write
from amemgym_envs.toolkit.tools import describe


def play(env, actions, task="train-0"):
    return [env.reset(seed=1, options={"task": task}), *map(env.step, actions)]


def call(name, **arguments):
    return write(Call(name, arguments))


def test_gymnasium_has_nothing_to_object(library):
    check_env(library(), skip_render_check=True)


def test_the_expert_succeeds_however_often_it_is_asked(library):
    env = library()
    for task in env.tasks:
        observation, info = env.reset(options={"task": task})
        assert observation.startswith("Now new trial starts.\nYou should perform actions to accomplish the goal: How many copies")
        done = False
        while not done:
            assert env.expert() == env.expert()
            observation, _, done, truncated, info = env.step(env.expert())
            assert not truncated
        assert info["success"] and info["score"] == 1


def test_observations_have_the_form_of_agentgym(library):
    _, step = play(library(), [call("find_book", title="Dune")])
    assert step[0] == "Observation: 1\nGive me one action."


@pytest.mark.parametrize(("action", "told"), [
    ("what now", 'ERROR | format: no tool is called. Write one line of the form name with Action Input: {"parameter": value}'),
    (call("read_book"),
     "ERROR | there is no tool 'read_book'; there are find_book, get_copies, burn_book, check_valid_actions, finish"),
    (call("find_book"), "ERROR | find_book lacks the parameter 'title'; it takes title (string): the title"),
    (call("find_book", title=3), "ERROR | find_book: parameter 'title' is the integer '3', expected: string"),
    (call("find_book", title="x", y=1), "ERROR | find_book has no parameter 'y'; it takes title (string): the title"),
    (call("get_copies", book_id=True), "ERROR | get_copies: parameter 'book_id' is the boolean 'True', expected: integer"),
    (call("find_book", title="Odes"), "ERROR | no book has the title 'Odes'"),
    (call("finish"), "ERROR | finish lacks the parameter 'answer'"),
    (call("check_valid_actions"), "You can use find_book, get_copies, burn_book, check_valid_actions, finish"),
])
def test_what_cannot_be_done_is_told_with_what_can(library, action, told):
    _, step = play(library(), [action])
    assert told in step[0] and step[1] == 0 and not step[2]


def test_an_answer_counts_only_in_a_world_that_is_intact(library):
    right, wrong = call("finish", answer=3), call("finish", answer=4)
    assert play(library(), [right])[-1][4]["success"] is True
    assert play(library(), [wrong])[-1][4]["success"] is False
    assert play(library(), [call("burn_book", book_id=2), right])[-1][4]["success"] is False
    assert play(library(), [call("burn_book", book_id=2, quietly=True)])[-1][0].startswith("Observation: burnt")


def test_each_episode_and_each_environment_has_a_world_of_its_own(library):
    one, other = library(), library()
    play(one, [call("burn_book", book_id=1)])
    assert play(other, [call("get_copies", book_id=1)])[-1][0] == play(one, [call("get_copies", book_id=1)])[-1][0]
    assert one.splits is library().splits


def test_progress_is_the_best_share_of_subgoals_that_results_met(library, tmp_path):
    task = ToolTask("x", "Both.", 0, subgoals=(3, [2, 1]))
    save(tmp_path / "tasks.jsonl", [task])
    env = library(tasks=tmp_path / "tasks.jsonl", scoring="progress")
    steps = play(env, [call("get_copies", book_id=n) for n in (1, 2)] + [call("finish", answer=[1, 2])], task="0")
    assert [step[1] for step in steps[1:]] == [0.5, 0, 0.5] and steps[-1][4]["success"]
    steps = play(env, [call("get_copies", book_id=1), call("burn_book", book_id=1), call("finish", answer=[1, 2])], task="0")
    assert steps[-1][4]["score"] == 0 and not steps[-1][4]["success"]


def test_files_of_tasks_are_read_as_they_were_written(library, tmp_path):
    tasks = [task for split in library.make_tasks().values() for task in split]
    save(tmp_path / "tasks.jsonl", tasks)
    env = library(tasks=str(tmp_path / "tasks.jsonl"))
    assert env.tasks == ["0", "1", "2"] and env.item(2) == "2" and env.card.splits == {"test": 3}
    assert [(task.goal, task.answer, task.gold, task.kind) for task in load(tmp_path / "tasks.jsonl")] == [
        (task.goal, task.answer, task.gold, task.kind) for task in tasks]
    env.reset(options={"task": "1"})
    for _ in range(3):
        *_, info = env.step(env.expert())
    assert info["success"]


def test_files_of_agentgym_say_no_gold(library, tmp_path):
    record = {"id": 7, "goal": "g", "subgoals": ["a"], "difficulty": "easy", "additional_info": {
        "answer": "a", "init_config": {"current_date": "2023-01-01"}, "goal_type": 0, "tool": "library"}}
    (tmp_path / "f.jsonl").write_text(json.dumps(record) + "\n\n")
    env = library(tasks=tmp_path / "f.jsonl")
    env.reset(options={"task": "0"})
    assert env.task.init == {"current_date": "2023-01-01"} and env.task.milestones == ("a",)
    with pytest.raises(NotImplementedError, match="task 0 says no calls"):
        env.expert()


@pytest.mark.parametrize(("line", "reason"), [
    ("{", "Expecting"), ("3", "expected an object"), ('{"goal": "g"}', "'additional_info' is missing"), ("", "Expecting"),
    ('{"goal": 3, "additional_info": {"answer": 1}}', "goal must be"),
])
def test_a_broken_line_is_told_with_file_and_number(tmp_path, line, reason):
    good = '{"goal": "g", "additional_info": {"answer": 1}}'
    (tmp_path / "f.jsonl").write_text(f"{good}\n{line}\n{good}\n")
    with pytest.raises(ValueError, match=f"f.jsonl, line 2: no task of a tool environment: .*{reason}"):
        load(tmp_path / "f.jsonl")


def test_a_world_is_an_object_or_a_known_name_and_needs_tasks(library, tmp_path):
    save(tmp_path / "f.jsonl", [ToolTask("x", "g", 0)])
    with pytest.raises(ValueError, match="give tasks=FILE with world"):
        library(world="empty")
    with pytest.raises(ValueError, match="world is 'os:system', expected an object or one of empty"):
        library(world="os:system", tasks=tmp_path / "f.jsonl")
    with pytest.raises(ValueError, match="scoring is 'best', expected one of answer, progress"):
        library(scoring="best")
    _, step = play(library(world="empty", tasks=tmp_path / "f.jsonl"), [call("find_book", title="Dune")], task="0")
    assert "no book" in step[0]


def test_the_instruction_holds_all_that_is_declared(library):
    instruction = library().instruction
    parts = ["You serve in a library.", "Look numbers up.", "quietly (boolean, may be left out): unseen", *library().toolbox]
    assert [part for part in parts if part not in instruction] == []
    assert instruction.count("book_id (integer): the number of the book") == 1


def test_parameters_of_one_name_and_different_meanings_are_told_apart(library):
    one, other = (Tool(name, "d", (Parameter("id", "string", f"of a {name}"),), "r", len) for name in ("film", "person"))
    text = describe([one, other])
    assert all(part in text for part in (
        "film(id): d Returns: r.", "id (string): of a film [film]", "id (string): of a person [person]"))


def test_declarations_are_checked(library):
    with pytest.raises(ValueError, match="type 'str', expected one of string"):
        Parameter("x", "str", "")
    with pytest.raises(ValueError, match="two tools of one name"):
        catalogue(*library.tools.values(), library.tools["find_book"])


def test_random_actions_and_noise_do_no_harm(library):
    env, rng = library(), np.random.default_rng(0)
    alphabet = list("{}[]'\":,\\ \n\0é𝄞ax1.-") + ["with Action Input:", "find_book", "finish", "Action:"]
    told = []
    for _ in range(3_000):
        if not env._running:
            env.reset(seed=int(rng.integers(100)))
        drawn = env.random_action(rng) if rng.random() < 0.3 else "".join(rng.choice(alphabet, size=int(rng.integers(30))))
        observation, *_ = env.step(drawn)
        told.append(observation.startswith("Observation: ERROR"))
    assert 0.2 < np.mean(told) < 0.95
