"""Generated scenarios, measured: how fast, how long, and whether only memory answers their questions.

python benchmarks/scenarios.py speed      # 1,000 base users, one extra user, time and memory against conversation length
python benchmarks/scenarios.py answers    # oracle, random and no-memory agents on 50 base users, scripted play
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean

from amemgym_envs.amemgym.dataset import build
from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.generator import GeneratorConfig, generate, preset
from amemgym_envs.amemgym.records import Scenario
from amemgym_envs.amemgym.validation.shortcuts import WAYS
from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.policy.base import Policy
from amemgym_train.policy.oracle import BlindPolicy, OraclePolicy, RandomPolicy
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.runner import play

AGENT = AgentConfig(name="awi", local_length=0, respond="fixed")
LENGTHS = [125_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000]


def policy(name: str, scenario: Scenario) -> Policy:
    if name == "oracle":
        return OraclePolicy(scenario)
    return RandomPolicy() if name == "random" else BlindPolicy(scenario, WAYS[name])


def accuracy(name: str, scenarios: list[Scenario]) -> float:
    """Mean share of right answers of an agent with the named policy."""
    by_id = {scenario.id: scenario for scenario in scenarios}
    episodes = play(
        lambda task: AMemGymEnv([by_id[task.id]], probes=False),
        [Task(scenario.id, scenario.id, 0) for scenario in scenarios],
        lambda task, episode, seed: build_agent(AGENT, policy(name, by_id[task.id]), episode, seed),
        label=None,
    )
    assert all(episode.error is None for episode in episodes)
    return fmean(episode.score for episode in episodes)


def answers(users: int) -> None:
    scenarios = generate(GeneratorConfig(**preset("base") | {"num_users": users}))
    print(f"{users} base users, {sum(len(s.periods) * len(s.questions) for s in scenarios)} answers")
    for name in ("oracle", "random", *WAYS):
        print(f"{name:20} {accuracy(name, scenarios):.4f}", flush=True)


def speed(users: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            start, path = time.perf_counter(), Path(folder, f"base{workers}.json")
            build(GeneratorConfig(**preset("base") | {"num_users": users}), path, workers=workers)
            seconds, size = time.perf_counter() - start, path.stat().st_size / 1e6
            print(f"{users} base users, {workers} process(es): {seconds:.1f} s, {size:.0f} MB")
    print(f"peak memory of the writing process: {peak():.0f} MB")
    print("tokens       seconds   sessions   peak MB")
    for length in LENGTHS:
        run = subprocess.run(
            [sys.executable, __file__, "one", "--tokens", str(length)], capture_output=True, text=True, check=True
        )
        print(run.stdout, end="", flush=True)


def one(tokens: int) -> None:
    """An extra user of one length in a process of its own, so that its peak memory is its own."""
    config = GeneratorConfig(**preset("extra") | {"num_users": 1, "target_tokens": tokens})
    config.words.follow_up_tokens  # noqa: B018 - the pack is read before the clock starts, as for all users but the first
    before, start = peak(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        (entry,) = build(config, Path(folder, "user.json"))
    print(f"{entry.tokens:>9,} {time.perf_counter() - start:>10.3f} {entry.sessions:>10,} {peak() - before:>9.1f}")


def peak() -> float:
    """MB of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "answers", "one"))
    parser.add_argument("--users", type=int)
    parser.add_argument("--tokens", type=int, default=500_000)
    arguments = parser.parse_args()
    if arguments.what == "one":
        one(arguments.tokens)
    elif arguments.what == "speed":
        speed(arguments.users or 1000)
    else:
        answers(arguments.users or 50)


if __name__ == "__main__":
    main()
