"""Whole users, written by the model of the transcript over real HTTP."""

import json
from collections import Counter
from itertools import product

import pytest

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.llm import WriterFailure
from amemgym_envs.amemgym.scenario import Scenario, check, load_scenarios, save_scenarios

OFFICE, CHOIR, PLANT, SUNDAYS = (
    "How should I plan my way to the office for the coming months?",
    "How do I get home safely after the choir rehearsal, and what should I practise there?",
    "What should I plant next?",
    "How should I spend my free Sundays?",
)


@pytest.fixture
def asked(server, stage_of):
    """How many requests of each stage the server has seen."""
    return lambda: Counter(stage_of(request) for request in server.requests)


def assert_told(user, transcript):
    """Each period's sessions tell exactly its updates, each in words that a reader understands, never in snake_case."""
    for period in user.periods:
        told = [state for session in period.sessions for state in session.exposed_states.items()]
        assert dict(told) == {name: update["new"] for name, update in period.updates.items()} and len(told) == len(dict(told))
        for session in period.sessions:
            assert session.messages == [] and session.event and "_" not in session.query
            assert all(transcript["says"][name][value] in session.query for name, value in session.exposed_states.items())
        times = [session.session_time for session in period.sessions]
        assert times == sorted(times) and times[-1] < period.period_end and (period.period_start or "") < times[0]


def test_a_user_from_proposal_to_episode(run, endpoint, tmp_path, transcript):
    [(number, user)], writer = run(endpoint(), tmp_path / "work", max_tries=4)
    assert number == 0 and isinstance(user, Scenario)
    check(user)
    save_scenarios(tmp_path / "data.json", [user])
    assert load_scenarios(tmp_path / "data.json") == [user] == load_scenarios(tmp_path / "work" / "user_0.json")
    AMemGymEnv([user]).reset(options={"task": user.id})

    # The question that nothing could be written for made room for the spare one; one thing was required twice elsewhere.
    assert [question.query for question in user.questions] == [OFFICE, CHOIR, PLANT]
    assert user.questions[1].required_info == ["commute_mode", "choir_role"]  # daily_transport was merged
    assert user.state_schema["commute_mode"] == ["city_bike", "night_tram", "old_car"]
    assert writer.report.dropped == {"merge": 1, "answers": 1}
    assert set(user.state_schema) == {name for question in user.questions for name in question.required_info}
    assert_told(user, transcript)
    assert [len(period.updates) for period in user.periods] == [5, 2, 2]
    assert user.periods[0].period_summary is None and user.periods[1].period_summary == transcript["summary"]
    assert max(len(session.exposed_states) for session in user.periods[0].sessions) == 2
    assert all(len(session.exposed_states) == 1 for period in user.periods[1:] for session in period.sessions)
    about = user.extra["generator"]
    assert (about["writer"], about["model"], about["language"]) == ("llm", "strong", "en")
    assert "disjoint" not in about  # the model's variables belong to no split


def test_choices_are_the_grid_of_what_the_life_may_hold(run, endpoint, tmp_path, transcript):
    [(_, user)], _ = run(endpoint(), tmp_path, max_tries=4)
    for q, question in enumerate(user.questions):
        states = [tuple(choice.state) for choice in question.answer_choices]
        assert sorted(states) == sorted(product(*({state[i] for state in states} for i in range(2)))) and len(states) == 4
        lived = {tuple(user.required_state(p, q).values()) for p in range(3)}
        assert {tuple(choice.state) for choice in question.answer_choices if choice.type == "experience"} == lived
        for choice in question.answer_choices:
            advice = [transcript["advice"][name][value] for name, value in zip(question.required_info, choice.state, strict=True)]
            assert choice.answer == " ".join(advice)  # also the one that was vague at first


def test_texts_that_fail_their_check_are_written_again(run, endpoint, tmp_path, server, asked):
    run(endpoint(), tmp_path, max_tries=4)
    again = [request["messages"] for request in server.requests if len(request["messages"]) == 3]
    complaints = [messages[2]["content"] for messages in again]
    assert any("understood choir_role as not told, expected" in complaint for complaint in complaints)
    assert any("took it for combination 4" in complaint and "meant for combination 2" in complaint for complaint in complaints)
    assert all(messages[1]["role"] == "assistant" for messages in again)
    assert asked()["propose"] == asked()["merge"] == asked()["unify"] == 1
    assert asked()["introduce"] == 1 and asked()["period"] == 2


def test_the_classifiers_see_no_person_and_are_greedy(run, endpoint, tmp_path, server, stage_of):
    run(endpoint(), tmp_path, max_tries=4)
    checks = [request for request in server.requests if stage_of(request).startswith("check")]
    others = [request for request in server.requests if not stage_of(request).startswith("check")]
    assert len(checks) > 20 and not any("Mara" in request["messages"][0]["content"] for request in checks)
    assert {request["temperature"] for request in checks} == {0.0} and {request["temperature"] for request in others} == {0.7}


def test_without_spares_a_new_question_is_asked_for_that_avoids_the_known_ones(run, endpoint, tmp_path, model, server, stage_of):
    model.vague.append(PLANT)
    [(_, user)], writer = run(endpoint(), tmp_path, max_tries=3)
    assert [question.query for question in user.questions] == [OFFICE, CHOIR, SUNDAYS]
    check(user)
    last = [r["messages"][0]["content"] for r in server.requests if stage_of(r) == "propose"][-1]
    assert all(topic in last for topic in (OFFICE, CHOIR, PLANT, "choir_role", "garden_space", "Propose 2 questions"))
    assert writer.report.dropped["answers"] == 2


def test_two_states_that_cannot_be_told_at_once_are_told_one_by_one(run, endpoint, tmp_path, model, transcript):
    whole = model.query

    def one_only(request, refined):
        reply = whole(request, refined)
        first, *more = [s for says in transcript["says"].values() for s in says.values() if s in reply["query"]] or [""]
        return {"query": first} if more else reply

    model.query = one_only
    [(_, user)], _ = run(endpoint(), tmp_path, max_tries=3)
    assert_told(user, transcript)
    assert all(len(session.exposed_states) == 1 for period in user.periods for session in period.sessions)


def test_a_state_that_cannot_be_told_costs_its_questions(run, endpoint, tmp_path, model, transcript):
    model.untold = list(transcript["says"]["garden_space"])
    [(_, user)], writer = run(endpoint(), tmp_path, max_tries=2)
    assert [question.query for question in user.questions] == [OFFICE, CHOIR, SUNDAYS]
    assert writer.report.dropped["queries"] == 1 and "garden_space" not in user.state_schema
    assert_told(user, transcript)


def test_resampling_has_an_end(run, endpoint, tmp_path, model, transcript):
    model.untold = list(transcript["says"]["garden_space"])
    [(_, failure)], writer = run(endpoint(), tmp_path, max_tries=2, max_resamples=1)
    assert isinstance(failure, WriterFailure) and failure.stage == "queries"
    assert "no query that tells garden_space" in failure.reason and "more than 1 resamples" in failure.reason
    assert writer.report.failures == [failure] and not (tmp_path / "user_0.json").exists()


def test_one_user_fails_while_others_finish(run, endpoint, tmp_path, model):
    model.junk = ["Jon Sand"]
    outcomes, writer = run(endpoint(), tmp_path, users=range(3), max_tries=3)
    assert [number for number, _ in outcomes] == [0, 1, 2]
    assert outcomes[1][1] == WriterFailure(
        1, "propose", "nothing usable in 3 tries; the last complaint: there is no JSON object in the reply"
    )
    assert [type(outcome) for _, outcome in outcomes] == [Scenario, WriterFailure, Scenario]
    assert outcomes[0][1].id != outcomes[2][1].id and writer.report.written == 2
    assert "user 1 failed at stage propose: nothing usable in 3 tries" in writer.report.lines()[-1]
    assert json.loads(json.dumps(writer.report.to_dict()))["failures"][0]["stage"] == "propose"


def test_a_user_is_the_same_alone_or_among_others(run, endpoint, tmp_path):
    alone, _ = run(endpoint(concurrency=1), tmp_path / "a", users=[2], max_tries=3)
    among, _ = run(endpoint(), tmp_path / "b", users=range(3), max_tries=3)
    assert among[2] == alone[0]
    assert (tmp_path / "a" / "user_2.json").read_bytes() == (tmp_path / "b" / "user_2.json").read_bytes()


def test_other_languages_are_named_in_every_writing_prompt(run, endpoint, tmp_path, server, stage_of, settings):
    [(_, user)], _ = run(endpoint(), tmp_path, config=settings | {"language": "zh"}, max_tries=3)
    assert user.extra["generator"]["language"] == "zh"
    for request in server.requests:
        named = "in Simplified Chinese" in request["messages"][0]["content"]
        assert named == (stage_of(request) in ("propose", "answers", "answer", "introduce", "period", "query"))


def test_a_finished_user_of_other_settings_is_not_taken_for_this_one(run, endpoint, tmp_path, server, settings):
    run(endpoint(), tmp_path, max_tries=3)
    calls = len(server.requests)
    [(_, user)], writer = run(endpoint(), tmp_path, max_tries=3)
    assert len(server.requests) == calls and writer.report.resumed == 1 and isinstance(user, Scenario)
    with pytest.raises(ScenarioError, match="user_0.json: holds a user of other settings, persona or model"):
        run(endpoint(), tmp_path, config=settings | {"num_periods": 1})
    with pytest.raises(ScenarioError, match="user_0.json: holds a user of other settings, persona or model"):
        run(endpoint(), tmp_path, personas=lambda user: {"formatted_str": "somebody else"})


@pytest.mark.parametrize(("name", "value"), [("max_tries", 0), ("max_resamples", -1), ("users_at_once", 0)])
def test_senseless_settings_are_refused_by_name(run, endpoint, tmp_path, name, value):
    with pytest.raises(ScenarioError, match=f"writer setting {name}: got {value}, expected at least"):
        run(endpoint(), tmp_path, **{name: value})


def test_a_persona_without_a_description_is_refused(run, endpoint, tmp_path):
    with pytest.raises(ScenarioError, match="persona of user 0, field formatted_str: got None"):
        run(endpoint(), tmp_path, personas=lambda user: {"name": "Mara"})
