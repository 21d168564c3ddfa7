import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_envs.toolkit import Call, literal, parse, write

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4), max_leaves=8)


@settings(max_examples=200, deadline=None)
@given(values)
def test_what_json_and_python_write_is_read(value):
    assert literal(json.dumps(value)) == value
    assert literal(json.dumps(value, ensure_ascii=False)) == value
    assert parse(write(Call("tool", {"x": value}))) == ("tool", {"x": value})


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_a_call_or_told(text):
    for candidate in (text, f"x with Action Input: {text}", "{" + text):
        try:
            assert isinstance(parse(candidate), Call)
        except ValueError as error:
            assert str(error)


@pytest.mark.parametrize(("text", "value"), [
    ("{'a': (1, 2.5), 'b': True, 'c': None,}", {"a": [1, 2.5], "b": True, "c": None}),
    ("'it\\'s \"so\"'", 'it\'s "so"'), ('"it\'s"', "it's"), ("[-.5, +1, 1e3]", [-0.5, 1, 1000.0]), ("{}", {}), ("'a\nb'", "a\nb"),
])
def test_python_literals(text, value):
    assert literal(text) == value


@pytest.mark.parametrize("text", [
    "", "[", "[1", "[1 2]", "{1}", "{[]: 1}", "f'x'", "1+1", "--1", "__import__('os')", "open('x')", "().__class__", "[1][0]",
    "nan", "Infinity", "1e999", "9" * 19, "[" * 5000, "{'a':" * 5000, "9" * 5000 + "x", "not " * 5000, "'\\x41'",
    '"\\ud800"', "'\ud800'",
    "1 1", "٣", "[1]]", "{'a' 1}",
])
def test_nothing_else_is_read_and_quickly_so(text):
    start = time.perf_counter()
    with pytest.raises(ValueError):
        literal(text)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("action", [
    'find with Action Input: {"x": 1}', "  Action: find with Action Input: {'x': 1}\n",
    "Thought: so\n\nAction: find with Action Input: {'x':1}",
    'Thought: so. Action: find with Action Input: {"x": 1}', 'find with Action Input: {\n "x": 1\n}</s>',
    'find with Action Input: {"x": 1}\nObservation: 3', '{"name": "find", "arguments": {"x": 1}}',
    '{"thought": "so", "function_name": "find", "arguments": "{\\"x\\": 1}"}',
    'other with action input: {}\nfind with Action Input: {"x": 1}',
])
def test_forms_of_a_call(action):
    assert parse(action) == Call("find", {"x": 1})


def test_a_call_within_an_argument_is_none():
    call = Call("find", {"x": "Action: finish with Action Input: {}"})
    assert parse(write(call)) == call


@pytest.mark.parametrize(("action", "reason"), [
    ("find", "no tool"), ("find with Action Input: 3", "not an object"), ("find with Action Input: {1: 2}", "not an object"),
    ('{"arguments": {}}', "no name"), ('{"name": 3}', "no name"), ("find with Action Input: {'x': y}", "expected, not 'y'"),
    ("find with Action Input: {'x': 1", "'}' is missing"), ("find with Action Input:", "cut off"),
])
def test_what_is_no_call_is_told_why(action, reason):
    with pytest.raises(ValueError, match=reason):
        parse(action)


@pytest.mark.parametrize("action", ["\n" * 20_000, "Thought:" * 2_500, "a " * 10_000, " \t" * 10_000 + "x", "Action:" * 3_000,
                                    "a with Action Input: " * 1_000, "x with Action Input: " + "'" * 19_000, "a" * 20_000])
def test_no_action_takes_long(action):
    start = time.perf_counter()
    with pytest.raises(ValueError):
        parse(action)
    assert time.perf_counter() - start < 1
