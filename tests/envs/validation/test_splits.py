"""Files of one folder: what their items promise to keep apart is apart."""

from dataclasses import replace

import pytest

from amemgym_envs.amemgym.dataset import save
from amemgym_envs.amemgym.generator import generate
from amemgym_envs.amemgym.validation import validate


@pytest.fixture
def splits(tmp_path):
    """Writes {file name: users}; the violations and lacks of the report on the splits. Each file by itself is valid."""

    def run(files):
        for name, users in files.items():
            save(users, tmp_path / name, {})
        *reports, report = validate(tmp_path)
        assert [fault for other in reports for fault in other.violations] == [] and report.data == str(tmp_path)
        return [(fault.item, fault.field, fault.problem) for fault in report.violations], report.lacks

    return run


def test_splits_that_share_variables(splits, noisy):
    train, more = generate(noisy), generate(replace(noisy, user_offset=3))
    shared = sorted({n for user in train for n in user.state_schema} & {n for user in more for n in user.state_schema})
    problem = f"test.json and train.json share {len(shared)}, such as {shared[0]!r}; expected none"
    assert splits({"train.json": train, "test.json": more}) == ([("-", "state_schema", problem)], [])


def test_splits_that_share_personas(splits, noisy):
    train, test = (generate(replace(noisy, split=split, disjoint="personas")) for split in ("train", "test"))
    assert splits({"train.json": train, "test.json": test}) == ([], [])
    test[1].user_profile["name"] = name = train[2].user_profile["name"]
    problem = f"test.json and train.json share 1, such as {name!r}; expected none"
    assert splits({"train.json": train, "test.json": test}) == ([("-", "user_profile.name", problem)], [])


def test_splits_that_share_a_user(splits, noisy):
    train, test = generate(noisy), generate(replace(noisy, split="test"))
    test[0].id = train[0].id
    problem = f"test.json and train.json share 1, such as {train[0].id!r}; expected none"
    assert splits({"train.json": train, "test.json": test}) == ([("-", "id", problem)], [])


def test_splits_that_promise_different_things_are_compared_by_their_ids_only(splits, noisy):
    train, test = generate(noisy), generate(replace(noisy, split="test", disjoint="personas"))
    lack = "test.json and train.json do not both say what keeps them apart: only their ids were compared"
    assert splits({"train.json": train, "test.json": test}) == ([], [lack])
    for user in test:
        del user.extra["generator"]
    violations, lacks = splits({"train.json": train, "test.json": test})
    assert violations == [] and lacks == [lack]


def test_every_two_files_are_compared(splits, noisy):
    files = {f"{split}.json": generate(replace(noisy, split=split)) for split in ("train", "validation", "test")}
    files["validation.json"][0].id = files["test.json"][0].id = files["train.json"][0].id
    violations, _ = splits(files)
    assert [problem.split(" share ")[0] for _, _, problem in violations] == [
        "test.json and train.json",
        "test.json and validation.json",
        "train.json and validation.json",
    ]
