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
    for user in more:
        user.origin["split"] = "test"
    shared = sorted({n for user in train for n in user.state_schema} & {n for user in more for n in user.state_schema})
    problem = f"test.json and train.json share {len(shared)}, such as {shared[0]!r}; expected none"
    assert splits({"train.json": train, "test.json": more}) == ([("-", "state_schema", problem)], [])


def test_splits_that_share_personas(splits, noisy):
    train, test = (generate(replace(noisy, split=split, disjoint="personas")) for split in ("train", "test"))
    assert splits({"train.json": train, "test.json": test}) == ([], [])
    test[1].user_profile["name"] = train[2].user_profile["name"]  # a name may be that of two people
    assert splits({"train.json": train, "test.json": test}) == ([], [])
    test[1].user_profile = train[2].user_profile | {"uuid": test[1].id}
    [(item, field, problem)], lacks = splits({"train.json": train, "test.json": test})
    assert (item, field, lacks) == ("-", "user_profile", [])
    assert problem.startswith("test.json and train.json share 1, such as ") and train[2].user_profile["occupation"] in problem


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


def test_files_of_one_split_may_share_all_but_users(splits, noisy):
    first, second = generate(noisy), generate(replace(noisy, user_offset=3))
    assert {n for user in first for n in user.state_schema} & {n for user in second for n in user.state_schema}
    assert splits({"a.json": first, "b.json": second}) == ([], [])
    second[1].id = first[0].id
    [(_, field, problem)], _ = splits({"a.json": first, "b.json": second})
    assert (field, problem) == ("id", f"a.json and b.json share 1, such as {first[0].id!r}; expected none")


def test_a_split_is_what_items_say_and_not_what_a_file_is_called(tmp_path, noisy):
    """Items of two splits in one file, and items of one of them in another."""
    train, test = generate(noisy), generate(replace(noisy, user_offset=3))
    for user in test:
        user.origin["split"] = "test"
    save([*train[:2], *test], tmp_path / "mixed.json", {})
    [_, report] = validate(tmp_path / "mixed.json")
    [fault] = report.violations
    assert fault.field == "state_schema" and fault.problem.startswith(
        "split train in mixed.json and split test in mixed.json share "
    )
    save(train[2:], tmp_path / "more.json", {})
    *_, report = validate(tmp_path)
    assert [fault.problem.split(" share ")[0] for fault in report.violations] == [
        "split train in mixed.json, more.json and split test in mixed.json"
    ]


def test_items_that_name_no_split_are_compared_by_file(splits, noisy):
    files = {f"{name}.json": generate(replace(noisy, user_offset=offset)) for name, offset in (("a", 0), ("b", 3))}
    for users in files.values():
        for user in users:
            del user.origin["split"]
    violations, _ = splits(files)
    assert [(field, problem.split(" share ")[0]) for _, field, problem in violations] == [("state_schema", "a.json and b.json")]
