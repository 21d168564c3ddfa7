"""What agents cost beside their LLM: own work per call over a life of 512K tokens, as a share of calls of 20 ms.

python benchmarks/agents.py own [--agents awi rag] [--messages 4000]     # mem0 only by name

The life is 4,000 messages of 500 characters (words drawn by Zipf's law from 20,000) in 100 sessions of 10 periods, each period
with 10 questions and 10 probes. Replies to writes have facts of 8 words, and half of the decisions change a stored one. native
has a window of 128K tokens, at 4 characters each. The policy has its replies ready and answers at once, so that the processor's
time of the whole is the agent's; 20 ms are put down for each call. (To sleep through them would tell of the machine's timers.)
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any

from amemgym_train.agents import build_agent
from amemgym_train.agents.base import Agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.policy.base import Completion, Request, TooLong

AGENTS = ("native", "awi", "awe", "rag")
SECONDS = 0.02
WINDOW = 128_000
PERIODS, SESSIONS, QUESTIONS = 10, 10, 10


class Words:
    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.vocabulary = ["".join(self.rng.choices(letters, k=self.rng.randint(2, 9))) for _ in range(20_000)]
        self.weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(self.vocabulary))))

    def text(self, count: int) -> str:
        return " ".join(self.rng.choices(self.vocabulary, cum_weights=self.weights, k=count))

    def message(self) -> str:
        return self.text(90)[:500]


@dataclass
class Ready:
    """Answers with one of many replies of each kind."""

    replies: dict[str, list[str]]
    version: str = "ready"
    calls: int = 0

    def enter(self, episode: str) -> None: ...

    def leave(self, episode: str) -> None: ...

    async def complete(self, request: Request) -> Completion:
        tokens = sum(len(message["content"]) for message in request.messages) // 4
        if tokens + request.sampling.max_new_tokens > WINDOW:
            raise TooLong("too long", tokens, WINDOW - request.sampling.max_new_tokens)
        self.calls += 1
        ready = self.replies[request.facts.get("step", request.operation)]
        await asyncio.sleep(0)
        return Completion([], [], [], ready[self.calls % len(ready)], "stop")


def replies(words: Words) -> dict[str, list[str]]:
    """By step of a write, or by operation."""

    def decision(event: dict[str, str]) -> str:
        return json.dumps({"memory": [{**event, "text": words.text(8)}, {"event": "NONE", "id": "1"}]})

    return {
        "respond": [words.message() for _ in range(997)],
        "facts": [json.dumps({"facts": [words.text(8), words.text(8)]}) for _ in range(997)],
        "decide": [decision(event) for _ in range(499) for event in ({"event": "UPDATE", "id": "0"}, {"event": "ADD"})],
        "write": [json.dumps({topic: words.text(8)}) for topic in words.vocabulary[:200]],
        "read": [json.dumps({"pet": "cat"})],
        "answer": [json.dumps({"answer": 1})],
    }


def life(words: Words, messages: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Steps of AMemGym: observations, each with its info."""
    rounds = messages // 2 // (PERIODS * SESSIONS)
    for period in range(PERIODS):
        for session in range(SESSIONS):
            about = {"kind": "session", "period": period, "session": session, "rounds": rounds}
            when = {"time": f"2024-{period + 1:02d}-{session + 1:02d} 09:00:00", "exposed": {}}
            for round in range(rounds):
                yield words.message(), {**about, **when, "round": round}
        for question in range(QUESTIONS):
            place, query = {"period": period, "question": question}, words.text(15)
            yield f"{query}\n\n1. yes\n2. no", {"kind": "question", **place, "query": query, "choices": ["yes", "no"]}
            end = question == QUESTIONS - 1
            yield query, {"kind": "probe", **place, "schema": {"pet": ["cat", "dog"]}, "period_end": end}


async def live(agent: Agent, steps: list[tuple[str, dict[str, Any]]]) -> None:
    for observation, info in steps:
        await agent.act(observation, info)
        if info.get("period_end"):
            agent.save()  # as the runner does


def own(name: str, messages: int) -> None:
    policy = Ready(replies(Words(1)))
    steps = list(life(Words(0), messages))
    agent = build_agent(AgentConfig(name=name), policy, "episode")
    start = time.process_time()
    asyncio.run(live(agent, steps))
    each = (time.process_time() - start) / policy.calls
    told = f"{policy.calls:6} calls, {each * 1000:.3f} ms of own work per call"
    print(f"{name:8}{told}, {each / SECONDS:.2%} of the LLM's time", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["own"])
    parser.add_argument("--agents", nargs="+", default=AGENTS)
    parser.add_argument("--messages", type=int, default=4000)
    options = parser.parse_args()
    for name in options.agents:
        own(name, options.messages)


if __name__ == "__main__":
    main()
