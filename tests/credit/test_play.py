"""Credit of real episodes that scripted policies play."""

import math

import pytest

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit.advantages import Signal, advantages
from amemgym_train.credit.rewards import SCHEMES, rewarded
from amemgym_train.credit.rows import deal, merged, rows_of, without_zeros
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.policy.oracle import OraclePolicy, RandomPolicy
from amemgym_train.rollout.runner import Task, play

USERS = {
    user.id: user
    for user in generate(
        GeneratorConfig(seed=5, num_users=3, num_variables=6, num_periods=2, num_questions=4, num_changes_per_period=2)
    )
}
AT_ONCE = AgentConfig(name="awi", local_length=0, respond="fixed")
LATE = AgentConfig(name="awi", local_length=4, respond="fixed")
CHANCE = {"write": 0.25, "read": 0.25, "answer": 0.5}  # four values per state; a question's choices have two of them each


def run(policy, agent=AT_ONCE, group=2):
    tasks = [Task(name, name, number) for name in USERS for number in range(group)]
    return play(
        lambda task: AMemGymEnv([USERS[task.id]]),
        tasks,
        lambda task, episode, seed: build_agent(agent, policy(USERS[task.id]), episode, seed),
        label=None,
    )


OF_USERS = sorted(set(SCHEMES) - {"return"})  # which pays what an environment with a goal gives


def credited(episodes, **keys):
    return [(episode, rewarded(episode, diagnose(episode), CreditConfig(**keys))) for episode in episodes]


@pytest.mark.parametrize("scheme", OF_USERS)
def test_the_oracle_earns_1_for_everything(scheme):
    for episode, rewards in credited(run(OraclePolicy), scheme=scheme):
        assert {episode.turns[index].operation for index in rewards} == {"write", "read", "answer"}
        assert len(rewards) == len(episode.turns)
        assert {reward.value for reward in rewards.values()} == {1.0}


@pytest.mark.parametrize("name", ["native", "awi-hack", "awe", "rag"])
@pytest.mark.parametrize("scheme", OF_USERS)
def test_every_agent_is_credited(scheme, name):
    agent = AgentConfig(name=name, local_length=0, respond="fixed")
    operations = [one for one in ("write", "read", "answer") if one != "write" or agent.makes_writes]
    for _, rewards in credited(run(OraclePolicy, agent), scheme=scheme, operations=operations):
        assert rewards and {reward.value for reward in rewards.values() if reward is not None} == {1.0}


def test_the_oracle_earns_1_wherever_a_late_writer_has_a_signal():
    for episode, rewards in credited(run(OraclePolicy, LATE)):
        assert {reward.value for reward in rewards.values() if reward is not None} == {1.0}
        silent = {episode.turns[index].operation for index, reward in rewards.items() if reward is None}
        assert silent <= {"write"}  # what it was shown had changed again by then


def test_a_guesser_earns_chance_at_most():
    """Nothing is above chance but reads in the period of a write, which are never blamed (see ``credit.operation``)."""
    earned = {"write": [], "read": [], "answer": []}
    for episode, rewards in credited(run(lambda user: RandomPolicy(), group=16)):
        blamed = {probe.turn for probe in episode.probes if max(probe.write_period.values()) < probe.period}
        for index, reward in rewards.items():
            operation = episode.turns[index].operation
            if reward is not None and (operation != "read" or index in blamed):
                earned[operation].append(reward.value)
    for operation, values in earned.items():
        assert len(values) > 20, operation
        chance = CHANCE[operation]
        assert sum(values) / len(values) < chance + 3 * math.sqrt(chance * (1 - chance) / len(values)), operation


def test_equal_episodes_teach_nothing_and_unequal_ones_are_weighed_once(tokenizer):
    config = CreditConfig()

    def rows(policies):
        episodes = [episode for policy in policies for episode in run(policy, group=1)]
        found = credited(episodes)
        signals = [
            Signal(episode.group, episode.turns[i].slot, f"{number}", reward and reward.value)
            for number, (episode, rewards) in enumerate(found)
            for i, reward in rewards.items()
        ]
        values = iter(advantages(signals, "grpo", config))
        return [rows_of(episode, rewards, {i: next(values) for i in rewards}, config, 64) for episode, rewards in found]

    def oracle(user):
        return OraclePolicy(user, tokenizer)

    def guesser(user):
        return RandomPolicy(tokenizer=tokenizer)

    for found in rows([oracle, oracle]):
        assert found and without_zeros(found) == []
    every = rows([oracle, guesser])
    for found in every:
        assert sum(sum(row.weights) for row in merged(found)) == pytest.approx(1)
    best, worst = every[: len(USERS)], every[len(USERS) :]
    assert all(a >= 0 for found in best for row in found for a in row.advantages)
    assert any(a < 0 for found in worst for row in found for a in row.advantages)
    kept = without_zeros([row for found in every for row in found])
    assert len({len(rank) for rank in deal(kept, 2, 4)}) == 1
