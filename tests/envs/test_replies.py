"""Which replies count as answers: strict JSON, bare or fenced, and nothing else."""

import pytest

from amemgym_envs.amemgym.replies import parse_answer, parse_probe


@pytest.mark.parametrize(
    "text",
    ['{"answer": 2}', '  {"answer":2}\n', '```json\n{"answer": 2}\n```', '```\n{"answer": 2}```', '{"why": "milk", "answer": 2}'],
)
def test_a_strict_answer_is_taken(text):
    assert parse_answer(text, 4) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2",
        "[2]",
        "null",
        "The answer is 2.",
        'Sure: {"answer": 2}',
        '{"answer": 2} is right',
        "{'answer': 2}",
        '{"answer": "2"}',
        '{"answer": 2.0}',
        '{"answer": true}',
        '{"answer": 0}',
        '{"answer": -1}',
        '{"answer": 5}',
        '{"answer": null}',
        '{"Answer": 2}',
        '{"answer": 2',
        '{"answer": ' + "9" * 5000 + "}",
        "[" * 100_000,
        '```json\n{"answer": 2}\n``` done',
        '{"answer": 2, "x": NaN}',
        '{"answer": 2, "x": 1e999}',
        '{"answer": 2, "x": "\\ud800"}',
        "```" + "\n" * 20_000 + "x",
        "```",
    ],
    ids=lambda text: text[:20],
)
def test_anything_else_is_unparsed(text):
    assert parse_answer(text, 4) is None


SCHEMA = {"drink": ["tea", "milk"], "pet": ["cat", "dog"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"drink": "tea", "pet": "dog"}', {"drink": "tea", "pet": "dog"}),
        ('```json\n{"pet": "dog", "drink": "tea"}\n```', {"drink": "tea", "pet": "dog"}),
        ('{"drink": "tea", "age": 3}', {"drink": "tea", "pet": None}),
        ('{"drink": "Tea", "pet": ["dog"]}', {"drink": None, "pet": None}),
        ('{"drink": "cat", "pet": "cat"}', {"drink": None, "pet": "cat"}),
        ("tea and dog", {"drink": None, "pet": None}),
    ],
)
def test_a_probe_keeps_allowed_values_only(text, expected):
    assert parse_probe(text, SCHEMA) == expected
