"""What each kind of feedback tells of the same episodes, and what it must not."""

from dataclasses import replace
from typing import get_args

import pytest

from amemgym_train.config.reflection import FeedbackKind
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.reflection.cases import cases_of
from amemgym_train.reflection.feedback import TOLD, Feedback, summarise

KINDS = get_args(FeedbackKind)
ROOM = 20_000


def cases_in(episodes, users):
    return [case for one in episodes for case in cases_of(one, users[one.task], diagnose(one))]


@pytest.fixture
def cases(first, forgetful, users):
    """Of agents that write nothing they could answer from, and answer wrong even so."""
    return cases_in(first(forgetful("write", "answer")), users)


def test_a_case_holds_what_the_scenario_and_the_episode_say(cases, users):
    for case in cases:
        scenario = users[case.user]
        [question] = [
            one
            for one in scenario.questions
            if (one.query, tuple(choice.answer for choice in one.answer_choices)) == (case.query, case.choices)
        ]
        assert set(case.states) == set(question.required_info)
        assert question.answer_choices[case.golden].state == [case.states[name] for name in question.required_info]
        assert case.said and set(case.said) <= {session.query for period in scenario.periods for session in period.sessions}
        assert not case.held and case.cell.outcome == "write" and case.failed


@pytest.mark.parametrize("kind", KINDS)
def test_a_feedback_is_bounded_and_survives_json(cases, kind):
    for limit in (100, 700, 2000, ROOM):
        found = summarise(cases, kind, limit)
        assert len(found.text) <= limit
        assert Feedback.from_dict(found.to_dict()) == found
    assert found.left_out == 0 and found.counts["asked"] == len(cases)
    assert summarise(cases, kind, 100).shown == () and summarise(cases, kind, 100).left_out == len(found.shown)
    assert summarise([], kind, ROOM).shown == ()


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_tells_no_more_than_it_may(cases, kind):
    text = summarise(cases, kind, ROOM).text
    case = cases[0]
    told = {
        "question": case.query in text,
        "choices": any(choice in text for choice in case.choices),
        "own answer": "The agent answered" in text,
        "right answer": "Right was" in text,
        "states of the period": "had told in this period" in text,
        "outcome": any(TOLD[outcome] in text for outcome in ("write", "read", "utilisation")),
        "conversation": any(said in text for said in case.said),
        "memory": "The memory then" in text,
    }
    least = {"question", "memory"}
    expected = {
        "question_only": least,
        "vanilla": least | {"choices", "own answer"},
        "with_answer": least | {"choices", "own answer", "right answer"},
        "with_exposed_states": least | {"choices", "own answer", "right answer", "states of the period"},
        "diagnostic": least | {"choices", "own answer", "right answer", "outcome", "conversation"},
    }
    assert {name for name, is_told in told.items() if is_told} == expected[kind]


def test_kinds_that_do_not_judge_are_the_same_whatever_was_right(cases, first, forgetful, users):
    """Else the choice of what is shown would tell what failed."""
    right = [case for case in cases_in(first(forgetful("write")), users)]
    assert any(case.right for case in right) and not any(case.right for case in cases)
    assert summarise(right, "question_only", ROOM).text == summarise(cases, "question_only", ROOM).text
    assert summarise(right, "with_answer", ROOM).text != summarise(cases, "with_answer", ROOM).text


def test_what_many_users_met_comes_first_and_is_told_once(cases, first, forgetful, users):
    some = next(iter(users))
    read_of_one = [case for case in cases_in(first(forgetful("answer")), users) if case.user == some]
    found = summarise([*read_of_one, *cases], "diagnostic", ROOM)
    assert [one.outcome for one in found.shown] == ["write", "utilisation"]
    assert found.shown[0].users == len(users) and found.shown[1].users == 1
    assert found.shown[0].times == len(cases) == found.counts["write"]
    assert found.text.count("write failure") == 1
    assert not any(name in found.text for name in users)
    assert not any(user.user_profile["name"] in found.text for user in users.values())


def test_what_the_memory_had_of_it_is_told_apart(first, forgetful, users):
    known = summarise(cases_in(first(forgetful("answer")), users), "diagnostic", ROOM)
    assert {one.held for one in known.shown} == {"whole"} and known.counts["utilisation"] == known.counts["asked"]
    exposed = summarise(cases_in(first(forgetful("answer")), users), "with_exposed_states", ROOM)
    assert exposed.counts["wrong_though_held"] == exposed.counts["wrong"] > 0
    lost = summarise(cases_in(first(forgetful("write", "answer")), users), "with_exposed_states", ROOM)
    assert lost.counts["wrong_though_held"] == 0 < lost.counts["wrong"]
    assert {one.held for one in lost.shown} == {"nothing"}


def test_an_answer_that_nobody_could_read_is_told_as_such_by_every_kind_that_sees_it(cases):
    unread = [replace(case, response=None) for case in cases]
    for kind in KINDS:
        found = summarise(unread, kind, ROOM)
        outcomes = {one.outcome for one in found.shown}
        assert outcomes == ({"asked"} if kind == "question_only" else {"unreadable"})
        assert ("nothing readable" in found.text) == (kind != "question_only")
