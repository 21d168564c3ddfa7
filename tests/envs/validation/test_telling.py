"""Planted faults of telling: what is told where, and what openings and off-topic texts say."""

import pytest

from amemgym_envs.amemgym.languages import wording
from amemgym_envs.amemgym.languages.words import mentions

PACK = wording("en")
VARIABLES = {variable.name: variable for variable in PACK.variables}
P = 2  # the period that most tests spoil


def test_a_change_that_is_told_nowhere(item, found, session):
    _, told = session(item, telling=True)
    [(name, value)] = told["exposed_states"].items()
    item["periods"][P]["sessions"].remove(told)
    field = f"periods[{P}].sessions"
    assert set(problems := found()) == {(P, field)}
    assert problems[P, field] == f"the change of {name!r} to {value!r} is told in no session"


def test_a_change_that_is_told_in_another_period(item, found, session):
    _, told = session(item, telling=True)
    [(name, value)] = told["exposed_states"].items()
    path, host = session(item, telling=True, p=P + 1)
    item["periods"][P]["sessions"].remove(told)
    host["exposed_states"] = host["exposed_states"] | told["exposed_states"]
    problems = found()
    assert "is told in no session" in problems[P, f"periods[{P}].sessions"]
    assert f"{name!r}: {value!r}" in problems[P + 1, f"{path}.query"]


def test_an_exposure_with_a_wrong_value(item, found, session, another):
    path, told = session(item, telling=True)
    [(name, value)] = told["exposed_states"].items()
    told["exposed_states"][name] = wrong = another(item, name, value)
    assert set(problems := found()) == {(P, f"periods[{P}].sessions"), (P, f"{path}.query")}
    assert problems[P, f"periods[{P}].sessions"] == f"{name!r} is told as {wrong!r}, but is {value!r} at the end of the period"


@pytest.mark.parametrize("kind", ["direct", "indirect", "event"])
def test_an_opening_that_tells_another_value(item, found, kind, session, another):
    path, told = session(item, telling=True)
    [(name, value)] = told["exposed_states"].items()
    wrong = another(item, name, value)
    said = VARIABLES[name].sentences(wrong, kind, first=False, phrasings="all")[0]
    told["query"] = f"{PACK.news_openers[0]} {said}"
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert problems[P, f"{path}.query"] == f"got { ({name: wrong})!r}, expected { ({name: value})!r}, the exposed states"


def test_an_opening_that_tells_nothing(item, found, session):
    path, told = session(item, telling=True)
    told["query"] = PACK.news_openers[0]
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert problems[P, f"{path}.query"].startswith("got {}, expected")


def test_an_opening_that_cannot_be_read_back(item, found, session):
    path, told = session(item, telling=True)
    told["query"] += " Those were the words of a stranger."
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert "cannot be read back: no phrase of the language pack starts with 'Those were" in problems[P, f"{path}.query"]


def test_an_off_topic_message_that_names_a_value(item, found, session):
    path, spoilt = session(item, telling=True)
    value = item["state_schema"][next(iter(item["state_schema"]))][0]
    spoilt["off_topic"][0] = f"What do you know about {value}?"
    assert not any(mentions(text, value) for text in PACK.off_topic)
    assert set(problems := found()) == {(P, f"{path}.off_topic[0]")}
    assert f"an off-topic text mentions {value!r}, a value of the schema" in problems[P, f"{path}.off_topic[0]"]


def test_an_off_topic_session_that_names_a_value(item, found, session):
    path, spoilt = session(item, telling=False)
    value = item["state_schema"][next(iter(item["state_schema"]))][0]
    spoilt["query"] = f"What do you know about {value}?"
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert f"an off-topic text mentions {value!r}, a value of the schema" in problems[P, f"{path}.query"]


@pytest.mark.parametrize("where", ["off_topic", "query"])
def test_an_off_topic_text_that_tells_a_value_without_naming_it(item, found, where, session):
    path, spoilt = session(item, telling=False)
    name, values = next(iter(item["state_schema"].items()))
    said = VARIABLES[name].implies[values[0]]["event"][0]
    if where == "query":
        spoilt["query"], field = said, f"{path}.query"
    else:
        spoilt["off_topic"], field = [said], f"{path}.off_topic[0]"
    assert set(problems := found()) == {(P, field)}
    assert problems[P, field].endswith("expected off-topic phrases of the language pack and nothing else")


def test_generated_sessions_that_say_nothing_of_what_they_expose(item, found):
    for period in item["periods"]:
        for told in period["sessions"]:
            told["exposed_states"] = {}
    assert found() == {(None, "periods[0].sessions"): "no session says which states it exposes"}


def test_a_schema_that_leaves_no_follow_up(items, item, validated, monkeypatch):
    value = item["state_schema"][next(iter(item["state_schema"]))][0]
    monkeypatch.setitem(vars(PACK), "follow_ups", (f"Is {value} a good thing?",))
    faults = [(fault.item, fault.field) for fault in validated(items).violations]
    assert faults == [(item["id"], "state_schema")]


@pytest.mark.parametrize("text", ["", " ", "Hi, nice to meet you.", PACK.corrections[0], PACK.openers[0], "Any words of my own."])
@pytest.mark.parametrize("writer", ["templates", "llm"])
@pytest.mark.parametrize("where", ["query", "off_topic"])
def test_an_off_topic_text_that_is_none_of_the_pack(item, found, writer, where, text, session):
    item["generator"]["writer"] = writer
    path, spoilt = session(item, telling=where == "off_topic")
    field = f"{path}.query" if where == "query" else f"{path}.off_topic[0]"
    spoilt[where] = text if where == "query" else [text]
    assert set(problems := found()) == {(P, field)}
    assert "expected off-topic phrases of the language pack" in problems[P, field] or "cannot be read back" in problems[P, field]


def test_an_opening_without_an_opener(item, found, session):
    path, told = session(item, telling=True)
    opener = next(text for text in (*PACK.openers, *PACK.news_openers) if told["query"].startswith(text))
    told["query"] = told["query"].removeprefix(opener).strip()
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert problems[P, f"{path}.query"].endswith("expected an opener of the language pack at the start")


@pytest.mark.parametrize("writer", ["llm", None])
def test_an_opening_that_is_empty_whoever_wrote_it(item, found, writer, session):
    path, told = session(item, telling=True)
    told["query"] = " "
    if writer:
        item["generator"]["writer"] = writer
    else:
        del item["generator"]
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert problems[P, f"{path}.query"] == f"got ' ', expected words that tell {told['exposed_states']}"
