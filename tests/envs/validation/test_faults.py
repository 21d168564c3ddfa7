"""One test per planted fault: it is found, and told with its item, period and field, and nothing else is complained about."""

import pytest

from amemgym_envs.amemgym.languages import wording
from amemgym_envs.amemgym.languages.words import mentions

PACK = wording("en")
VARIABLES = {variable.name: variable for variable in PACK.variables}
P = 2  # the period that most tests spoil


@pytest.fixture
def item(items):
    """The second of three items: the one that is spoilt."""
    return items[1]


@pytest.fixture
def found(items, item, validated):
    """Validates the items; {(period, field): problems} of the spoilt one. The others must still be right."""

    def run():
        violations = validated(items).violations
        assert {fault.item for fault in violations} <= {item["id"]}
        problems = {}
        for fault in violations:
            place = fault.period, fault.field
            problems[place] = f"{problems[place]}; {fault.problem}" if place in problems else fault.problem
        return problems

    return run


def golden(item, p, q=0):
    question, state = item["qas"][q], item["periods"][p]["state"]
    target = [state[name] for name in question["required_info"]]
    return next(c for c, choice in enumerate(question["answer_choices"]) if choice["state"] == target)


def golden_periods(item, choice, q=0):
    return {p for p in range(len(item["periods"])) if golden(item, p, q) == choice}


def session(item, telling, p=P):
    """(field, session) of the first session of the period that tells something, or that does not."""
    sessions = item["periods"][p]["sessions"]
    s = next(i for i, s in enumerate(sessions) if bool(s["exposed_states"]) == telling)
    return f"periods[{p}].sessions[{s}]", sessions[s]


def another(item, name, *values):
    return next(value for value in item["state_schema"][name] if value not in values)


def test_a_missing_golden_choice(item, found):
    c = golden(item, P)
    periods = golden_periods(item, c)
    del item["qas"][0]["answer_choices"][c]
    problems = found()
    assert P in periods and set(problems) == {(p, "qas[0].answer_choices") for p in periods}
    state = [item["periods"][P]["state"][name] for name in item["qas"][0]["required_info"]]
    assert problems[P, "qas[0].answer_choices"] == f"0 choices have the state {state} of period {P}, expected exactly 1"


def test_two_golden_choices(item, found):
    c = golden(item, P)
    periods = golden_periods(item, c)
    choices = item["qas"][0]["answer_choices"]
    choices.append(choices[c] | {"answer": f"{choices[c]['answer']} indeed"})
    problems = found()
    assert set(problems) == {(p, "qas[0].answer_choices") for p in periods}
    assert "2 choices have the state" in problems[P, "qas[0].answer_choices"]


def test_a_state_outside_the_schema(item, found):
    name = next(iter(item["state_schema"]))
    item["periods"][P]["state"][name] = "nonsense"
    problem = found()[P, f"periods[{P}].state.{name}"]
    assert "got 'nonsense', expected one of" in problem and item["state_schema"][name][0] in problem


def test_a_state_that_is_missing(item, found):
    name = next(iter(item["state_schema"]))
    del item["periods"][-1]["state"][name]
    assert f"expected an object with {name!r}" in found()[3, "periods[3].state"]


def test_a_choice_outside_the_schema(item, found):
    c = golden(item, P)
    name = item["qas"][0]["required_info"][1]
    item["qas"][0]["answer_choices"][c]["state"][1] = "nonsense"
    assert "got 'nonsense'" in found()[None, f"qas[0].answer_choices[{c}].state.{name}"]


def test_a_choice_with_too_few_values(item, found):
    item["qas"][0]["answer_choices"][1]["state"].pop()
    field = "qas[0].answer_choices[1].state"
    assert "expected 2 values, one for each of" in found()[None, field]


def test_a_value_twice_in_the_schema(item, found):
    name, values = next(iter(item["state_schema"].items()))
    values.append(values[0])
    assert set(problems := found()) == {(None, f"state_schema.{name}")}
    assert "expected distinct values" in problems[None, f"state_schema.{name}"]


def test_a_question_about_something_unknown(item, found):
    item["qas"][1]["required_info"][0] = "shoe size"
    problem = found()[None, "qas[1].required_info"]
    assert "got 'shoe size', expected an info type of state_schema" in problem


def test_an_update_that_the_states_do_not_say(item, found):
    name, update = next(iter(item["periods"][P]["updates"].items()))
    update["old"] = another(item, name, update["old"], update["new"])
    field = f"periods[{P}].updates.{name}"
    assert set(problems := found()) == {(P, field)}
    assert "as the states say" in problems[P, field]


def test_a_change_that_no_update_has(item, found):
    name = next(iter(item["periods"][P]["updates"]))
    del item["periods"][P]["updates"][name]
    assert "got None, expected" in found()[P, f"periods[{P}].updates.{name}"]


def test_a_session_outside_its_period(item, found):
    s = len(item["periods"][P]["sessions"]) - 1
    item["periods"][P]["sessions"][s]["session_time"] = "2031-01-01 10:00:00"
    field = f"periods[{P}].sessions[{s}].session_time"
    assert set(problems := found()) == {(P, field)}
    assert "expected a time from 2021-01-01 to 2021-04-01" in problems[P, field]


def test_sessions_out_of_order(item, found):
    first, second = item["periods"][P]["sessions"][:2]
    first["session_time"], second["session_time"] = second["session_time"], first["session_time"]
    field = f"periods[{P}].sessions[1].session_time"
    assert set(problems := found()) == {(P, field)}
    assert f"expected a time after {first['session_time']}" in problems[P, field]


def test_times_that_go_back_from_one_period_to_the_next(item, found):
    """Both lie inside their periods, which share a day."""
    last, first = item["periods"][P - 1]["sessions"][-1], item["periods"][P]["sessions"][0]
    last["session_time"], first["session_time"] = "2021-01-01 23:00:00", "2021-01-01 01:00:00"
    field = f"periods[{P}].sessions[0].session_time"
    assert set(problems := found()) == {(P, field)}
    assert "expected a time after 2021-01-01 23:00:00, that of the session before" in problems[P, field]


def test_a_life_that_starts_elsewhere(item, found):
    item["start_time"] = "1999-01-01"
    assert found() == {(0, "periods[0].period_end"): "got '2020-10-01', expected 1999-01-01, the start_time"}


@pytest.mark.parametrize("time", ["2021-02-30 10:00:00", "2021-2-3 10:00:00", "yesterday", "2021-02-03T10:00:00"])
def test_a_time_that_is_none(item, found, time):
    item["periods"][P]["sessions"][0]["session_time"] = time
    field = f"periods[{P}].sessions[0].session_time"
    assert set(problems := found()) == {(P, field)}
    assert f"got {time!r}, expected a time like" in problems[P, field]


def test_a_gap_between_periods(item, found):
    item["periods"][P]["period_start"] = "2021-01-02"
    field = f"periods[{P}].period_start"
    assert set(problems := found()) == {(P, field)}
    assert "got '2021-01-02', expected 2021-01-01, where the last period ends" in problems[P, field]


def test_a_period_that_ends_before_it_starts(item, found):
    item["periods"][3]["period_end"] = "2021-03-31"
    assert "expected a date after 2021-04-01" in found()[3, "periods[3].period_end"]


def test_a_start_that_is_no_date(item, found):
    item["start_time"] = "October"
    assert set(problems := found()) == {(None, "start_time")}
    assert "got 'October', expected a date like 2020-10-01" in problems[None, "start_time"]


def test_a_change_that_is_told_nowhere(item, found):
    _, told = session(item, telling=True)
    [(name, value)] = told["exposed_states"].items()
    item["periods"][P]["sessions"].remove(told)
    field = f"periods[{P}].sessions"
    assert set(problems := found()) == {(P, field)}
    assert problems[P, field] == f"the change of {name!r} to {value!r} is told in no session"


def test_a_change_that_is_told_in_another_period(item, found):
    _, told = session(item, telling=True)
    [(name, value)] = told["exposed_states"].items()
    path, host = session(item, telling=True, p=P + 1)
    item["periods"][P]["sessions"].remove(told)
    host["exposed_states"] = host["exposed_states"] | told["exposed_states"]
    problems = found()
    assert "is told in no session" in problems[P, f"periods[{P}].sessions"]
    assert f"{name!r}: {value!r}" in problems[P + 1, f"{path}.query"]


def test_an_exposure_with_a_wrong_value(item, found):
    path, told = session(item, telling=True)
    [(name, value)] = told["exposed_states"].items()
    told["exposed_states"][name] = wrong = another(item, name, value)
    assert set(problems := found()) == {(P, f"periods[{P}].sessions"), (P, f"{path}.query")}
    assert problems[P, f"periods[{P}].sessions"] == f"{name!r} is told as {wrong!r}, but is {value!r} at the end of the period"


@pytest.mark.parametrize("kind", ["direct", "indirect", "event"])
def test_an_opening_that_tells_another_value(item, found, kind):
    path, told = session(item, telling=True)
    [(name, value)] = told["exposed_states"].items()
    wrong = another(item, name, value)
    said = VARIABLES[name].sentences(wrong, kind, first=False, phrasings="all")[0]
    told["query"] = f"{PACK.news_openers[0]} {said}"
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert problems[P, f"{path}.query"] == f"got { ({name: wrong})!r}, expected { ({name: value})!r}, the exposed states"


def test_an_opening_that_tells_nothing(item, found):
    path, told = session(item, telling=True)
    told["query"] = PACK.news_openers[0]
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert problems[P, f"{path}.query"].startswith("got {}, expected")


def test_an_opening_that_cannot_be_read_back(item, found):
    path, told = session(item, telling=True)
    told["query"] += " Those were the words of a stranger."
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert "cannot be read back: no phrase of the language pack starts with 'Those were" in problems[P, f"{path}.query"]


def test_an_off_topic_message_that_names_a_value(item, found):
    path, spoilt = session(item, telling=True)
    value = item["state_schema"][next(iter(item["state_schema"]))][0]
    spoilt["off_topic"][0] = f"What do you know about {value}?"
    assert not any(mentions(text, value) for text in PACK.off_topic)
    assert set(problems := found()) == {(P, f"{path}.off_topic[0]")}
    assert f"an off-topic text mentions {value!r}, a value of the schema" in problems[P, f"{path}.off_topic[0]"]


def test_an_off_topic_session_that_names_a_value(item, found):
    path, spoilt = session(item, telling=False)
    value = item["state_schema"][next(iter(item["state_schema"]))][0]
    spoilt["query"] = f"What do you know about {value}?"
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert f"an off-topic text mentions {value!r}, a value of the schema" in problems[P, f"{path}.query"]


@pytest.mark.parametrize("where", ["off_topic", "query"])
def test_an_off_topic_text_that_tells_a_value_without_naming_it(item, found, where):
    path, spoilt = session(item, telling=False)
    name, values = next(iter(item["state_schema"].items()))
    said = VARIABLES[name].implies[values[0]]["event"][0]
    if where == "query":
        spoilt["query"], field = said, f"{path}.query"
    else:
        spoilt["off_topic"], field = [said], f"{path}.off_topic[0]"
    assert set(problems := found()) == {(P, field)}
    assert problems[P, field].endswith("expected off-topic phrases of the language pack and nothing else")


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


def test_a_wrong_count_of_updates(item, found):
    name = next(iter(item["state_schema"]))
    item["periods"][P]["update_cnts"][name] += 1
    field = f"periods[{P}].update_cnts"
    assert set(problems := found()) == {(P, field)}
    assert "the changes so far" in problems[P, field]


@pytest.mark.parametrize(
    ("key", "value", "least"),
    [
        ("rounds_init", True, 1),
        ("rounds_init", 10**9, 1),
        ("rounds_update", "4", 1),
        ("reply_tokens", -9, 0),
        ("reply_tokens", 100_001, 0),
    ],
)
def test_rounds_that_cannot_be_played(item, found, key, value, least):
    item["generator"][key] = value
    assert found()[None, f"generator.{key}"] == f"got {value!r}, expected a whole number from {least} to 100000"


def test_a_language_that_there_is_not(item, found):
    item["generator"]["language"] = "xx"
    assert set(problems := found()) == {(None, "generator.language")}
    assert problems[None, "generator.language"].startswith("language is 'xx', expected one of en, zh")


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
def test_an_off_topic_text_that_is_none_of_the_pack(item, found, writer, where, text):
    item["generator"]["writer"] = writer
    path, spoilt = session(item, telling=where == "off_topic")
    field = f"{path}.query" if where == "query" else f"{path}.off_topic[0]"
    spoilt[where] = text if where == "query" else [text]
    assert set(problems := found()) == {(P, field)}
    assert "expected off-topic phrases of the language pack" in problems[P, field] or "cannot be read back" in problems[P, field]


def test_an_opening_without_an_opener(item, found):
    path, told = session(item, telling=True)
    opener = next(text for text in (*PACK.openers, *PACK.news_openers) if told["query"].startswith(text))
    told["query"] = told["query"].removeprefix(opener).strip()
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert problems[P, f"{path}.query"].endswith("expected an opener of the language pack at the start")


@pytest.mark.parametrize("writer", ["llm", None])
def test_an_opening_that_is_empty_whoever_wrote_it(item, found, writer):
    path, told = session(item, telling=True)
    told["query"] = " "
    if writer:
        item["generator"]["writer"] = writer
    else:
        del item["generator"]
    assert set(problems := found()) == {(P, f"{path}.query")}
    assert problems[P, f"{path}.query"] == f"got ' ', expected words that tell {told['exposed_states']}"


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


def test_messages_before_anything_was_played(item, found):
    path, told = session(item, telling=True)
    told["messages"] = [{"role": "user", "content": "secret"}]
    assert set(problems := found()) == {(P, f"{path}.messages")}
    assert "expected an empty list" in problems[P, f"{path}.messages"]


@pytest.mark.parametrize(("key", "value"), [("split", "dev"), ("split", 7), ("disjoint", "nonsense"), ("disjoint", None)])
def test_a_mark_with_unknown_words(item, found, key, value):
    item["generator"][key] = value
    assert found()[None, f"generator.{key}"].startswith(f"got {value!r}, expected one of ")


@pytest.mark.parametrize("mark", [{"writer": "Templates"}, {"writer": ["templates"]}, {"split": "train"}, "templates", {}, None])
def test_a_writer_that_is_none_of_ours(item, found, mark):
    item["generator"] = mark
    writer = mark.get("writer") if isinstance(mark, dict) else None
    assert found() == {(None, "generator.writer"): f"got {writer!r}, expected one of templates, llm"}


def test_an_item_without_a_mark_lacks_what_only_our_writers_promise(items, item, validated):
    del item["generator"]
    _, told = session(item, telling=True)
    told["query"] = "Some words."
    report = validated(items)
    assert report.violations == []
    assert "no generator key: what only our writers promise is not checked" in report.lacks
