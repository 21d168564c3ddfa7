import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_envs.toolkit import same

values = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.floats(-100, 100) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=6)


@settings(max_examples=100, deadline=None)
@given(values)
def test_every_answer_is_the_same_as_itself(value):
    assert same(value, value) and same(value, value, ordered=True)
    assert not same([value], value) and not same(value, [value, value])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(), max_size=5), st.randoms())
def test_order_counts_only_where_it_is_asked_for(numbers, random):
    shuffled = random.sample(numbers, len(numbers))
    assert same(shuffled, numbers)
    assert same(shuffled, numbers, ordered=True) == (shuffled == numbers)


@pytest.mark.parametrize(("given_", "expected", "is_same"), [
    ("  New   york ", "New York", True), ("3", 3, False),
    (3, "3", False), (3.0, 3, True), (3.001, 3, False), (3.009, 3.0, True),
    (3.02, 3.0, False), (True, 1, False), (1, True, False), (None, False, False),
    ([1, 1, 2], [1, 2, 2], False), ([2, 1.004], [1.0, 2], True),
    ({"a": [2, 1]}, {"a": [1, 2]}, True), ({"a": 1, "b": 2}, {"a": 1}, False), (["x"], ("X",), True),
])
def test_types_and_tolerances(given_, expected, is_same):
    assert same(given_, expected) is is_same
