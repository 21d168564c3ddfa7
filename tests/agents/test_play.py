"""Every agent through the real environment: with the oracle, and with a policy that knows only what the agent shows it."""

import importlib.util
import json

import pytest

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.policy.oracle import OraclePolicy, RandomPolicy
from amemgym_train.rollout.pieces import Pieces
from amemgym_train.rollout.runner import Inquiry, Task, ask_again, play
from amemgym_train.rollout.store import load_episodes, save_episodes

ONCE = {"flush": "period", "local_length": 0}
CONFIGS = {
    "native": {"name": "native"},
    "awi": {"name": "awi"},
    "awi-hack": {"name": "awi-hack", **ONCE},
    "awe": {"name": "awe"},
    "awe at once": {"name": "awe", "respond": "fixed", **ONCE},
    "awe in large batches": {"name": "awe", "update_bsz": 4, "local_length": 2, "flush": "period"},
    "rag": {"name": "rag"},
    "rag at once": {"name": "rag", **ONCE},
    "mem0": {"name": "mem0", "respond": "fixed", **ONCE},
}


@pytest.fixture(params=CONFIGS)
def config(request):
    if request.param == "mem0" and importlib.util.find_spec("mem0") is None:
        pytest.skip("the package mem0ai is not installed (extra mem0)")
    return AgentConfig(**CONFIGS[request.param])


@pytest.fixture
def run(scenarios):
    def run(config, policy, folder=None, periods=None, **options):
        tasks = [Task(name, name, 0) for name in scenarios]
        return play(
            lambda task: AMemGymEnv([scenarios[task.id]], rounds_init=2, rounds_update=2),
            tasks,
            lambda task, episode, seed: build_agent(config, policy(scenarios[task.id]), episode, seed),
            label=None,
            pieces=None if folder is None else lambda task: Pieces(folder / task.id),
            **options,
        )

    return run


def test_the_oracle_is_always_right(config, run):
    for episode in run(config, OraclePolicy):
        assert (episode.score, episode.error) == (1.0, None)
        assert all(probe.known(state) for probe in episode.probes for state in probe.expected)


def test_what_was_told_is_recalled(config, run, from_prompt):
    """A policy that answers by its prompt alone knows everything, so that what it is shown must hold it."""
    for episode in run(config, from_prompt):
        assert all(probe.known(state) for probe in episode.probes for state in probe.expected)
        assert (episode.score, episode.error) == (1.0, None)
        assert diagnose(episode).shares["correct"] == 1


@pytest.mark.parametrize("config", [name for name, keys in CONFIGS.items() if "flush" in keys], indirect=True)
def test_without_its_memory_an_agent_knows_less(config, run, from_prompt, scenarios):
    for first in run(config, from_prompt):
        task, scenario = Task(first.task, first.task, 0), scenarios[first.task]
        kept = [{**state, "entries": []} for state in first.states]
        for states, right in ((first.states, True), (kept, False)):
            [again] = ask_again(
                [Inquiry(task, scenario, states)],
                lambda task, episode, seed: build_agent(config, from_prompt(scenarios[task.id]), episode, seed),
                label=None,
            )
            assert (again.score == 1.0) == right and again.memories == []


def test_slots_are_unique_and_snapshots_belong_to_writes(config, run):
    for episode in run(config, RandomPolicy):
        slots = [turn.slot for turn in episode.turns]
        assert len(set(slots)) == len(slots)
        written = [memory.turn for memory in episode.memories]
        if config.name == "rag":
            assert written == [None] * 3 and [memory.period for memory in episode.memories] == [0, 1, 2]
        else:
            assert {episode.turns[turn].operation for turn in written} <= {"write"} and len(set(written)) == len(written)
        for turn in episode.turns:
            assert turn.operation != "write" or {"period", "sessions", "exposed", "parsed"} <= set(turn.meta)


def test_episodes_survive_the_disk(config, run, tmp_path):
    episodes = run(config, OraclePolicy)
    save_episodes(tmp_path / "episodes.parquet", episodes)
    assert load_episodes(tmp_path / "episodes.parquet") == episodes


def test_an_agent_that_was_stopped_goes_on_like_one_that_was_not(config, run, from_prompt, tmp_path):
    def told(episode):
        return [(turn.slot, turn.text) for turn in episode.turns], episode.answers, episode.probes, episode.states, episode.score

    whole = run(config, from_prompt, tmp_path / "whole")
    for folder in (tmp_path / "whole").iterdir():
        (folder / "period_002.parquet").unlink()
    again = run(config, from_prompt, tmp_path / "whole")
    assert [told(episode) for episode in again] == [told(episode) for episode in whole]
    assert json.dumps(whole[0].states)  # JSON values only
