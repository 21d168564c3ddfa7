import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.errors import UserError
from amemgym_train.tracking.metrics import MetricsFile, read_metrics


def log(path, points):
    with MetricsFile(path) as file:
        for stage, step, loss in points:
            file.append({"loss": loss}, step, stage)


def content(path):
    return [(line["stage"], line["step"], line["loss"]) for line in read_metrics(path)]


def test_lines_are_read_back_in_order(tmp_path):
    points = [("train", 1, 0.5), ("train", 2, 0.25), ("evaluate", 1, 1.0)]
    log(tmp_path / "m.jsonl", points)
    assert content(tmp_path / "m.jsonl") == points
    assert all(line["time"] > 0 for line in read_metrics(tmp_path / "m.jsonl"))


@settings(max_examples=50, deadline=None, derandomize=True)  # each example waits for the disk
@given(killed_after=st.integers(0, 6), torn=st.booleans(), resumed_from=st.integers(0, 6))
def test_a_killed_and_resumed_run_reads_like_an_undisturbed_one(tmp_path_factory, killed_after, torn, resumed_from):
    points = [(stage, step, step / 8) for stage in ("a", "b") for step in range(3)]
    path = tmp_path_factory.mktemp("run") / "m.jsonl"
    log(path, points[:killed_after])
    if torn:
        with path.open("a") as file:
            file.write('{"stage": "b", "st')
    log(path, points[min(resumed_from, killed_after) :])
    assert sorted(content(path)) == points


def test_a_second_line_of_one_step_is_kept(tmp_path):
    path = tmp_path / "m.jsonl"
    log(path, [("train", 1, 1.0)])
    log(path, [("train", 1, 2.0), ("train", 1, 3.0)])
    assert content(path) == [("train", 1, 2.0), ("train", 1, 3.0)]


def test_the_last_steps_of_earlier_processes_are_known(tmp_path):
    path = tmp_path / "m.jsonl"
    log(path, [("train", 1, 1.0), ("train", 5, 1.0), ("evaluate", 0, 1.0)])
    with MetricsFile(path) as file:
        assert file.earlier == {"train": 5, "evaluate": 0}
        file.append({}, 2, "train")
        assert file.earlier["train"] == 5


def test_numbers_of_any_kind_become_json(tmp_path):
    import numpy as np

    with MetricsFile(tmp_path / "m.jsonl") as file:
        file.append({"a": np.float32(0.5), "b": float("nan"), "c": np.int64(3), "d": float("inf"), "e": "text"}, 0, "")
    (line,) = read_metrics(tmp_path / "m.jsonl")
    assert [line[key] for key in "abcde"] == [0.5, None, 3, None, "text"]


def test_own_names_are_refused_and_nothing_is_written(tmp_path):
    with MetricsFile(tmp_path / "m.jsonl") as file, pytest.raises(ValueError, match="metrics step at train step 1"):
        file.append({"step": 3}, 1, "train")
    assert content(tmp_path / "m.jsonl") == []


@pytest.mark.parametrize("line", ["{broken", '{"loss": 1}', "3"])
def test_a_foreign_line_is_named_with_its_number(tmp_path, line):
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"stage": "", "step": 0}) + f"\n{line}\n")
    with pytest.raises(UserError, match="m.jsonl:2: "):
        MetricsFile(path)
