"""What agents cost beside their LLM, and what the search of rag and awe leaves out to be fast.

python benchmarks/agents.py own [--agents awi rag] [--messages 4000]     # mem0 only by name
python benchmarks/agents.py search --data data.json --replay peer_results/awi

``search``: over recorded conversations, the share of the 30 messages found by all of a query's words that its rarest words find,
too; queries are the questions, and the users' messages. ``own``: work per call as a share of calls of 20 ms. The life is 4,000
messages of 500 characters (words drawn by Zipf's law from 20,000) in 100 sessions of 10 periods, each period
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
from pathlib import Path
from random import Random
from typing import Any

from amemgym_envs.amemgym.recorded import load_interactions
from amemgym_envs.amemgym.scenario import load_scenarios
from amemgym_train.agents import build_agent
from amemgym_train.agents.base import Agent
from amemgym_train.agents.retrieval import bm25
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


def search(data: Path, replay: Path, k: int = 30) -> None:
    shares: dict[str, list[float]] = {"questions": [], "messages": []}
    for scenario in load_scenarios(data):
        spoken = [message for period in load_interactions(replay, scenario) for session in period for message in session]
        index = bm25.Bm25Index()
        for number, message in enumerate(spoken):
            index.add(number, message["content"])
        said = [message["content"] for message in spoken if message["role"] == "user"]
        for kind, queries in (("questions", [question.query for question in scenario.questions]), ("messages", said)):
            fast = [set(index.search(query, k)) for query in queries]
            limits, (bm25.TERMS, bm25.MATCHES) = (bm25.TERMS, bm25.MATCHES), (1_000_000, 1_000_000_000)
            whole = [set(index.search(query, k)) for query in queries]
            bm25.TERMS, bm25.MATCHES = limits
            shares[kind] += [len(a & b) / len(b) for a, b in zip(fast, whole, strict=True) if b]
    for kind, found in shares.items():
        print(f"{kind}: {sum(found) / len(found):.1%} of the {k} best, over {len(found)} queries")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["own", "search"])
    parser.add_argument("--agents", nargs="+", default=AGENTS)
    parser.add_argument("--messages", type=int, default=4000)
    parser.add_argument("--data", type=Path, help="search: scenarios")
    parser.add_argument("--replay", type=Path, help="search: their recorded conversations")
    options = parser.parse_args()
    if options.what == "search":
        if options.data is None or options.replay is None:
            parser.error("search needs --data and --replay")
        return search(options.data, options.replay)
    for name in options.agents:
        own(name, options.messages)


if __name__ == "__main__":
    main()
