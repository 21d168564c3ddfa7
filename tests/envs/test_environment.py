"""The AMemGym environment: its protocol, its scores, and that a task and a seed fix an episode."""

import json
import subprocess
import sys
import warnings

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import amemgym_envs  # noqa: F401 (registers the environments)
from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.scenario import Scenario
from amemgym_envs.amemgym.simulator import ScriptedUser


def oracle(scenario: Scenario, info: dict) -> str:
    if info["kind"] == "question":
        return json.dumps({"answer": scenario.golden(info["period"], info["question"]) + 1})
    if info["kind"] == "probe":
        return json.dumps(scenario.required_state(info["period"], info["question"]))
    return "I see."


def play(env: AMemGymEnv, task: str, seed: int = 1, act=oracle) -> list[tuple]:
    """(observation, info, reward of the action before) of every step, the final one included."""
    observation, info = env.reset(seed=seed, options={"task": task})
    trace = [(observation, info, 0.0)]
    while info["kind"] != "end":
        observation, reward, terminated, truncated, info = env.step(act(env.scenario, info))
        assert terminated == (info["kind"] == "end") and not truncated
        trace.append((observation, info, reward))
    return trace


def test_gymnasium_accepts_it():
    env = gymnasium.make("AMemGym-v0")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        check_env(env.unwrapped)
    assert env.unwrapped.card.id == env.spec.id


def test_the_oracle_is_always_right(users):
    env = AMemGymEnv(users, rounds_init=2, rounds_update=3)
    for user in users:
        trace = play(env, user.id)
        scored = [info["scored"] for _, info, _ in trace if info["scored"]]
        answers = [s for s in scored if s["kind"] == "answer"]
        probes = [s for s in scored if s["kind"] == "probe"]
        cells = len(user.periods) * len(user.questions)
        assert len(answers) == len(probes) == cells
        assert all(s["response"] == s["golden"] and s["choices"] == 4 for s in answers)
        assert all(s["agrees"] and all(s["agrees"].values()) for s in answers)
        assert all(s["response"] == s["expected"] for s in probes)
        assert trace[-1][1]["score"] == 1.0 and trace[-1][1]["success"] is True
        assert sum(reward for *_, reward in trace) == cells


def test_the_oracle_is_right_on_the_real_users(real):
    env = AMemGymEnv(real, probes=False)
    for scenario in real:
        trace = play(env, scenario.id)
        assert trace[-1][1]["score"] == 1.0
        assert len(trace) == sum(len(p.sessions) for p in scenario.periods) + len(scenario.periods) * 10 + 1


def test_a_constant_answer_scores_its_share(users):
    trace = play(AMemGymEnv(users), users[0].id, act=lambda scenario, info: '{"answer": 2}')
    right = [users[0].golden(p, q) == 1 for p in range(len(users[0].periods)) for q in range(len(users[0].questions))]
    assert trace[-1][1]["score"] == sum(right) / len(right) < 1
    assert trace[-1][1]["success"] is False
    assert [reward for _, info, reward in trace if (info["scored"] or {}).get("kind") == "answer"] == [float(r) for r in right]


@pytest.mark.parametrize("action", ['{"answer": 3}', "no answer"])
def test_an_answer_is_compared_state_by_state(users, action):
    """Of what the question requires, what the choice has right; a reply without a choice has nothing right."""
    user = users[0]
    trace = play(AMemGymEnv(users), user.id, act=lambda scenario, info: action)
    answers = [info["scored"] for _, info, _ in trace if (info["scored"] or {}).get("kind") == "answer"]
    for scored in answers:
        question, truth = user.questions[scored["question"]], user.periods[scored["period"]].state
        said = dict(zip(question.required_info, question.answer_choices[2].state, strict=True)) if "3" in action else {}
        assert scored["agrees"] == {name: said.get(name) == truth[name] for name in question.required_info}
        assert all(scored["agrees"].values()) == (scored["response"] == scored["golden"])
    found = {value for scored in answers for value in scored["agrees"].values()}
    assert found == ({True, False} if "3" in action else {False})


def test_the_steps_come_in_the_order_of_the_protocol(users):
    user = users[0]
    trace = play(AMemGymEnv(users, rounds_init=1, rounds_update=2), user.id)
    seen = [(i["period"], i["kind"], i.get("session", i.get("question")), i.get("round")) for _, i, _ in trace[:-1]]
    expected = []
    for p, period in enumerate(user.periods):
        expected += [(p, "session", s, r) for s in range(len(period.sessions)) for r in range(2 if p else 1)]
        expected += [(p, "question", q, None) for q in range(len(user.questions))]
        expected += [(p, "probe", q, None) for q in range(len(user.questions))]
    assert seen == expected
    ends = [k for k, (_, info, _) in enumerate(trace) if info["period_end"]]
    assert ends == [k for k in range(len(seen)) if k + 1 == len(seen) or seen[k + 1][0] != seen[k][0]]


def test_info_describes_the_observation(users):
    user = users[0]
    for observation, info, _ in play(AMemGymEnv(users, rounds_init=2), user.id):
        assert info["ephemeral"] == (info["kind"] in ("question", "probe"))
        assert info["instruction"]
        if info["kind"] == "session":
            session = user.periods[info["period"]].sessions[info["session"]]
            assert info["time"] == session.session_time
            assert info["exposed"] == (session.exposed_states if info["round"] == 0 else {})
            assert (session.query in observation) == (info["round"] == 0)
            assert info["rounds"] == (1 if info["period"] else 2)
        elif info["kind"] == "question":
            lines = observation.split("\n")
            assert lines[:2] == [info["query"], ""]
            assert lines[2:] == [f"{n}. {text}" for n, text in enumerate(info["choices"], 1)]
            assert info["required"] == user.questions[info["question"]].required_info
        elif info["kind"] == "probe":
            assert json.loads(observation) == info["schema"]
            assert info["schema"] == {n: user.state_schema[n] for n in user.questions[info["question"]].required_info}
        else:
            assert observation == ""


def test_probes_can_be_left_out(users):
    trace = play(AMemGymEnv(users, probes=False), users[0].id)
    assert {info["kind"] for _, info, _ in trace} == {"session", "question", "end"}
    last = trace[-2][1]
    assert last["kind"] == "question" and last["period_end"]


def test_a_probe_reports_when_each_state_was_written(users):
    for _, info, _ in play(AMemGymEnv(users), users[1].id):
        scored = info["scored"]
        if scored and scored["kind"] == "probe":
            assert scored["write_period"] == {n: users[1].write_period(scored["period"], n) for n in scored["expected"]}


def test_task_and_seed_fix_an_episode(users):
    first = play(AMemGymEnv(users, rounds_update=3), users[2].id, seed=9)
    env = AMemGymEnv(users, rounds_update=3)
    play(env, users[0].id, seed=4)
    assert play(env, users[2].id, seed=9) == first
    assert [o for o, *_ in play(env, users[2].id, seed=10)] != [o for o, *_ in first]


def test_without_a_task_the_seed_draws_one(users):
    env = AMemGymEnv(users)
    drawn = []
    for seed in range(12):
        env.reset(seed=seed)
        drawn.append(env.scenario.id)
        env.reset(seed=seed)
        assert env.scenario.id == drawn[-1]
    assert set(drawn) == set(env.tasks)


def test_a_changed_info_does_not_change_the_scenario(users):
    env = AMemGymEnv(users)
    _, info = env.reset(seed=1, options={"task": users[0].id})
    before = dict(users[0].periods[0].sessions[0].exposed_states)
    info["exposed"].clear()
    assert before and users[0].periods[0].sessions[0].exposed_states == before


def test_the_questions_and_probes_of_a_period_are_told_at_once(users):
    """They are the steps to come, whatever is done at them, up to the period's end or the next session."""
    env, user = AMemGymEnv(users, rounds_update=2), users[0]
    trace = play(env, user.id)
    observation, info = env.reset(seed=1, options={"task": user.id})
    for at, (_, seen, _) in enumerate(trace[:-1]):
        coming = env.inquiries()
        if info["kind"] == "session":
            assert coming == []
        else:
            count = len(coming)
            expected = [(text, step | {"scored": None, "score": info["score"]}) for text, step, _ in trace[at : at + count]]
            assert [(text, step | {"score": info["score"]}) for text, step in coming] == expected
            assert coming[-1][1]["period_end"] and sum(step["period_end"] for _, step in coming) == 1
            assert {step["period"] for _, step in coming} == {seen["period"]}
        observation, *_, info = env.step(oracle(user, info))
    assert env.inquiries() == []


def test_an_episode_goes_on_from_any_period(users):
    """With the answers so far it ends as the whole one did; the steps and their words are the same."""
    env, user = AMemGymEnv(users, rounds_update=3), users[0]

    def act(scenario, info):
        return json.dumps({"answer": 2}) if info["kind"] == "question" else oracle(scenario, info)

    trace = play(env, user.id, act=act)
    for period in range(len(user.periods)):
        begin = next(at for at, (_, info, _) in enumerate(trace) if info["period"] == period)
        scored = [info["scored"] for _, info, _ in trace[: begin + 1] if info["scored"]]
        right = [one["response"] == one["golden"] for one in scored if one["kind"] == "answer"]
        observation, info = env.reset(seed=1, options={"task": user.id, "period": period, "right": right})
        rest = [(observation, info | {"scored": trace[begin][1]["scored"]})]
        while info["kind"] != "end":
            observation, *_, info = env.step(act(user, info))
            rest.append((observation, info))
        assert rest == [(observation, info) for observation, info, _ in trace[begin:]]


@pytest.mark.parametrize(
    "options", [{"period": 4}, {"period": -1}, {"period": 1}, {"period": 1, "right": [True]}, {"right": [True] * 4}]
)
def test_an_impossible_start_is_named(users, options):
    with pytest.raises(ValueError, match=f"task {users[0].id} from period {options.get('period', 0)} on"):
        AMemGymEnv(users).reset(seed=1, options={"task": users[0].id} | options)


def test_another_user_may_talk(users):
    """It is made for the scenario and the seed, says how many rounds there are and hears what was said in the session."""
    made, heard = [], []

    class Echo(ScriptedUser):
        blocking = True

        def __init__(self, scenario, seed):
            super().__init__(scenario, seed)
            made.append((scenario.id, seed))

        def follow_up(self, period, session, round, talk=()):
            heard.append((period, session, round, [(message["role"], message["content"]) for message in talk]))
            return f"and {round}?"

        def rounds(self, period, session):
            return 3 if (period, session) == (1, 0) else None

        def reply(self, period, session, round):
            return "as it was" if round else None

    env, user = AMemGymEnv(users, user=Echo), users[2]
    trace = play(env, user.id, seed=5, act=lambda scenario, info: f"reply {info.get('round')}")
    assert made == [(user.id, 5)] and env.blocking
    opening = ScriptedUser(user, 5).opening(1, 0)
    first = [("user", opening), ("assistant", "reply 0")]
    assert heard == [(1, 0, 1, first), (1, 0, 2, [*first, ("user", "and 1?"), ("assistant", "reply 1")])]
    replies = [info.get("reply") for _, info, _ in trace if info["kind"] == "session" and info["rounds"] == 3]
    assert replies == [None, "as it was", "as it was"]


def test_wrong_use_is_named(users):
    with pytest.raises(ValueError, match="expected at least one"):
        AMemGymEnv([])
    with pytest.raises(ValueError, match="rounds_update is 0"):
        AMemGymEnv(users, rounds_update=0)
    with pytest.raises(ValueError, match=f"item {users[0].id}, field id"):
        AMemGymEnv([users[0], users[0]])
    env = AMemGymEnv(users)
    with pytest.raises(RuntimeError, match="call reset first"):
        env.step("hello")
    with pytest.raises(ValueError, match=f"task is 'nobody', expected one of {users[0].id}"):
        env.reset(options={"task": "nobody"})
    play(env, users[0].id)
    with pytest.raises(RuntimeError, match="call reset first"):
        env.step("hello")


def test_importing_the_package_loads_no_heavy_module():
    heavy = ["torch", "transformers", "trl", "datasets", "pyarrow", "amemgym_train"]
    code = (
        "import sys, amemgym_envs, amemgym_envs.amemgym.environment; "
        f"print([m for m in {heavy} if m in sys.modules], 'gymnasium' in sys.modules)"
    )
    paths = [p for p in sys.path if p]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {paths!r}; {code}"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "[] True", done.stderr
