"""The scripted user: the scenario's words first, then words that tell nothing."""

import pytest

from amemgym_envs.amemgym.languages import wording
from amemgym_envs.amemgym.scenario import ScenarioError
from amemgym_envs.amemgym.simulator import ScriptedUser


def follow_ups(user: ScriptedUser, rounds: int = 14) -> list[str]:
    sessions = [(p, s) for p, period in enumerate(user.scenario.periods) for s in range(len(period.sessions))]
    return [user.follow_up(p, s, r) for p, s in sessions for r in range(1, rounds + 1)]


def test_an_opening_is_the_time_and_the_query(users):
    session = users[0].periods[1].sessions[0]
    assert ScriptedUser(users[0], 1).opening(1, 0) == f"[Current Time: {session.session_time}]\n{session.query}"


def test_follow_ups_tell_no_tracked_word_of_a_generated_user(users):
    every_value = {value for v in wording().variables for value in (v.name, *v.values)}
    for scenario in users:
        said = follow_ups(ScriptedUser(scenario, 5))
        assert len(set(said)) > 6
        assert not [(v, text) for v in every_value for text in said if v in text.lower()]


def test_follow_ups_tell_no_schema_value_of_a_real_user(real):
    for scenario in real:
        tracked = {t for name, values in scenario.state_schema.items() for t in (name, *values)}
        spoken = tracked | {t.replace("_", " ") for t in tracked}
        said = set(follow_ups(ScriptedUser(scenario, 5)))
        assert said and not [(t, text) for t in spoken for text in said if t in text.lower()]


def test_follow_ups_are_fixed_by_seed_and_place(users):
    assert follow_ups(ScriptedUser(users[0], 1)) == follow_ups(ScriptedUser(users[0], 1))
    assert follow_ups(ScriptedUser(users[0], 1)) != follow_ups(ScriptedUser(users[0], 2))
    user = ScriptedUser(users[0], 1)
    later = user.follow_up(1, 0, 3)
    user.follow_up(0, 0, 1)
    assert user.follow_up(1, 0, 3) == later


def test_rounds_of_a_session_differ_until_the_words_run_out(users):
    user, count = ScriptedUser(users[0], 3), len(wording().follow_ups)
    said = [user.follow_up(0, 0, r) for r in range(1, count + 2)]
    assert len(set(said)) == count and said[count] == said[0]


def test_a_follow_up_with_an_everyday_schema_word_is_left_out(users):
    name = next(iter(users[0].state_schema))
    users[0].state_schema[name].append("Simpler_Way")
    said = follow_ups(ScriptedUser(users[0], 1))
    assert said and not [text for text in said if "simpler way" in text.lower()]
    assert [text for text in follow_ups(ScriptedUser(users[1], 1)) if "simpler way" in text.lower()]


def test_a_schema_that_leaves_no_words_is_refused(users):
    name = next(iter(users[0].state_schema))
    users[0].state_schema[name] += [text.split()[0].strip(",.") for text in wording().follow_ups]
    with pytest.raises(ScenarioError, match=f"item {users[0].id}, field state_schema"):
        ScriptedUser(users[0], 1)


def test_round_zero_is_the_opening(users):
    with pytest.raises(ValueError, match="follow_up of round 0"):
        ScriptedUser(users[0], 1).follow_up(0, 0, 0)
