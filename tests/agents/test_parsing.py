import json
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_envs.amemgym import replies
from amemgym_train.agents.parsing import REPAIR_LIMIT, parse_answer, parse_object, parse_states

SCHEMA = {"coffee order": ["oat milk", "black"], "pet": ["cat", "dog"]}
PIECES = [
    *"{}[]:,'\"-2²٣\n\\",
    "answer",
    "```",
    "```json\n",
    "//",
    "/*",
    "\\ud800",
    "\ud800",
    "NaN",
    "1e999",
    "9" * 5000,
    "null",
    "true",
]
pieces = st.sampled_from([*PIECES, '{"answer": 2}', '"pet": "cat"'])
anything = st.text(max_size=80) | st.text(st.characters(), max_size=40) | st.lists(pieces, max_size=25).map("".join)
objects = st.dictionaries(
    st.text(max_size=8), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4), max_size=4
)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(anything, st.integers(1, 7))
def test_no_text_raises_and_failed_means_nothing_was_read(text, choices):
    found, how = parse_object(text)
    assert (found is None) == (how == "failed")
    answer, how = parse_answer(text, choices)
    assert (answer is None) == (how == "failed")
    assert answer is None or 0 <= answer < choices
    states, how = parse_states(text, SCHEMA)
    assert list(states) == list(SCHEMA)
    assert (how == "failed") == all(value is None for value in states.values())


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(objects, st.booleans())
def test_valid_json_comes_back_unchanged_bare_or_fenced(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_object(f"\n{text} ") == (value, "strict")
    if "```" not in text:
        assert parse_object(f"Here it is:\n```json\n{text}\n```\nThat is all.") == (value, "strict")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"answer": 2}', (1, "strict")),
        ('```json\n{"answer": 2}\n```', (1, "strict")),
        ('```\n{"answer": 2}\n```', (1, "strict")),
        ('{"answer": "2"}', (1, "repaired")),
        ("{'answer': 2}", (1, "repaired")),
        ('{"answer": 2', (1, "repaired")),
        ('```json\n{"answer": 2}', (1, "repaired")),
        ('I choose {"answer": 2} here', (1, "repaired")),
        ('{"answer": 0}', (None, "failed")),
        ('{"answer": 5}', (None, "failed")),
        ('{"answer": -1}', (None, "failed")),
        ('{"answer": true}', (None, "failed")),
        ('{"answer": 2.0}', (None, "failed")),
        ('{"answer": "two"}', (None, "failed")),
        ('{"answer": "²"}', (None, "failed")),
        ('{"answer": "٣"}', (None, "failed")),
        ('{"answer": [2]}', (None, "failed")),
        ('{"choice": 2}', (None, "failed")),
        ("[2]", (None, "failed")),
        ("2", (None, "failed")),
        ("", (None, "failed")),
    ],
)
def test_answer(text, expected):
    assert parse_answer(text, 4) == expected


LONG = "x" * REPAIR_LIMIT
UNALIKE = [
    '{"answer": 2, "pet": "cat", "x": NaN}',
    '{"answer": 2, "pet": "cat", "x": "\\ud800"}',
    f'\u00a0{{"answer": 2, "pet": "cat", "x": "{LONG}"}}',
    f'```json\n{{"answer": 2, "pet": "cat", "x": "```{LONG}"}}\n```',
]


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(anything | st.sampled_from(UNALIKE))
def test_what_an_agent_cannot_read_the_environment_cannot_either(text):
    """Such a reply is the agent's action as it is, and must not count as right."""
    if parse_answer(text, 4)[1] == "failed":
        assert replies.parse_answer(text, 4) is None
    if parse_states(text, SCHEMA)[1] == "failed":
        assert not any(replies.parse_probe(text, SCHEMA).values())


def test_states_are_exact_values_of_the_schema():
    text = json.dumps({"coffee order": "oat milk", "pet": ["cat"], "hobby": "chess"})
    assert parse_states(text, SCHEMA) == ({"coffee order": "oat milk", "pet": None}, "strict")
    assert parse_states(text.replace('"oat milk"', '"Oat milk"'), SCHEMA) == ({"coffee order": None, "pet": None}, "failed")
    assert parse_states("{'pet': 'dog'}", SCHEMA) == ({"coffee order": None, "pet": "dog"}, "repaired")


def test_empty_objects_count_only_when_strict():
    assert parse_object("{}") == ({}, "strict")
    assert parse_object("{") == (None, "failed")


UNUSABLE = ['{"a": "\\ud83d"}', '{"a": NaN}', '{"a": 1e999}', "[" * 50_000, '{"a":' * 50_000, "{a:b:" * 50_000]


@pytest.mark.parametrize("text", UNUSABLE)
def test_what_no_file_could_hold_or_no_parser_can_finish_fails_at_once(text):
    start = time.monotonic()
    assert parse_object(text) == (None, "failed")
    assert time.monotonic() - start < 5


def test_beyond_the_repair_limit_strict_json_still_counts():
    long = json.dumps({"note": "x" * REPAIR_LIMIT})
    assert parse_object(long)[1] == "strict"
    assert parse_object(long[:-1]) == (None, "failed")
    assert parse_object(json.dumps({"note": "x" * 100})[:-1])[1] == "repaired"


def test_importing_the_parser_loads_neither_torch_nor_json_repair():
    code = "import sys, amemgym_train.agents.parsing; sys.exit('torch' in sys.modules or 'json_repair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"answer": "take the tram"}', (1, "strict")),
        ('{"answer": "take the tram"', (1, "repaired")),
        ('{"answer": "take the"}', (None, "failed")),
        ('{"answer": "walk"}', (None, "failed")),  # two choices read so
        ('{"answer": 2}', (1, "strict")),
        ('{"answer": "3"}', (2, "repaired")),
    ],
)
def test_an_answer_may_quote_its_choice(text, expected):
    assert parse_answer(text, 4, ["ride", "take the tram", "walk", "walk"]) == expected
