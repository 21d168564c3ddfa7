"""Items that cannot be read, that are there twice, or that are no longer those of their manifest."""

import json

import pytest

from amemgym_envs.amemgym.dataset import manifest_path, save
from amemgym_envs.amemgym.generator import generate
from amemgym_envs.amemgym.scenario import ScenarioError
from amemgym_envs.amemgym.validation import validate


def test_an_id_that_occurs_twice(items, validated):
    items[2]["id"] = items[0]["id"]
    [fault] = validated(items).violations
    assert (fault.item, fault.field, fault.problem) == (items[0]["id"], "id", "another item has the same id")


def test_an_item_that_cannot_be_parsed_is_one_violation_and_the_others_are_checked(items, validated):
    del items[0]["periods"][2]["state"]
    items[1]["periods"][2]["update_cnts"] = {}
    items.append("no object")
    first, second, third = validated(items).violations
    assert (first.item, first.field) == (items[0]["id"], "layout")
    assert f"data.json, item 0 (id {items[0]['id']}): field 'state' of periods[2] is missing" in first.problem
    assert (second.item, second.field, second.period) == (items[1]["id"], "periods[2].update_cnts", 2)
    assert (third.item, third.field) == ("number 3", "layout") and "expected an object" in third.problem


def test_off_topic_messages_that_are_none(items, validated):
    items[1]["periods"][0]["sessions"][0]["off_topic"] = "What is a prime number?"
    [fault] = validated(items).violations
    assert (fault.item, fault.field) == (items[1]["id"], "layout") and "off_topic" in fault.problem


@pytest.mark.parametrize("text", ["{}", '"data"', "", "[1, 2"])
def test_a_file_that_is_no_list_cannot_be_validated(tmp_path, text):
    (tmp_path / "data.json").write_text(text)
    with pytest.raises(ScenarioError, match="data.json: (starts with|invalid JSON at line 1, column)"):
        validate(tmp_path / "data.json")


def test_an_empty_list(validated):
    [fault] = validated([]).violations
    assert fault.problem == "the file has no items"


@pytest.fixture
def listed(tmp_path, noisy):
    """(path, items) of data with its manifest."""
    path = tmp_path / "listed.json"
    save(generate(noisy), path, {})
    return path, json.loads(path.read_text())


def manifest_faults(path, items):
    path.write_text(json.dumps(items, ensure_ascii=False))
    [report] = validate(path)
    assert report.lacks == []
    return [(fault.item, fault.field, fault.problem) for fault in report.violations]


def test_an_item_that_was_changed_after_the_manifest(listed):
    path, items = listed
    assert manifest_faults(path, [dict(reversed(item.items())) for item in items]) == []  # layout does not matter
    items[1]["user_profile"]["age"] = 99
    [(item, field, problem)] = manifest_faults(path, items)
    assert (item, field) == (items[1]["id"], "listed.manifest.json")
    assert "the manifest says" in problem and problem.endswith("the item was changed")


def test_items_that_were_removed_or_added_after_the_manifest(listed):
    path, items = listed
    assert manifest_faults(path, items[1:]) == [("-", "listed.manifest.json", "it lists 3 items, the data has 2")]
    problems = manifest_faults(path, [*items, items[0] | {"id": "new"}])
    assert problems == [
        ("-", "listed.manifest.json", "it lists 3 items, the data has 4"),
        ("new", "listed.manifest.json", "it does not list this item"),
    ]


def test_an_unreadable_item_does_not_shift_the_manifest(listed):
    path, items = listed
    del items[0]["qas"]
    places = [(item, field) for item, field, _ in manifest_faults(path, items)]
    assert places == [(items[0]["id"], "layout"), (items[0]["id"], "listed.manifest.json")]


@pytest.mark.parametrize("text", ["[]", "{}", '{"items": [{"id": "a"}]}', '{"items": 3}'])
def test_a_manifest_that_is_none_is_told(listed, text):
    path, _ = listed
    manifest_path(path).write_text(text)
    with pytest.raises(ScenarioError, match="listed.manifest.json: no manifest of a data file"):
        validate(path)
