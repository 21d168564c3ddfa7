"""Which combinations the choices of a question are: the same draws for grids that can be listed, no list of those that cannot."""

from itertools import product
from math import prod
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.generator.questions import _combinations
from amemgym_envs.amemgym.generator.user import full_grid


def listed(lived, pools, allowed, count, rng):
    """The definition, for small grids: everything is written down and shuffled."""
    chosen = list(lived)
    for values in (pools, allowed):
        chosen += rng.sample(rest := [c for c in product(*values) if c not in chosen], len(rest))
    return chosen[:count]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_small_grids_are_drawn_as_ever(seed):
    rng = Random(seed)
    allowed = [[f"{i}{j}" for j in range(rng.randint(2, 4))] for i in range(rng.randint(1, 4))]
    pools = [rng.sample(values, rng.randint(2, len(values))) for values in allowed]
    lived = rng.sample(grid := list(product(*pools)), rng.randint(1, min(4, len(grid))))
    count = rng.randint(len(lived), prod(map(len, allowed)))
    one, other = Random(seed), Random(seed)
    assert _combinations(lived, pools, allowed, count, one) == listed(lived, pools, allowed, count, other)
    assert one.random() == other.random()  # what is drawn next is the same too


def test_a_grid_of_more_than_can_be_listed_is_drawn_from():
    allowed = [[f"{i}{j}" for j in range(4)] for i in range(100)]
    pools = [values[:2] for values in allowed]
    lived = [tuple(values[0] for values in allowed)]
    found = _combinations(lived, pools, allowed, 300, Random(1))
    assert found[0] == lived[0] and len(set(found)) == 300
    assert all(value in values for state in found for value, values in zip(state, pools, strict=True))
    assert found == _combinations(lived, pools, allowed, 300, Random(1)) != _combinations(lived, pools, allowed, 300, Random(2))


def test_a_large_grid_is_exhausted_before_others_are_taken():
    allowed = [["a", "b", "c"]] * 2 + [["x", "y"]] * 12
    pools = [values[:2] for values in allowed]  # 2 ** 14 of them
    lived = [next(product(*pools))]
    found = _combinations(lived, pools, allowed, 2**14 + 5, Random(3))
    assert set(found[: 2**14]) == set(product(*pools))
    assert len(set(found)) == 2**14 + 5 and all("c" in state for state in found[2**14 :])


def test_a_user_may_have_questions_about_everything():
    config = GeneratorConfig(num_users=1, num_variables=30, num_states_per_question=30, num_questions=2, num_choices=40)
    [user] = generate(config)
    assert [len({tuple(c.state) for c in q.answer_choices}) for q in user.questions] == [40, 40]


def test_whether_choices_are_a_full_grid_is_known():
    for settings_, full in (
        ({}, True),
        ({"num_choices": 5}, False),
        ({"num_choices": 3, "num_changes_per_period": 2}, False),
        ({"num_states_per_question": 3, "num_choices": 8}, True),
        ({"num_states_per_question": 1, "num_questions": 20, "num_choices": 3}, True),
    ):
        assert full_grid(GeneratorConfig(**settings_), 0) is full
