"""Schedules of the training users' horizon: functions of the iteration's number, and of nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym_train.config.check import check
from amemgym_train.config.curriculum import CurriculumConfig, longest, scheduled
from amemgym_train.config.description import describe
from amemgym_train.config.recipe import Recipe


def recipe(curriculum, iterations=6, **train):
    sections = {"name": "x", "agent": {"local_length": 0}, "scenarios": {"train": {"num_periods": 9} | train}}
    return Recipe.model_validate(sections | {"evolution": {"iterations": iterations, "curriculum": curriculum}})


@given(st.lists(st.integers(1, 30), min_size=1, max_size=5), st.integers(1, 4), st.integers(1, 40))
def test_each_value_holds_for_as_many_iterations_and_the_last_one_on(values, every, iteration):
    held = [value for value in values for _ in range(every)]
    expected = held[iteration - 1] if iteration <= len(held) else values[-1]
    assert CurriculumConfig(every=every, num_periods=values).at(iteration) == {"num_periods": expected}


def test_the_training_users_grow_and_nothing_else_does():
    whole = recipe({"every": 2, "num_periods": [1, 2, 4], "rounds_init": [3]})
    horizons = [scheduled(whole, i).scenarios.train for i in range(1, 8)]
    assert [(train.num_periods, train.rounds_init, train.rounds_update) for train in horizons] == [
        *[(1, 3, None)] * 2, *[(2, 3, None)] * 2, *[(4, 3, None)] * 3,
    ]  # fmt: skip
    assert [len(train.build()[0].periods) for train in horizons[::2]] == [2, 3, 5, 5]
    for i in (1, 3, 5):
        changed = scheduled(whole, i)
        back = changed.model_copy(update={"scenarios": whole.scenarios})
        assert back == whole and changed.scenarios.test == whole.scenarios.test
    plain = recipe({})
    assert scheduled(plain, 3) is plain


@pytest.mark.parametrize(
    ("curriculum", "iterations", "periods"),
    [
        ({"num_periods": [1, 5, 3]}, 6, 5),
        ({"num_periods": [1, 5, 3]}, 1, 1),
        ({"num_periods": [1, 3, 5], "every": 3}, 6, 3),
        ({"num_periods": [1, 3, 5], "every": 3}, 7, 5),
        ({"rounds_init": [1, 2]}, 6, 9),
    ],
)
def test_the_longest_horizon_is_that_of_an_iteration_that_comes(curriculum, iterations, periods):
    found = longest(recipe(curriculum, iterations)).scenarios.train
    assert found.num_periods == periods
    if "rounds_init" in curriculum:
        assert found.rounds_init == 2


@pytest.mark.parametrize(
    ("curriculum", "train", "key", "named"),
    [
        ({"num_periods": [1, 40000]}, {}, "evolution.curriculum.num_periods", "40000: "),
        ({"num_periods": [0]}, {"num_changes_per_period": 1}, None, ""),
    ],
)
def test_a_schedule_that_the_generator_cannot_make_is_refused(curriculum, train, key, named):
    found = dict(check(recipe(curriculum, **train)))
    assert set(found) == ({key} if key else set())
    assert key is None or found[key].startswith(named)


def test_users_from_a_file_have_the_periods_they_have(tmp_path):
    path = tmp_path / "data.json"
    path.write_text("[]")
    sections = {"name": "x", "agent": {"local_length": 0}, "scenarios": {"train": {"data": str(path)}}}

    def problems(curriculum):
        return dict(check(Recipe.model_validate(sections | {"evolution": {"curriculum": curriculum}})))

    assert set(problems({"num_periods": [1, 2]})) == {"evolution.curriculum.num_periods"}
    assert problems({"rounds_init": [1, 2]}) == {}


def test_the_description_tells_the_schedule_and_begins_with_its_first_value():
    told = describe(recipe({"every": 2, "num_periods": [1, 2, 4]}))
    assert "Training grows: num_periods 1 -> 2 -> 4, a step every 2 iterations." in told and "2 periods x" in told
    assert "grows" not in describe(recipe({}))
