"""What a reflection tells before a second try: of what failed only, and no more than its kind may."""

from typing import get_args

import pytest

from amemgym_train.config.reflection import FeedbackKind
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.reflection.hints import hints, hold_all, memory_at

KINDS = get_args(FeedbackKind)


@pytest.fixture
def told(users, forgetful, first):
    """All hints of episodes in which the given operations fail: [(slot, hint, scenario)]."""

    def tell(kind, *fails):
        episodes = first(forgetful(*fails))
        by_episode = [(users[one.task], hints(one, users[one.task], diagnose(one), kind)) for one in episodes]
        return [(slot, hint, scenario) for scenario, found in by_episode for slot, hint in found.items()]

    return tell


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_told_of_an_episode_without_failures(told, kind):
    assert told(kind) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_hint_is_of_the_operation_that_failed(told, kind):
    assert {slot.partition("/")[0] for slot, *_ in told(kind, "write")} == {"write"}
    answers = {slot.partition("/")[0] for slot, *_ in told(kind, "answer")}
    assert answers == (set() if kind == "question_only" else {"answer"})
    reads = {slot.partition("/")[0] for slot, *_ in told(kind, "read")}  # the notes are right, so no write is blamed
    assert reads == ({"read"} if kind in ("with_exposed_states", "diagnostic") else set())


@pytest.mark.parametrize("kind", ["question_only", "vanilla", "with_answer"])
def test_kinds_without_states_tell_a_write_no_value(told, kind):
    found = told(kind, "write")
    assert found
    for _, hint, scenario in found:
        assert not [value for values in scenario.state_schema.values() for value in values if value in hint]


def test_the_right_choice_is_told_by_kinds_that_know_it(told):
    for kind in KINDS[1:]:
        found = told(kind, "answer")
        assert found
        for slot, hint, scenario in found:
            period, question = (int(part[1:]) for part in slot.split("/")[1:])
            right = scenario.questions[question].answer_choices[scenario.golden(period, question)].answer
            assert (right in hint) == (kind != "vanilla")


def test_the_diagnosis_names_what_was_lost_with_its_value(told):
    found = told("diagnostic", "write")
    assert found
    for slot, hint, scenario in found:
        period = int(slot.split("/")[1][1:])
        named = dict(part.split(": ") for part in hint.removeprefix("Do not forget: ").split("; "))
        assert named and named.items() <= scenario.periods[period].state.items()


def test_a_memory_is_what_prompts_show_of_it_and_not_what_the_record_says_was_told(first, forgetful):
    episode = first(forgetful())[0]
    message = {"role": "user", "content": "I sold it.", "exposed": {"pet animal": "tortoise"}}
    recent = [message | {"content": "A parrot!"}, message]
    episode.states[0] = {"recent": recent, "passed": 1, "entries": [{"value": "Iced Mocha"}]}
    memory = memory_at(episode, 0)
    assert hold_all(memory, ["iced mocha", "sold"])
    assert not hold_all(memory, ["tortoise"]) and not hold_all(memory, ["parrot"])  # never shown; shown no more
