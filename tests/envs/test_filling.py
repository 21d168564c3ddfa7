"""Off-topic talk: as much as is asked for, spread over the whole life, and nothing else changes."""

from collections import Counter
from dataclasses import replace
from datetime import date, datetime
from itertools import pairwise
from random import Random

import pytest

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.generator.dates import other_times, seconds
from amemgym_envs.amemgym.generator.filling import conversation_tokens, session_tokens
from amemgym_envs.amemgym.languages import phrased, wording
from amemgym_envs.amemgym.scenario import ScenarioError

SMALL = GeneratorConfig(seed=3, num_users=2, num_variables=6, num_periods=3, num_questions=4, num_changes_per_period=2)
TARGET = 20_000
by_language = pytest.mark.parametrize("language", ["en", "zh"])


def filled(**changes):
    return generate(replace(SMALL, **{"target_tokens": TARGET} | changes))


def filling(user):
    """The off-topic sessions of each period."""
    return [[session for session in period.sessions if not session.exposed_states] for period in user.periods]


def telling(user):
    return [[session for session in period.sessions if session.exposed_states] for period in user.periods]


def number(user):
    return sum(map(len, filling(user)))


@by_language
@pytest.mark.parametrize("settings", [{}, {"rounds_init": 4, "rounds_update": 2}, {"reply_tokens": 0}, {"noise_rounds": 2}])
def test_the_target_is_reached_and_exceeded_by_less_than_one_session(language, settings):
    words = wording(language)
    for user in filled(language=language, **settings):
        rounds = max(settings.get("rounds_init", 1), settings.get("rounds_update", 1))
        costs = [
            session_tokens(session, rounds, settings.get("reply_tokens", 150), words.tokens, words.follow_up_tokens)
            for period in filling(user)
            for session in period
        ]
        assert TARGET <= conversation_tokens(user) < TARGET + max(costs)


def test_without_a_target_and_beyond_it_nothing_is_added():
    for target in (0, 100):
        assert [number(user) for user in filled(target_tokens=target)] == [0, 0]


def test_the_number_of_sessions_is_proportional_to_the_tokens_asked_for():
    counts = [number(filled(target_tokens=tokens)[0]) for tokens in (20_000, 40_000, 60_000, 80_000, 100_000)]
    steps = [after - before for before, after in pairwise(counts)]
    assert min(steps) > 100 and max(steps) <= 1.05 * min(steps)


def test_more_rounds_and_longer_replies_need_fewer_sessions():
    one, more_rounds, long_replies = (
        number(filled(**changes)[0]) for changes in ({}, {"rounds_init": 4, "rounds_update": 4}, {"reply_tokens": 600})
    )
    assert one / 5 < more_rounds < one / 3
    assert one / 5 < long_replies < one / 3


def test_rounds_of_the_first_period_count_for_it_alone():
    user, other = filled(rounds_init=3)[0], filled(rounds_update=3)[0]
    assert number(other) < number(user) < number(filled()[0])


@pytest.mark.parametrize("periods", [0, 3, 7])
def test_off_topic_sessions_are_dealt_evenly_over_the_periods(periods):
    for user in filled(num_periods=periods):
        counts = [len(period) for period in filling(user)]
        assert len(counts) == periods + 1 and max(counts) - min(counts) <= 1
        assert counts == sorted(counts, reverse=True) and min(counts) > 5


@pytest.mark.parametrize("start", ["2020-10-01", "2023-12-31"])
def test_all_sessions_have_times_of_their_own_inside_their_period(start):
    for user in filled(target_tokens=60_000, num_months_per_period=1, start_date=start):
        times = [datetime.fromisoformat(session.session_time) for period in user.periods for session in period.sessions]
        assert all(a < b for a, b in pairwise(times))
        for period in user.periods:
            for session in period.sessions:
                assert session.session_time[:10] < period.period_end
                assert period.period_start is None or period.period_start <= session.session_time[:10]
            places = [bool(session.exposed_states) for session in period.sessions]
            assert places != sorted(places) and places != sorted(places, reverse=True)  # mixed, not all before or after


@by_language
@pytest.mark.parametrize("phrasings", ["train", "test", "all"])
def test_nothing_is_said_again_before_everything_was_said(language, phrasings):
    texts = phrased(wording(language).off_topic, phrasings)
    for target in (10_000, 120_000):
        for user in filled(language=language, phrasings=phrasings, target_tokens=target):
            said = Counter(session.query for period in filling(user) for session in period)
            assert set(said) <= set(texts)
            counts = [said[text] for text in texts]
            assert max(counts) - min(counts) <= 1
            assert max(counts) == -(-number(user) // len(texts))


def test_what_is_told_is_the_same_with_and_without_filling():
    for plain, full in zip(generate(SMALL), filled(), strict=True):
        assert telling(full) == [period.sessions for period in plain.periods]
        assert full.questions == plain.questions and full.state_schema == plain.state_schema
        assert [period.state for period in full.periods] == [period.state for period in plain.periods]
        assert full.id != plain.id


def test_filling_sessions_are_bare():
    for user in filled(noise_rounds=2, contradictions=1.0, distractor_values=1.0):
        for session in (session for period in filling(user) for session in period):
            assert (session.event, session.exposed_states, session.messages, session.extra) == (None, {}, [], {})


@by_language
def test_every_telling_session_has_its_noise_rounds(language):
    texts = phrased(wording(language).off_topic, "test")
    for user in filled(noise_rounds=3, language=language, phrasings="test"):
        sessions = [session for period in telling(user) for session in period]
        assert all(len(session.off_topic) == 3 and set(session.off_topic) <= set(texts) for session in sessions)
        assert len({text for session in sessions for text in session.off_topic}) > 3


@by_language
@pytest.mark.parametrize("turns", [0, 1])
def test_noise_rounds_of_one_session_repeat_nothing_before_all_was_said(language, turns):
    texts = phrased(wording(language).off_topic, "test")
    count = turns * len(texts) + len(texts) // 2
    for user in generate(replace(SMALL, noise_rounds=count, language=language, phrasings="test")):
        for session in (session for period in user.periods for session in period.sessions):
            said = Counter(session.off_topic)
            assert sum(said.values()) == count and {said[text] for text in texts} == {turns, turns + 1}


def test_noise_rounds_change_nothing_but_themselves():
    for plain, noisy in zip(generate(SMALL), generate(replace(SMALL, noise_rounds=2)), strict=True):
        for period in noisy.periods:
            for session in period.sessions:
                assert session.extra.pop("off_topic")
        assert noisy.periods == plain.periods


def test_the_length_is_that_of_the_conversation_as_it_is_played():
    """Every message of the user, by a count of its characters, and a reply to each; follow-ups enter with their mean."""
    user = filled(rounds_init=3, rounds_update=2, noise_rounds=1, reply_tokens=40)[0]
    env = AMemGymEnv([user], probes=False)
    observation, info = env.reset(options={"task": user.id})
    said = replies = 0
    while info["kind"] != "end":
        if info["kind"] == "session":
            said += len(observation.partition("\n")[2] if observation.startswith("[Current Time: ") else observation)
            replies += 40
        observation, _, _, _, info = env.step("Fine.")
    assert conversation_tokens(user, len) == pytest.approx(said + replies, rel=0.02)


def test_data_from_elsewhere_is_measured_as_one_round_with_replies_of_150_tokens():
    user = generate(SMALL)[0]
    user.extra.clear()
    openings = [session.query for period in user.periods for session in period.sessions]
    assert conversation_tokens(user, len) == sum(map(len, openings)) + 150 * len(openings)


def test_a_target_that_would_crowd_the_periods_is_refused_by_its_name():
    """A tenth of the seconds of the shortest period is the most; what is told is what would be taken."""
    with pytest.raises(
        ScenarioError, match=r"target_tokens: got 10{12}, expected at most ([\d,]+), for 259,200 off-topic sess"
    ) as stop:
        replace(SMALL, target_tokens=10**12)
    most = int(str(stop.value).partition("at most ")[2].partition(", for ")[0].replace(",", ""))
    assert replace(SMALL, target_tokens=most).target_tokens == most
    with pytest.raises(ScenarioError, match="target_tokens"):
        replace(SMALL, target_tokens=most + 1)
    with pytest.raises(ScenarioError, match="for 241,920 off-topic sessions in a period"):  # a February
        replace(SMALL, target_tokens=10**12, num_months_per_period=1, num_periods=5)


def test_as_many_sessions_as_a_month_may_hold_have_times_of_their_own():
    begin, end = date(2021, 2, 1), date(2021, 3, 1)
    count = seconds(begin, end) // 10
    times = other_times(begin, end, count, {"2021-02-01 00:00:01"}, Random(1))
    assert len(set(times)) == count == 241_920 and "2021-02-01 00:00:01" not in times
