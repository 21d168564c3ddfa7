"""JSON in what models say."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym_envs.amemgym.llm.parsing import distinct, parse_reply, part, prose, snake, unquoted
from amemgym_envs.amemgym.node import Node

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
WORDS = st.text(alphabet=st.characters(exclude_characters="{}", exclude_categories=["Cs"]))


def node(value):
    return Node(value, "your reply")


@given(st.dictionaries(st.text(), JSON), WORDS, WORDS)
def test_one_object_is_found_among_words(value, before, after):
    clean = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    assert parse_reply(json.dumps(value)).value == clean
    assert parse_reply(f"{before}{json.dumps(value, indent=1)}{after}").value == clean
    assert parse_reply(f"<think>{{not this}} {{}}</think>\n```json\n{json.dumps(value)}\n```").value == clean
    assert parse_reply(f"<think>{json.dumps(value)}</think>").value == clean


@given(st.text())
def test_anything_else_is_a_complaint(text):
    try:
        assert isinstance(parse_reply(text).value, dict)
    except ValueError as error:
        assert "JSON object in the reply" in str(error)


@pytest.mark.parametrize("text", ["", "{", "{}{}", "[1]", "{" * 5000, '{"a": ' * 50, '{"a": 1' + "0" * 5000 + "}"])
def test_no_object_or_several(text):
    with pytest.raises(ValueError, match="no JSON object|more than one JSON object"):
        parse_reply(text)


def test_shapes():
    assert prose(node(" two\n words ")) == "two words"
    assert snake(node("Oat-milk  Latte!")) == "oat_milk_latte"
    assert distinct(node(["A", "b c"]), 2) == ["a", "b_c"]
    assert part(node({"a": 1}), "a").path == "a"
    assert unquoted("an old car and tea", ["old_car", "tea"]) == "an old car and tea"


@pytest.mark.parametrize(
    ("shape", "value", "complaint"),
    [
        (prose, "  ", "a text of 1 to 4000 characters"),
        (prose, "x" * 4001, "a text of 1 to 4000 characters"),
        (prose, 3, "expected a string"),
        (snake, "\u4f60", "a short name in English snake_case"),
        (snake, "x" * 61, "a short name in English snake_case"),
        (lambda n: distinct(n, 2), ["a", "A"], "a list of 2 different values"),
        (lambda n: distinct(n, 2), ["a", "b", "c"], "a list of 2 different values"),
        (lambda n: distinct(n, 2), "ab", "expected a list"),
        (lambda n: part(n, "a"), {"b": 1}, "an object with the key 'a'"),
        (lambda n: part(n, "a"), [1], "expected an object"),
        (lambda n: unquoted(n.value, ["old_car"]), "My Old_Car", "the text contains old_car; say it in plain words"),
    ],
)
def test_complaints_say_what_is_expected(shape, value, complaint):
    with pytest.raises(ValueError, match=complaint):
        shape(node(value))
