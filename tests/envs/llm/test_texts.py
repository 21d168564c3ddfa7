"""Answers and events: what is refused, and with which words."""

import asyncio
from datetime import date

import pytest

from amemgym_envs.amemgym.llm.answers import write_answers
from amemgym_envs.amemgym.llm.caller import GaveUp
from amemgym_envs.amemgym.llm.events import Event, write_story
from amemgym_envs.amemgym.llm.schema import Asked

QUESTION = Asked("What now?", ("mood_now", "sleep"))
POOLS = {"mood_now": ["very_sad", "glad"], "sleep": ["short", "long"]}
GOOD = [f"Number {i} is a piece of advice of some length." for i in range(1, 5)]


def answers(caller, drafts, later=None, guesses=None):
    """``guesses``: {answer: combination}; by default the reader is right about GOOD."""
    known = {answer: i for i, answer in enumerate(GOOD, start=1)} | (guesses or {})

    def speak(messages):
        request = messages[0]["content"]
        if request.startswith("Task: tell for which"):
            return {"combination": next((n for text, n in known.items() if text in request), 0)}
        if request.startswith("Task: write one piece"):
            return {"answer": later}
        return {"answers": drafts}

    return asyncio.run(write_answers(caller(speak), QUESTION, POOLS))


def test_answers_follow_the_grid(caller):
    grid = [("very_sad", "short"), ("very_sad", "long"), ("glad", "short"), ("glad", "long")]
    assert answers(caller, GOOD) == dict(zip(grid, GOOD, strict=True))


def test_only_what_was_misread_is_written_again(caller):
    drafts = [*GOOD[:3], "Something that may mean this or that or those."]
    assert list(answers(caller, drafts, GOOD[3], {drafts[3]: 1}).values()) == GOOD


@pytest.mark.parametrize(
    ("drafts", "complaint"),
    [
        (GOOD[:3], "expected 4 different answers"),
        ([*GOOD, "One more piece of advice of a good length."], "expected 4 different answers"),
        ([*GOOD[:3], GOOD[0]], "expected 4 different answers"),
        ([*GOOD[:3], "Too short."], "bring 4 to about 45 characters"),
        ([*GOOD[:3], "Far too long. " * 20], "bring 4 to about 45 characters"),
        ([*GOOD[:3], "You are very_sad, so rest for the whole day."], "the text contains very_sad; say it in plain words"),
        ([*GOOD[:3], "Your mood_now is low, rest for the whole day."], "the text contains mood_now; say it in plain words"),
        ([*GOOD[:3], 4], "expected a string"),
        ("none", "expected a list"),
    ],
)
def test_drafts_that_give_themselves_away(caller, drafts, complaint):
    with pytest.raises(GaveUp, match=f"^answers: nothing usable in 2 tries; the last complaint: .*{complaint}"):
        answers(caller, drafts)


@pytest.mark.parametrize(
    ("later", "guess", "complaint"),
    [
        ("Too short.", 4, "the answer has 10 characters, expected 28 to 73"),
        (
            "Something that may mean this or that or those.",
            2,
            r"combination 2 \(mood_now = very_sad, sleep = long\), but .* 4 \(",
        ),
        ("Something that may mean this or that or those.", 0, "could not tell for which combination"),
        ("Something that may mean this or that or those.", 5, "could not tell for which combination"),
    ],
)
def test_an_answer_that_stays_bad_is_the_questions_end(caller, later, guess, complaint):
    vague = "Some words that may mean this or that or those."
    with pytest.raises(GaveUp, match=f"^answer: nothing usable in 2 tries; the last complaint: .*{complaint}"):
        answers(caller, [*GOOD[:3], vague], later, {vague: 1, later: guess})


STATES = [{"mood": "sad", "sleep": "short", "diet": "raw"}, {"mood": "glad", "sleep": "long", "diet": "raw"}]
WINDOW = (date(2020, 10, 1), date(2021, 1, 1))


def story(caller, period, *events, most=2, seen=None, **more):
    def speak(messages):
        if seen is not None:
            seen.append(messages[0]["content"])
        return {"events": [{"event": text, "info_types": names} for text, *names in events], **more}

    return asyncio.run(write_story(caller(speak), STATES, period, WINDOW, most))


def test_an_event_explains_the_new_values(caller):
    seen = []
    told = story(caller, 1, ("A holiday.", "sleep", "mood"), summary="It went\nwell.", seen=seen)
    assert told.summary == "It went well." and told.events == [Event("A holiday.", {"sleep": "long", "mood": "glad"})]
    assert "- mood: from sad to glad" in seen[0] and "- diet: raw" in seen[0] and "2020-10-01" in seen[0]


def test_the_first_period_tells_everything(caller):
    told = story(caller, 0, ("Hello.", "diet"), ("Good day.", "mood", "sleep"))
    assert told.summary is None and [event.states for event in told.events] == [
        {"diet": "raw"},
        {"mood": "sad", "sleep": "short"},
    ]


@pytest.mark.parametrize(
    ("period", "events", "complaint"),
    [
        (1, [("A.", "sleep")], "no event covers mood"),
        (1, [("A.", "sleep"), ("B.", "sleep", "mood")], "expected 1 to 2 of the facts above, each in one event only"),
        (1, [("A.", "sleep", "mood"), ("B.", "diet")], "expected 1 to 2 of the facts above"),
        (0, [("A.", "sleep", "mood", "diet")], "expected 1 to 2 of the facts above"),
        (0, [("A.", "sleep", "sleep"), ("B.", "mood", "diet")], "expected 1 to 2 of the facts above"),
        (0, [("A.",), ("B.", "mood", "diet")], "expected a list of at least 1"),
        (0, [(" ", "sleep")], "expected a text of 1 to"),
    ],
)
def test_events_that_do_not_add_up(caller, period, events, complaint):
    stage = "period" if period else "introduce"
    with pytest.raises(GaveUp, match=f"^{stage}: nothing usable in 2 tries; the last complaint: .*{complaint}"):
        story(caller, period, *events, summary="Well.")
