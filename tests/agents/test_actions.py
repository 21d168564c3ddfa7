"""Actions in replies: laid out as asked for, otherwise, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym_train.agents.actions import LAYOUTS, read_action, written

BREAKS = set(":\r\x0b\x0c\x1c\x1d\x1e\x85")  # marks of the layout need a colon; the others are lines to some and not to others
# lone surrogates aside, which JSON does not hold
ACTIONS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=BREAKS), min_size=1)


@pytest.mark.parametrize("style", LAYOUTS)
@given(action=ACTIONS.filter(lambda text: text == text.strip()))
def test_what_is_written_is_read(style, action):
    for thought in ("", "I look around."):
        assert read_action(written(action, style, thought), style) == (action, "strict")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Thought: a\nAction: go north", ("go north", "strict")),
        ("  action :  go north\n", ("go north", "strict")),
        ("Action: SELECT a\nFROM b", ("SELECT a\nFROM b", "strict")),
        ("Action: go\nObservation: a wall\nAction: go south", ("go", "repaired")),
        ("Action: go\nThought: and then", ("go", "repaired")),
        ("Action:", ("Action:", "failed")),
        ("go north", ("go north", "failed")),
        ("", ("", "failed")),
        ("Thought: my Action: is none", ("Thought: my Action: is none", "failed")),
    ],
)
def test_lines_of_text(text, found):
    assert read_action(text, "text") == found


@pytest.mark.parametrize(
    ("style", "text", "found"),
    [
        ("json", '```json\n{"thought": "t", "action": "go"}\n```', ("go", "strict")),
        ("json", '{"thought": "t", "action": "go"', ("go", "repaired")),
        ("json", '{"action": 3}', ('{"action": 3}', "failed")),
        ("json", "go", ("go", "failed")),
        ("function", '{"function_name": "act", "arguments": {"action": "go"}}', ("go", "strict")),
        ("function", '{"function_name": "find", "arguments": {"a": [1]}}', ('find with Action Input: {"a": [1]}', "strict")),
        ("function", '{"function_name": "act", "arguments": "go"}', ('{"function_name": "act", "arguments": "go"}', "failed")),
    ],
)
def test_json(style, text, found):
    assert read_action(text, style) == found


@pytest.mark.parametrize("style", LAYOUTS)
@given(text=st.text(max_size=200))
def test_no_reply_is_too_odd_to_be_read(style, text):
    action, how = read_action(text, style)
    assert isinstance(action, str) and (how != "failed" or action == text.strip())
