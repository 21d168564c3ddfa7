"""Scores of changes, and tasks that are read from files."""

import json

import pytest

from amemgym_envs import make
from amemgym_envs.sheet.scoring import expected
from amemgym_envs.sheet.workbook import Sheet, Workbook
from amemgym_envs.toolkit import load, save

FINISH = "finish with Action Input: {}"


def share(rows, wanted):
    return expected(wanted).share(Sheet(rows))


def test_sheets_that_are_too_small_or_too_large_lose_by_it():
    wanted = [["a", "b"], ["1", "2"]]
    assert share(wanted, wanted) == share([["a", "b"], ["1.0", 2]], wanted) == 1.0
    assert share([["a", "b"]], wanted) == 0.5 and share([["a", "b"], [1, 2], [3, 4]], wanted) == pytest.approx(4 / 6)
    assert share([], wanted) == 0.0 and share([["a", "b", "c"], [1, 3]], wanted) == pytest.approx(3 / 6)


def test_agentgyms_overlap_does_not():
    wanted = expected([["a", "b"], ["1", "2"]])
    assert wanted.overlap(Sheet([["a", "b"]])) == wanted.overlap(Sheet([["a", "b"], [1, 2], [3, 4]])) == 1.0
    assert wanted.overlap(Sheet([["a", "x"], [1, 2]])) == 0.75 and wanted.overlap(Sheet()) == 0.0


def test_what_the_share_says_of_two_sheets_does_not_depend_on_which_is_expected():
    one, other = [["a", "b", "c"], ["1", "2", "3"]], [["a", "x"], ["1", "2"], ["5", "6"]]
    assert share(one, other) == share(other, one) == pytest.approx(3 / 8)


def test_notes_count_where_they_are_expected():
    wanted = {"values": [["a", "b"]], "notes": {"B1": "n"}}
    assert expected(wanted).share(Sheet([["a", "b"]])) == 0.5
    assert expected(wanted).share(Sheet([["a", "b"]], {(1, 2): "n"})) == 1.0
    assert expected(wanted).share(Sheet([["a", "b"]], {(1, 2): "n", (1, 1): "m"})) == 0.5


@pytest.mark.parametrize("answer", ["text", "[", "[1, 2]", 5, None, [], ["a"], [[["a"]]], {"a": 1}, "[" * 5000])
def test_other_answers_are_no_grids(answer):
    assert expected(answer) is None


def test_a_change_is_scored_at_the_end_and_all_its_cells_must_be_right():
    env = make("Sheet")
    task = next(task for task in env.tasks if env.task_of(task).kind == "set_value")
    env.reset(options={"task": task})
    _, reward, done, _, info = env.step(FINISH)
    assert 0.5 < reward < 1 and done and info["success"] is False
    env.reset(options={"task": task})
    rewards = [env.step(env.expert())[1] for _ in range(3)]
    assert rewards == [0.0] * 3 and env.step(FINISH)[4]["success"] is True


def test_a_deleted_sheet_scores_nothing():
    env = make("Sheet")
    task = next(task for task in env.tasks if env.task_of(task).kind == "sort_rows")
    env.reset(options={"task": task})
    env.step(f'del_sheet with Action Input: {{"name": "{env.task.init["sheet"]}"}}')
    assert env.step(FINISH)[4]["score"] == 0.0


def test_progress_is_the_running_maximum():
    env = make("Sheet", scoring="progress")
    task = next(task for task in env.tasks if env.task_of(task).kind == "set_value")
    env.reset(options={"task": task})
    scores = [env.step(env.expert())[4]["score"] for _ in range(3)]
    assert 0 < scores[0] <= scores[1] < scores[2] == 1.0
    env.step('delete_batch_data with Action Input: {"dimension": "rows", "index_list": [1]}')
    assert env.step(FINISH)[4]["score"] == 1.0


def test_an_episode_leaves_the_tasks_workbook_as_it_was():
    env = make("Sheet")
    env.reset(options={"task": "train-9"})
    before = json.dumps(env.task.init)
    env.step(env.expert())
    env.step('delete_batch_data with Action Input: {"dimension": "rows", "index_list": [1, 2, 3]}')
    env.reset(options={"task": "train-9"})
    assert json.dumps(env.task.init) == before
    env.step(env.expert())
    assert env.step("get_all_values with Action Input: {}")[0] != env.step(FINISH)[0]
    assert env.session.sheet.height == len(env.task.init["sheets"][env.task.init["sheet"]])


def test_tasks_survive_a_file(tmp_path):
    env = make("Sheet")
    path = tmp_path / "sheet.jsonl"
    save(path, [env.task_of(task) for task in env.splits["test"]])
    again = make("Sheet", tasks=path)
    assert [task.answer for task in load(path)] == [env.task_of(task).answer for task in env.splits["test"]]
    for task in again.tasks:
        again.reset(options={"task": task})
        done = False
        while not done:
            *_, done, _, info = again.step(again.expert())
        assert info["success"]


def test_agentgyms_files_are_read_and_workbooks_come_from_elsewhere(tmp_path):
    class Mine:
        def workbook(self, task):
            return Workbook.of({"Sheet1": [["a", 1]]})

    path = tmp_path / "sheet.jsonl"
    about = {"answer": json.dumps([["a", "2"]]), "init_config": None, "goal_type": 1, "tool": "sheet"}
    path.write_text(json.dumps({"id": 0, "goal": "Set B1 to 2.", "subgoals": "set it", "additional_info": about}))
    env = make("Sheet", tasks=path, world=Mine(), scoring="progress")
    env.reset(options={"task": "0"})
    assert env.step('open_sheet with Action Input: {"name": "Sheet1"}')[4]["score"] == 0.5
    assert env.step('update_cell with Action Input: {"position": "B1", "value": 2}')[4]["score"] == 1.0
    assert env.step(FINISH)[4]["success"]


def test_the_tasks_stay_what_they_are():
    first, last = (make("Sheet").task_of(task) for task in ("train-0", "test-22"))
    assert first.goal == "In the sheet 'Courses': what is the Fee of the course 'history'? Answer with a number."
    assert last.goal.startswith("In the sheet 'Courses': rename the column Fee to Measure, and add a row below the table with")
    assert last.answer[0] == ["Course", "Term", "Measure", "Students", "Lessons"]
