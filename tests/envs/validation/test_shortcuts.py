"""Ways to answer without any memory: generated data offers none, and data that offers one is refused."""

import pytest

from amemgym_envs.amemgym.dataset import save
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.validation import validate

STILL = {"num_periods": 0, "num_variables": 8, "num_questions": 8}  # nothing changes, so each question has one right answer


def still(users=6, **changes):
    return generate(GeneratorConfig(num_users=users, **STILL | changes))


@pytest.fixture
def report(tmp_path):
    def run(users):
        save(users, tmp_path / "data.json", {})
        [report] = validate(tmp_path / "data.json")
        return report

    return run


def only_fault(report):
    """The one violation; it is about no single item."""
    [fault] = report.violations
    assert (fault.item, fault.period, fault.field) == ("-", None, "qas")
    return fault.problem


@pytest.mark.parametrize("settings", [STILL, {}, {"num_states_per_question": 3, "num_choices": 8}, {"num_choices_per_state": 2}])
def test_generated_questions_offer_no_shortcut(report, settings):
    found = report(generate(GeneratorConfig(num_users=40, **settings)))
    assert found.violations == []
    chance = found.figures["random answers"]
    for way in ("longest choice", "commonest values", "commonest position"):
        assert abs(found.figures[way] - chance) <= 0.05
    assert found.figures["golden position p"] > 1e-4


@pytest.mark.parametrize("place", [0, 3])
def test_a_golden_choice_that_is_always_at_one_place(report, place):
    users = still()
    for user in users:
        for q, question in enumerate(user.questions):
            question.answer_choices.insert(place, question.answer_choices.pop(user.golden(0, q)))
    found = report(users)
    assert [(f.item, f.field) for f in found.violations] == [("-", "qas")] * 2
    first, second = (f.problem for f in found.violations)
    assert first == "commonest position: right 0.750 more often than guessing, expected at most 0.05"
    assert second.startswith("golden choices are not spread evenly over positions: chi-square p is ")
    assert found.figures["commonest position"] == 1.0 and found.figures["golden position p"] < 1e-4


def test_a_golden_choice_that_is_always_the_longest(report):
    users = still()
    for user in users:
        user.origin["writer"] = "llm"  # templates word all choices alike, so that any other wording is a violation by itself
        for q, question in enumerate(user.questions):
            question.answer_choices[user.golden(0, q)].answer += ", and that is what I would tell anybody in your place"
    found = report(users)
    assert only_fault(found) == "longest choice: right 0.750 more often than guessing, expected at most 0.05"
    assert found.figures["longest choice"] == 1.0


def test_a_golden_choice_whose_values_are_always_the_commonest(report):
    """The right choice and three that change one or the other of its values: both values occur more often than any other."""
    users = still(num_choices_per_state=3)
    for user in users:
        for q, question in enumerate(user.questions):
            golden = question.answer_choices[user.golden(0, q)]
            (a, b), (others_a, others_b) = (
                golden.state,
                (
                    [v for v in user.state_schema[name] if v != value]
                    for name, value in zip(question.required_info, golden.state, strict=True)
                ),
            )
            states = iter([[a, others_b[0]], [others_a[0], b], [a, others_b[1]]])
            for choice in question.answer_choices:
                if choice is not golden:
                    choice.state = next(states)
                    choice.answer = golden.answer.replace(a, "{0}").replace(b, "{1}").format(*choice.state)
    found = report(users)
    assert only_fault(found) == "commonest values: right 0.750 more often than guessing, expected at most 0.05"
    assert found.figures["commonest values"] == 1.0


def test_few_questions_say_nothing(report):
    users = still(users=2)
    for user in users:
        for q, question in enumerate(user.questions):
            question.answer_choices.insert(0, question.answer_choices.pop(user.golden(0, q)))
    assert report(users).violations == []


def test_a_shortcut_of_data_from_elsewhere_is_something_it_lacks(report):
    users = still()
    for user in users:
        del user.extra["generator"]
        for q, question in enumerate(user.questions):
            question.answer_choices[user.golden(0, q)].answer += ", and that is what I would tell anybody in your place"
    found = report(users)
    assert found.violations == []
    assert "shortcut: longest choice: right 0.750 more often than guessing, expected at most 0.05" in found.lacks
