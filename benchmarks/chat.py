"""What a call through policy.chat costs beside its endpoint, and how well a model plays users.

python benchmarks/chat.py calls
python benchmarks/chat.py user --data data.json --base-url http://127.0.0.1:8000/v1 --model NAME    # as of `transformers serve`

``calls``: a real HTTP server on this machine answers at once, or after 200 ms. ``user``: the first follow-up of the first
``--sessions`` sessions of every user, asked of the model as ``scenarios.user`` does.
"""

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path

from evaluation import endpoint

from amemgym_train.config.chat import ChatConfig
from amemgym_train.config.scenarios import ScenarioConfig
from amemgym_train.config.user import UserConfig
from amemgym_train.evaluation.users import speaker, user_factory
from amemgym_train.policy.base import Request, Sampling
from amemgym_train.policy.chat import ChatPolicy

CASES = (  # seconds of the endpoint, calls, in flight, characters of a prompt, with the cache
    (0.0, 1000, 64, 2_000, False),
    (0.0, 1000, 64, 2_000, True),
    (0.2, 1280, 64, 2_000, True),
    (0.0, 100, 8, 500_000, True),
)
REPLY = "That sounds worth doing. Would you like to start with something small?"


def calls() -> None:
    for latency, count, in_flight, size, cached in CASES:
        with endpoint(latency) as (url, _), tempfile.TemporaryDirectory() as folder:
            cache = str(Path(folder, "cache.jsonl")) if cached else None
            policy = ChatPolicy(ChatConfig(base_url=url, model="any", concurrency=in_flight, cache=cache))
            seconds = asyncio.run(timed(policy, [asked(f"{i} " + "word " * (size // 5), i) for i in range(count)]))
        print(
            f"endpoint {1000 * latency:.0f} ms, {count} calls of {size:,} characters, {in_flight} in flight, "
            f"{'with' if cached else 'without'} cache: {seconds:.2f} s, {1000 * seconds / count:.2f} ms a call"
        )


async def timed(policy: ChatPolicy, requests: list[Request]) -> float:
    await policy.complete(asked("Hello!", -1))  # opens the first connection
    began = time.perf_counter()
    await asyncio.gather(*map(policy.complete, requests))
    return time.perf_counter() - began


def asked(text: str, number: int) -> Request:
    sampling = Sampling(max_new_tokens=8, temperature=0.0)
    return Request([{"role": "user", "content": text}], "answer", f"answer/p0/q{number}", sampling, "AMemGym-v0/user/0")


def user(data: str, base_url: str, model: str, sessions: int) -> None:
    chat = ChatConfig(base_url=base_url, model=model, concurrency=1, timeout_s=300)
    config = UserConfig(chat=chat, max_new_tokens=48)
    for scenario in ScenarioConfig(data=data).build():
        talking = user_factory(config)(scenario, 0)
        for session in range(min(sessions, len(scenario.periods[0].sessions))):
            talk = [{"role": "user", "content": talking.opening(0, session)}, {"role": "assistant", "content": REPLY}]
            print(talking.follow_up(0, session, 1, talk), flush=True)
    print(json.dumps(speaker(config).to_dict()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("calls")
    played = commands.add_parser("user")
    for name in ("data", "base-url", "model"):
        played.add_argument(f"--{name}", required=True)
    played.add_argument("--sessions", type=int, default=8)
    given = vars(parser.parse_args())
    if given.pop("command") == "calls":
        calls()
    else:
        user(**given)


if __name__ == "__main__":
    main()
