"""One test per planted fault: it is found, and told with its item, period and field, and nothing else is complained about."""

import pytest

P = 2  # the period that most tests spoil


def golden(item, p, q=0):
    question, state = item["qas"][q], item["periods"][p]["state"]
    target = [state[name] for name in question["required_info"]]
    return next(c for c, choice in enumerate(question["answer_choices"]) if choice["state"] == target)


def golden_periods(item, choice, q=0):
    return {p for p in range(len(item["periods"])) if golden(item, p, q) == choice}


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


def test_an_update_that_the_states_do_not_say(item, found, another):
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


def test_messages_before_anything_was_played(item, found, session):
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


def test_an_item_without_a_mark_lacks_what_only_our_writers_promise(items, item, validated, session):
    del item["generator"]
    _, told = session(item, telling=True)
    told["query"] = "Some words."
    report = validated(items)
    assert report.violations == []
    assert "no generator key: what only our writers promise is not checked" in report.lacks
