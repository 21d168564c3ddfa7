"""Agents in the real AMemGym environment, with scripted policies."""

import json
from dataclasses import replace

import pytest

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.errors import Unscorable
from amemgym_train.policy.oracle import OraclePolicy, RandomPolicy
from amemgym_train.rollout.runner import Inquiry, Task, ask_again, play
from amemgym_train.rollout.store import load_episodes, save_episodes

SCENARIOS = generate(
    GeneratorConfig(seed=5, num_users=3, num_variables=6, num_periods=2, num_questions=4, num_changes_per_period=2)
)
BY_ID = {scenario.id: scenario for scenario in SCENARIOS}
TASKS = [Task(scenario.id, scenario.id, seed) for scenario in SCENARIOS for seed in (0, 1)]
CONFIGS = {
    "native": AgentConfig(name="native"),
    "awi": AgentConfig(name="awi"),
    "awi at once": AgentConfig(name="awi", local_length=0, respond="fixed"),
    "awi flush": AgentConfig(name="awi", update_bsz=4, local_length=2, flush="period"),
}


def agents(config, policy):
    """``policy`` makes the policy of a scenario."""
    return lambda task, episode, seed: build_agent(config, policy(BY_ID[task.id]), episode, seed)


def run(config, policy, tasks=TASKS, seed=11, **options):
    return play(lambda task: AMemGymEnv([BY_ID[task.id]], **options), tasks, agents(config, policy), seed, label=None)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_oracle_is_always_right(name):
    for episode in run(CONFIGS[name], OraclePolicy, rounds_init=2, rounds_update=2):
        scenario = BY_ID[episode.task]
        cells = [(p, q) for p in range(len(scenario.periods)) for q in range(len(scenario.questions))]
        assert (episode.score, episode.success, episode.error) == (1.0, True, None)
        assert [(answer.period, answer.question) for answer in episode.answers] == cells
        assert [(probe.period, probe.question) for probe in episode.probes] == cells
        assert all(answer.correct for answer in episode.answers)
        assert all(probe.known(state) for probe in episode.probes for state in probe.expected)
        assert sum(episode.rewards) == len(cells)
        assert len(episode.states) == len(scenario.periods)


@pytest.mark.parametrize("name", CONFIGS)
def test_asked_at_once_questions_and_probes_are_what_they_are_one_by_one(name):
    """Nothing of a record tells which way it was: the calls of a period stand in the order of the protocol."""
    tasks = TASKS[:2]

    def played(together):
        factory = agents(CONFIGS[name], lambda scenario: RandomPolicy(2))
        return play(lambda task: AMemGymEnv([BY_ID[task.id]]), tasks, factory, 11, label=None, together=together)

    assert played(True) == played(False)


@pytest.mark.parametrize("name", CONFIGS)
def test_records_point_at_the_turns_that_made_them_and_slots_are_unique(name):
    for episode in run(CONFIGS[name], RandomPolicy):
        for answer in episode.answers:
            assert episode.turns[answer.turn].slot == f"answer/p{answer.period}/q{answer.question}"
            assert json.loads(episode.turns[answer.turn].text)["answer"] == answer.response + 1
        for probe in episode.probes:
            assert episode.turns[probe.turn].slot == f"read/p{probe.period}/q{probe.question}"
            assert json.loads(episode.turns[probe.turn].text) == probe.response
        assert [episode.turns[memory.turn].operation for memory in episode.memories] == ["write"] * len(episode.memories)
        slots = [turn.slot for turn in episode.turns]
        assert len(set(slots)) == len(slots)
        assert all(turn.slot.split("/")[1] == f"p{turn.meta['period']}" for turn in episode.turns)


def test_slots_are_the_same_all_over_a_group():
    episodes = run(CONFIGS["awi"], RandomPolicy)
    for first, second in zip(episodes[::2], episodes[1::2], strict=True):
        assert first.group == second.group and first.id != second.id
        assert [turn.slot for turn in first.turns] == [turn.slot for turn in second.turns]
        assert [answer.response for answer in first.answers] != [answer.response for answer in second.answers]


def test_an_agent_that_writes_everything_at_once_holds_the_true_state_after_each_period():
    for episode in run(CONFIGS["awi at once"], OraclePolicy):
        scenario = BY_ID[episode.task]
        for p, (period, state) in enumerate(zip(scenario.periods, episode.states, strict=True)):
            assert {entry["label"]: entry["value"] for entry in state["entries"]} == period.state
            assert state["recent"] == []
            writes = [turn for turn in episode.turns if turn.operation == "write" and turn.meta["period"] == p]
            assert [turn.meta["sessions"] for turn in writes] == [[[p, s]] for s in range(len(period.sessions))]
            assert [turn.meta["exposed"] for turn in writes] == [session.exposed_states for session in period.sessions]
            assert [turn.slot for turn in writes] == [f"write/p{p}/{i}" for i in range(len(writes))]
        times = [entry["timestamp"] for entry in episode.memories[-1].entries]
        assert times == sorted(times)


def test_notes_reach_the_prompts_of_questions_and_probes(from_prompt):
    """With perfect notes in its prompt, a policy that reads nothing else knows every state; with none it cannot."""
    for episode in run(CONFIGS["awi at once"], from_prompt):
        assert episode.score == 1.0
        assert all(probe.known(state) for probe in episode.probes for state in probe.expected)


@pytest.mark.parametrize("name", CONFIGS)
def test_asking_again_with_its_own_states_gives_an_episode_its_own_answers(name, from_prompt):
    for policy in (from_prompt, lambda scenario: RandomPolicy(2)):
        episodes = run(CONFIGS[name], policy)
        inquiries = [Inquiry(task, BY_ID[task.id], episode.states) for task, episode in zip(TASKS, episodes, strict=True)]
        again = ask_again(inquiries, agents(CONFIGS[name], policy), seed=11, label=None)
        for first, second in zip(episodes, again, strict=True):
            assert [replace(answer, turn=None) for answer in second.answers] == [
                replace(answer, turn=None) for answer in first.answers
            ]
            assert (second.id, second.score) == (first.id, first.score)
            assert [second.turns[answer.turn] for answer in second.answers] == [
                first.turns[answer.turn] for answer in first.answers
            ]
            assert second.probes == second.memories == []
            assert len(second.turns) == len(second.answers)


def test_a_scrambled_or_empty_memory_answers_worse(from_prompt):
    config, tasks = CONFIGS["awi at once"], TASKS[::2]
    episodes = run(config, from_prompt, tasks=tasks)
    scrambled = [Inquiry(task, BY_ID[task.id], episodes[i - 1].states) for i, task in enumerate(tasks)]
    empty = [Inquiry(task, BY_ID[task.id], [{}] * len(BY_ID[task.id].periods)) for task in tasks]
    for control in (scrambled, empty):
        again = ask_again(control, agents(config, from_prompt), seed=11, label=None)
        assert sum(episode.score for episode in again) < 0.7 * len(again)
        assert all(episode.error is None for episode in again)


def test_asking_again_needs_a_state_per_period_of_the_same_user():
    task, scenario = TASKS[0], SCENARIOS[0]
    for inquiry in (Inquiry(task, scenario, [{}]), Inquiry(task, SCENARIOS[1], [{}] * len(SCENARIOS[1].periods))):
        with pytest.raises(ValueError, match="expected one state per period"):
            ask_again([inquiry], agents(CONFIGS["awi"], OraclePolicy), label=None)


@pytest.mark.parametrize("name", CONFIGS)
def test_questions_and_probes_leave_no_trace_in_the_state(name):
    """Played without its probes, an episode ends every period in the same states."""
    with_probes, without = run(CONFIGS[name], RandomPolicy), run(CONFIGS[name], RandomPolicy, probes=False)
    assert [episode.states for episode in with_probes] == [episode.states for episode in without]
    assert [episode.answers == [] for episode in without] == [False] * len(TASKS)
    assert all(episode.probes == [] for episode in without)


def test_a_policy_that_breaks_for_one_episode_leaves_the_others_as_they_were():
    class Breaks(RandomPolicy):
        def reply(self, request):
            if request.episode.endswith(f"{TASKS[3].id}/1") and request.slot == "answer/p1/q2":
                raise Unscorable("the server answered 503")
            return super().reply(request)

    whole = run(CONFIGS["awi"], lambda scenario: RandomPolicy())
    broken = run(CONFIGS["awi"], lambda scenario: Breaks())
    assert [episode.error for episode in broken] == [None] * 3 + ["Unscorable: the server answered 503"] + [None] * 2
    assert [e for i, e in enumerate(broken) if i != 3] == [e for i, e in enumerate(whole) if i != 3]
    half = broken[3]
    assert (
        half.score is None
        and half.answers == whole[3].answers[: len(half.answers)]
        and 0 < len(half.answers) < len(whole[3].answers)
    )


def test_the_same_seed_gives_the_same_episodes_and_they_survive_the_disk(tmp_path):
    first, second = (run(CONFIGS["awi"], lambda scenario: RandomPolicy()) for _ in range(2))
    assert first == second
    save_episodes(tmp_path / "episodes.parquet", first)
    assert load_episodes(tmp_path / "episodes.parquet") == first
    assert first != run(CONFIGS["awi"], lambda scenario: RandomPolicy(), seed=12)


def test_a_users_words_depend_on_the_rollouts_seed_and_not_on_the_tasks():
    def words(seed, task):
        (episode,) = run(CONFIGS["native"], RandomPolicy, tasks=[task], seed=seed, rounds_init=3)
        return [message["content"] for message in episode.states[-1]["recent"] if message["role"] == "user"]

    assert words(1, TASKS[0]) == words(1, TASKS[1])
    assert words(1, TASKS[0]) != words(2, TASKS[0])
