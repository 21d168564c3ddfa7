"""Recorded conversations: both public layouts, and every way in which a recording does not fit."""

import copy
import gzip
import json
import shutil

import pytest

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.recorded import RecordedUser, load_interactions
from amemgym_envs.amemgym.scenario import ScenarioError
from amemgym_envs.amemgym.simulator import ScriptedUser

ROUNDS = (1, 3)  # of a session in the initial period and in later ones


def recording(user):
    """What a scripted user and an agent that counts its replies would have said."""
    scripted = ScriptedUser(user, 7)
    said = []
    for p, period in enumerate(user.periods):
        said.append([])
        for s in range(len(period.sessions)):
            words = [scripted.opening(p, s), *(scripted.follow_up(p, s, r) for r in range(1, ROUNDS[p > 0]))]
            talk = [[("user", text), ("assistant", f"reply {p}/{s}/{r}")] for r, text in enumerate(words)]
            said[-1].append([{"role": role, "content": text} for pair in talk for role, text in pair])
    return said


@pytest.fixture
def user(users):
    return users[1]


@pytest.fixture
def said(user):
    return recording(user)


def whole(folder, user, content):
    (folder / user.id).mkdir(parents=True, exist_ok=True)
    (folder / user.id / "interactions.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def by_period(folder, user, content):
    (folder / user.id / "interactions").mkdir(parents=True)
    for period, sessions in enumerate(content):
        (folder / user.id / "interactions" / f"period_{period:02d}.json").write_text(json.dumps(sessions))
    return folder


@pytest.mark.parametrize("write", [whole, by_period])
@pytest.mark.parametrize("zipped", [False, True])
def test_both_layouts_are_read_plain_or_gzipped(tmp_path, user, said, write, zipped):
    write(tmp_path, user, said)
    if zipped:
        for path in list(tmp_path.rglob("*.json")):
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    assert load_interactions(tmp_path, user) == said


def test_a_longer_recording_is_taken_as_far_as_the_scenario_goes(tmp_path, user, said):
    whole(tmp_path, user, said)
    user.periods.pop()
    assert load_interactions(tmp_path, user) == said[:-1]


def test_what_was_said_is_heard_again(tmp_path, user, said):
    """The user's words are the observations, the replies are told as such, and every session has its own number of rounds."""
    whole(tmp_path, user, said)
    env = AMemGymEnv([user], rounds_init=5, user=lambda scenario, seed: RecordedUser(load_interactions(tmp_path, scenario)))
    observation, info = env.reset(seed=1)
    heard = [[[] for _ in period.sessions] for period in user.periods]
    while info["kind"] != "end":
        if info["kind"] == "session":
            assert info["rounds"] == ROUNDS[info["period"] > 0]
            talk = heard[info["period"]][info["session"]]
            talk += [{"role": "user", "content": observation}, {"role": "assistant", "content": info["reply"]}]
        observation, *_, info = env.step("something else")
    assert heard == said


BREAKS = {
    "period 3 is missing": lambda said: said.pop(),
    "period 1: got 1 sessions": lambda said: said[1].pop(),
    "period 1, session 0: got 5 messages": lambda said: said[1][0].pop(),
    "period 0, session 0: got 0 messages": lambda said: said[0].__setitem__(0, []),
    "period 1, session 1, message 1": lambda said: said[1][1][1].update(role="user"),
    "period 1, session 1, message 2": lambda said: said[1][1][2].update(content=None),
    "period 2, session 1: begins with 'Hello": lambda said: said[2][1][0].update(content="Hello"),
    "period 0: got a dict": lambda said: said.__setitem__(0, {}),
}


@pytest.mark.parametrize("message", BREAKS)
def test_what_does_not_fit_is_named(tmp_path, user, said, message):
    assert [len(period.sessions) for period in user.periods[1:]] == [2, 2, 2]
    broken = copy.deepcopy(said)
    BREAKS[message](broken)
    whole(tmp_path, user, broken)
    with pytest.raises(ScenarioError, match=message) as caught:
        load_interactions(tmp_path, user)
    assert user.id in str(caught.value)


def test_a_missing_file_of_a_period_is_named(tmp_path, user, said):
    by_period(tmp_path, user, said)
    (tmp_path / user.id / "interactions" / "period_01.json").unlink()
    with pytest.raises(ScenarioError, match=f"user {user.id}: period 1 is missing, the scenario has 4"):
        load_interactions(tmp_path, user)


def test_recordings_of_others_are_named(tmp_path, users, said):
    whole(tmp_path, users[1], said)
    with pytest.raises(ScenarioError, match=f"no recording of user {users[0].id}.*users there: {users[1].id}"):
        load_interactions(tmp_path, users[0])
    shutil.copytree(tmp_path / users[1].id, tmp_path / users[0].id)
    with pytest.raises(ScenarioError, match="replay the recordings of these very scenarios"):
        load_interactions(tmp_path, users[0])
    with pytest.raises(ScenarioError, match="users there: none"):
        load_interactions(tmp_path / "nowhere", users[0])


def test_broken_files_are_named(tmp_path, user):
    path = whole(tmp_path, user, {}) / user.id / "interactions.json"
    with pytest.raises(ScenarioError, match="holds a dict, expected a list of periods"):
        load_interactions(tmp_path, user)
    path.write_text("[[")
    with pytest.raises(ScenarioError, match="interactions.json: invalid JSON"):
        load_interactions(tmp_path, user)


def test_the_real_recordings_fit_their_scenarios(real, real_path):
    for agent in ("awi", "native"):
        for scenario in real:
            said = load_interactions(real_path.parent / "peer_results" / agent, scenario)
            assert [len(sessions) for sessions in said] == [len(period.sessions) for period in scenario.periods]
