"""What base users are for: whoever remembers is right, and whoever does not can do no better than guess."""

from statistics import fmean

import pytest

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.generator import GeneratorConfig, generate, preset
from amemgym_envs.amemgym.validation.shortcuts import EXCESS, WAYS
from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.policy.oracle import BlindPolicy, OraclePolicy
from amemgym_train.rollout.runner import Task, play

AGENT = AgentConfig(name="awi", local_length=0, respond="fixed")
# Off-topic sessions change neither the lives nor the questions, and without them this takes seconds.
BASE = GeneratorConfig(**preset("base") | {"num_users": 50, "target_tokens": 0, "rounds_init": 1, "rounds_update": 1})


@pytest.fixture(scope="module")
def users():
    return {user.id: user for user in generate(BASE)}


@pytest.fixture
def score(users):
    """Share of right answers of an agent whose policy is made from the scenario."""

    def play_all(policy):
        episodes = play(
            lambda task: AMemGymEnv([users[task.id]], probes=False),
            [Task(name, name, 0) for name in users],
            lambda task, episode, seed: build_agent(AGENT, policy(users[task.id]), episode, seed),
            label=None,
        )
        assert not [episode.error for episode in episodes if episode.error]
        return fmean(episode.score for episode in episodes)

    return play_all


def test_the_oracle_is_always_right(score):
    assert score(OraclePolicy) == 1.0


@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_choosing_blindly_beats_guessing(score, way):
    assert score(lambda user: BlindPolicy(user, WAYS[way])) <= 1 / BASE.num_choices + EXCESS
