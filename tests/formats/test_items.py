"""Item ids: the number after the last underscore, and the traps beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym_envs import make
from amemgym_train.errors import UserError
from amemgym_train.formats import item_of, parse_item
from amemgym_train.formats.items import ENVIRONMENTS, PREFIXES


@given(st.sampled_from(sorted(ENVIRONMENTS)), st.integers(0, 10**17))
def test_every_prefix_is_read_with_every_number(prefix, number):
    assert parse_item(f"{prefix}_{number}") == (ENVIRONMENTS[prefix], number)


@pytest.mark.parametrize(
    ("item_id", "environment", "number"),
    [("lmrlgym_maze_3", "Maze", 3), ("tool_weather_5", "Weather", 5), ("weather_5", "Weather", 5), ("sqlgym_9428", "BIRD", 9428)],
)
def test_prefixes_have_underscores_of_their_own(item_id, environment, number):
    assert parse_item(item_id) == (environment, number)


def test_a_training_task_of_alfworld_has_no_number():
    with pytest.raises(UserError, match="mappings_train.json and write alfworld_<number>"):
        parse_item("pick_and_place_simple-Mug-None-Shelf-20_trial_T20190909_123456_012345")
    assert parse_item("alfworld_2420") == ("ALFWorld", 2420)


WRONG = ["", "_", "_3", "webshop", "webshop_", "webshop_-1", "webshop_1.5", "webshop_²", "webshop_" + "9" * 5000]


@pytest.mark.parametrize("item_id", WRONG, ids=repr)
def test_an_id_without_a_number_or_a_prefix_is_refused(item_id):
    with pytest.raises(UserError, match="item id '.*expected"):
        parse_item(item_id)


def test_an_unknown_prefix_is_told_with_those_that_there_are():
    with pytest.raises(UserError, match="unknown prefix 'chess', expected one of webshop, webarena"):
        parse_item("chess_3")


def test_tasks_of_ours_get_the_number_that_the_environment_takes():
    env = make("SearchQA")
    for task in env.tasks[::97]:
        name, number = parse_item(item_of("SearchQA-v0", task))
        assert name == "SearchQA" and env.item(number) == task


def test_tasks_without_a_number_keep_their_name():
    assert item_of("SearchQA-v0", "q-7") == "searchqa_q-7"
    assert item_of("Chess-v0", "train-1") == "chess_train-1"
    assert item_of("AMemGym-v0", "user") == "amemgym_user"


def test_prefixes_of_environments_are_those_that_are_read():
    assert all(parse_item(f"{prefix}_1").environment == name for name, prefix in PREFIXES.items())
