"""The questions that stand for a user, and the one name of each thing they require."""

import asyncio

import pytest

from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.llm.caller import GaveUp
from amemgym_envs.amemgym.llm.schema import Asked, QuestionBank


def question(query, **types):
    return {"question": query, "info_types": [{"name": name, "values": values.split()} for name, values in types.items()]}


class Speaker:
    """Proposes ``rounds`` one after another; merges ``groups`` of what is listed; unifies to ``unified``."""

    def __init__(self, *rounds, groups=(), unified=("u", "v", "w")):
        self.rounds, self.groups, self.unified = list(rounds), groups, list(unified)
        self.merged, self.asked = [], []

    def __call__(self, messages):
        request = messages[0]["content"]
        if request.startswith("Task: propose"):
            self.asked.append(request)
            return {"questions": self.rounds.pop(0) if len(self.rounds) > 1 else self.rounds[0]}
        if request.startswith("Task: find info types"):
            self.merged.append([line[2:].partition(":")[0] for line in request.splitlines() if line.startswith("- ")])
            groups = [{"name": name, "members": [m for m in members if m in self.merged[-1]]} for name, members in self.groups]
            return {"groups": [group for group in groups if len(group["members"]) > 1]}
        return {"values": self.unified}


@pytest.fixture
def bank(caller, settings):
    def bank(speaker, questions=2, max_resamples=3):
        config = GeneratorConfig(**settings | {"num_questions": questions, "num_variables": 3})
        return QuestionBank(caller(speaker), config, max_resamples)

    return bank


def take(bank):
    return asyncio.run(bank.take())


FIRST = question("What now?", mood="sad calm glad", sleep="short fair long")
SECOND = question("What then?", temper="low mid high", diet="raw mixed cooked")
THIRD = question("Where to?", place="sea hills town", month="may june july")


def test_near_duplicates_get_one_name_and_one_set_of_values(bank):
    ours = bank(Speaker([FIRST, SECOND], groups=[("state_of_mind", ["mood", "temper"])]))
    assert take(ours) == [Asked("What now?", ("state_of_mind", "sleep")), Asked("What then?", ("state_of_mind", "diet"))]
    assert ours.schema["state_of_mind"] == ["u", "v", "w"] and ours.schema["diet"] == ["raw", "mixed", "cooked"]
    assert set(ours.schema) == {"state_of_mind", "sleep", "diet"}


def test_one_name_with_two_sets_of_values_is_unified_too(bank):
    again = question("And now?", mood="bad fine good", place="sea hills town")
    ours = bank(Speaker([FIRST, again]))
    assert [asked.required for asked in take(ours)] == [("mood", "sleep"), ("mood", "place")]
    assert ours.schema["mood"] == ["u", "v", "w"]


def test_what_is_known_keeps_its_name_and_values(bank):
    """New proposals join the schema of those that stand; texts were written for its values already."""
    speaker = Speaker([FIRST, THIRD], [SECOND], groups=[("temper", ["mood", "temper"])])
    ours = bank(speaker)
    first, third = take(ours)
    ours.drop([third], "answers", "none")
    assert take(ours) == [first, Asked("What then?", ("mood", "diet"))]
    assert ours.schema["mood"] == ["sad", "calm", "glad"] and "temper" not in ours.schema
    assert speaker.merged == [["mood", "sleep", "place", "month"], ["mood", "sleep", "place", "month", "temper", "diet"]]
    assert all(known in speaker.asked[1] for known in ("What now?", "Where to?", "mood, sleep, place, month"))


def test_a_question_that_requires_one_thing_twice_does_not_stand(bank):
    speaker = Speaker(
        [question("Same?", mood="sad calm glad", temper="low mid high"), FIRST, THIRD], groups=[("m", ["mood", "temper"])]
    )
    assert [asked.query for asked in take(bank(speaker))] == ["What now?", "Where to?"]


def test_spares_take_the_place_of_what_is_dropped(bank):
    speaker = Speaker([FIRST, SECOND, THIRD])
    ours = bank(speaker)
    first, second = take(ours)
    ours.drop([first], "answers", "none")
    assert [asked.query for asked in take(ours)] == ["What then?", "Where to?"] and len(speaker.asked) == 1
    assert "Propose 3 questions" in speaker.asked[0] and second.query == "What then?"


def test_ill_formed_proposals_are_left_out(bank):
    bad = [
        question("Too few?", mood="sad calm glad"),
        question("Values?", mood="sad calm", sleep="short fair long"),
        question("", mood="sad calm glad", sleep="short fair long"),
        {"question": "No types?"},
        "What?",
    ]
    assert [asked.query for asked in take(bank(Speaker([*bad, FIRST, THIRD])))] == ["What now?", "Where to?"]
    with pytest.raises(GaveUp, match="propose: nothing usable in 2 tries; the last complaint: .*questions.4.*expected an object"):
        take(bank(Speaker(bad)))


def test_a_model_that_repeats_itself_is_given_up(bank):
    speaker = Speaker([FIRST, FIRST | {"question": "WHAT NOW?"}])
    with pytest.raises(GaveUp, match="propose: 1 questions are still missing; more than 3 resamples would be needed"):
        take(bank(speaker))
    assert len(speaker.asked) == 4  # none of them answered from the journal, though the last three read the same


BAD_GROUPS = [
    [("mood", ["mood", "unknown"])],
    [("sleep", ["mood", "place"])],
    [("a", ["mood", "sleep"]), ("b", ["mood", "place"])],
    [("a", ["mood", "sleep"]), ("a", ["place", "month"])],
    [("a", ["mood", "mood"])],
]


@pytest.mark.parametrize("groups", BAD_GROUPS)
def test_groups_that_make_no_sense_are_asked_for_again(bank, groups):
    speaker, complaints = Speaker([FIRST, THIRD]), []

    def speak(messages):
        if messages[0]["content"].startswith("Task: find info types") and len(messages) == 1:
            return {"groups": [{"name": name, "members": members} for name, members in groups]}
        complaints.extend(message["content"] for message in messages[2:])
        return speaker(messages)

    assert [asked.required for asked in take(bank(speak))] == [("mood", "sleep"), ("place", "month")]
    assert len(complaints) == 1 and "This cannot be used: your reply, field groups[" in complaints[0]
