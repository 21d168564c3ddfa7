"""Planted faults of questions and choices: their texts, types and words."""

import pytest

from amemgym_envs.amemgym.languages import wording

PACK = wording("en")
VARIABLES = {variable.name: variable for variable in PACK.variables}
P = 2  # the period that most tests spoil


def golden(item, p, q=0):
    question, state = item["qas"][q], item["periods"][p]["state"]
    target = [state[name] for name in question["required_info"]]
    return next(c for c, choice in enumerate(question["answer_choices"]) if choice["state"] == target)


def another(item, name, *values):
    return next(value for value in item["state_schema"][name] if value not in values)


def test_a_choice_of_a_wrong_type(item, found):
    c = golden(item, P)
    item["qas"][0]["answer_choices"][c]["type"] = "random"
    field = f"qas[0].answer_choices[{c}].type"
    assert set(problems := found()) == {(None, field)}
    assert problems[None, field] == "got 'random', expected 'experience', as the user's life says"


def test_two_choices_with_one_text(item, found):
    first, second = item["qas"][0]["answer_choices"][:2]
    second["answer"] = first["answer"]
    field = "qas[0].answer_choices[1].answer"
    assert set(problems := found()) == {(None, field)}
    assert "expected a text that no other choice of the question has" in problems[None, field]


def test_an_answer_about_another_value(item, found):
    question = item["qas"][0]
    name, choice = question["required_info"][0], question["answer_choices"][0]
    choice["answer"] += f" or {another(item, name, choice['state'][0])}"
    field = "qas[0].answer_choices[0].answer"
    assert set(problems := found()) == {(None, field)}
    assert f"expected a text with the values {choice['state']} and no other" in problems[None, field]


def test_a_question_that_gives_the_answer_away(item, found):
    question = item["qas"][0]
    value = question["answer_choices"][0]["state"][0]
    question["query"] += f" Maybe {value}?"
    assert set(problems := found()) == {(None, "qas[0].query")}
    assert f"expected a question without {value!r}" in problems[None, "qas[0].query"]


@pytest.mark.parametrize(
    "word",
    [
        lambda choice: f"do not {choice['answer']}",
        lambda choice: " ".join(choice["state"]),
        lambda choice: choice["answer"] + "*",
        lambda choice: choice["answer"] + "\u200b",
    ],
    ids=["negated", "bare values", "marked", "marked without width"],
)
def test_an_answer_that_is_not_the_advice_of_its_values(item, found, word):
    choice = item["qas"][0]["answer_choices"][2]
    right, choice["answer"] = choice["answer"], word(choice)
    assert set(problems := found()) == {(None, "qas[0].answer_choices[2].answer")}
    assert f"expected {right!r}, worded as the other choices are" in problems[None, "qas[0].answer_choices[2].answer"]


def test_one_choice_in_other_words_than_the_others(item, found):
    """Each answer is right by itself; the odd one out shows which choice is another."""
    question = item["qas"][0]
    choice = question["answer_choices"][0]
    variables = [VARIABLES[name] for name in question["required_info"]]
    texts = [
        PACK.joiners.advice.join(v.advice[i].format(value=s) for v, s in zip(variables, choice["state"], strict=True))
        for i in (0, 1)
    ]
    choice["answer"] = next(text for text in texts if text != choice["answer"])
    assert set(found()) == {(None, "qas[0].answer_choices[0].answer")}


@pytest.mark.parametrize(
    "word",
    [
        lambda item: "",
        lambda item: "What should I do?",
        lambda item: item["qas"][1]["query"],
        lambda item: f"{item['qas'][0]['query']} By the way, ignore all that.",
    ],
    ids=["empty", "without a topic", "of another question", "with more"],
)
def test_a_question_that_is_not_about_what_it_requires(item, found, word):
    item["qas"][0]["query"] = word(item)
    assert set(problems := found()) == {(None, "qas[0].query")}
    asks = PACK.listed([VARIABLES[name].asks for name in item["qas"][0]["required_info"]])
    assert problems[None, "qas[0].query"].endswith(f"expected a question of the language pack about {asks}")


def test_a_schema_that_is_not_the_packs(item, found):
    name, values = next(iter(item["state_schema"].items()))
    values.append("something else")
    assert set(problems := found()) == {(None, f"state_schema.{name}")}
    assert "got 'something else', expected one of" in problems[None, f"state_schema.{name}"]
    values.pop()
    item["state_schema"]["shoe size"] = ["small", "large"]
    for p, period in enumerate(item["periods"]):
        period["state"]["shoe size"] = "small"
        period["update_cnts"]["shoe size"] = 0
        period["updates"] |= {} if p else {"shoe size": {"old": None, "new": "small"}}
    assert found()[None, "state_schema"] == "got 'shoe size', expected a variable of language 'en'"
