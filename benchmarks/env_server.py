"""What a step costs over HTTP, beside a stand-in of AgentGym's TextCraft server.

python benchmarks/env_server.py speed                 # needs the extra server
python benchmarks/env_server.py memory [--episodes 10000]

The stand-in is what AgentGym's server is made of: a FastAPI application with synchronous routes and pydantic bodies, one process,
a lock where numbers are given out; the environment behind it is ours, so that only the serving differs. Ways: one step per
request on a kept connection (serial), and on 32 connections at once, by the same client for all; and batches of 64 episodes
per message by BatchClient. Episodes are the expert's, one after the other in each instance; their starts are part of the time,
steps alone are counted. Each figure is the best of five rounds. Server and client share the machine; the server's processor
time is its own, and depends less on what else the machine does. The memory is the server's RSS after so many episodes, 64 at a
time, each in an instance of its own, over 100 tasks.
"""

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from amemgym_envs import make
from amemgym_envs.client import BatchClient
from amemgym_envs.client.batch import Start
from amemgym_envs.client.connection import Connection

NAME = "TextCraft"
CONCURRENT, BATCH, ROUNDS = 32, 64, 5


def stand_in(port: int) -> None:
    """AgentGym's server, as its protocol and its parts are known."""
    import uvicorn
    from fastapi import FastAPI
    from pydantic import BaseModel

    app, held, lock = FastAPI(), {}, threading.Lock()

    class Create(BaseModel):
        commands: str | None = None
        goal: str | None = None

    class Step(BaseModel):
        id: int
        action: str

    class Reset(BaseModel):
        id: int
        data_idx: int = 0

    def begin(number: int, index: int) -> dict[str, Any]:
        env = held[number]
        observation, _ = env.reset(seed=0, options={"task": env.item(index)})
        return {"id": number, "observation": observation, "done": False, "reward": 0}

    @app.post("/create")
    def create(body: Create):
        with lock:
            number = len(held)
            held[number] = make(NAME)
        return begin(number, number)

    @app.post("/reset")
    def reset(body: Reset):
        return begin(body.id, body.data_idx)

    @app.post("/step")
    def step(body: Step):
        observation, reward, done, _, _ = held[body.id].step(body.action)
        return {"observation": observation, "reward": reward, "done": done}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


@contextmanager
def serving(*command: str) -> Iterator[tuple[str, int]]:
    """The address and the process id of a server."""
    running = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        if command[0] == "-m":
            yield running.stdout.readline().split()[-1], running.pid
        else:
            url = f"http://127.0.0.1:{command[-1]}"
            Connection(url, tries=60).ask("GET", "/docs")
            yield url, running.pid
    finally:
        running.terminate()
        running.wait()


def scripts() -> dict[str, tuple[int, list[str]]]:
    """For 100 tasks their number and the expert's actions."""
    env, made = make(NAME), {}
    for number in range(0, 500, 5):
        task, ended = env.item(number), False
        env.reset(seed=0, options={"task": task})
        actions = []
        while not ended:
            actions.append(env.expert())
            ended = any(env.step(actions[-1])[2:4])
        made[task] = (number, actions)
    return made


def in_agentgyms(connection: Connection, plays: dict[str, Any], ends: float) -> int:
    """Steps made until ``ends`` by AgentGym's protocol."""
    number = connection.good("POST", "/create", {})["id"]
    steps = 0
    for index, actions in itertools.cycle(plays.values()):
        connection.good("POST", "/reset", {"id": number, "data_idx": index})
        for action in actions:
            if time.perf_counter() >= ends:
                return steps
            told = connection.good("POST", "/step", {"id": number, "action": action}, repeat=False)
            assert "observation" in told, told
            steps += 1
    raise AssertionError("cycles without an end")


def in_ours(connection: Connection, plays: dict[str, Any], ends: float) -> int:
    """The same by the native protocol."""
    key, marks, steps = None, itertools.count(), 0
    for task, (_, actions) in itertools.cycle(plays.items()):
        start = {"task": task, "seed": 0}
        if key is None:
            key = connection.good("POST", "/v1/create", start | {"environment": NAME})["id"]
        else:
            connection.good("POST", "/v1/reset", start | {"id": key})
        for action in actions:
            if time.perf_counter() >= ends:
                return steps
            connection.good("POST", "/v1/step", {"id": key, "action": action, "request_id": str(next(marks))})
            steps += 1
    raise AssertionError("cycles without an end")


def rate(play: Callable[..., int], url: str, plays: dict[str, Any], threads: int, seconds: float) -> float:
    """Steps in a second; the threads' clients are processes of their own, so that they wait for none of each other."""
    from concurrent.futures import ProcessPoolExecutor

    workers = min(threads, 2)
    with ProcessPoolExecutor(workers) as pool:
        share = [threads // workers] * workers
        return sum(pool.map(_rate, [play] * workers, [url] * workers, [plays] * workers, share, [seconds] * workers))


def _rate(play: Callable[..., int], url: str, plays: dict[str, Any], threads: int, seconds: float) -> float:
    from concurrent.futures import ThreadPoolExecutor

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        done = sum(pool.map(lambda _: play(Connection(url), plays, began + seconds), range(threads)))
    return done / (time.perf_counter() - began)


async def batched(url: str, plays: dict[str, Any], seconds: float) -> float:
    """Steps in a second, BATCH episodes a message."""
    began, steps = time.perf_counter(), 0
    tasks = itertools.cycle(plays.items())
    async with BatchClient(url) as client:
        chosen = [next(tasks) for _ in range(BATCH)]
        begun = await client.create([Start(NAME, task, 0) for task, _ in chosen])
        left = {one.id: actions[::-1] for one, (_, (_, actions)) in zip(begun, chosen, strict=True)}  # the last action first
        while time.perf_counter() - began < seconds:
            steps += _good(await client.step({key: actions.pop() for key, actions in left.items()}))
            chosen = {key: next(tasks) for key, actions in left.items() if not actions}
            _good(await client.reset({key: Start(NAME, task, 0) for key, (task, _) in chosen.items()}))
            left |= {key: actions[::-1] for key, (_, (_, actions)) in chosen.items()}
    return steps / (time.perf_counter() - began)


async def fresh(url: str, plays: dict[str, Any], episodes: int, seen: Callable[[int], None]) -> None:
    """So many episodes, each in an instance of its own; ``seen`` is told how many have ended."""
    tasks = itertools.cycle(plays.items())
    async with BatchClient(url) as client:
        for ended in range(0, episodes, BATCH):
            chosen = [next(tasks) for _ in range(min(BATCH, episodes - ended))]
            begun = await client.create([Start(NAME, task, 0) for task, _ in chosen])
            for turn in range(max(len(actions) for _, (_, actions) in chosen)):
                pairs = zip(begun, chosen, strict=True)
                _good(await client.step({one.id: actions[turn] for one, (_, (_, actions)) in pairs if turn < len(actions)}))
            await client.close([one.id for one in begun])
            seen(ended + len(chosen))


def _good(answers: list[Any]) -> int:
    """How many there are; none may be an error."""
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return len(answers)


def rss(pid: int) -> float:
    """MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


OURS = ("-m", "amemgym_train.cli", "serve", NAME, "--port", "0")


def cpu(pid: int) -> float:
    """Seconds of processor time so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def shown(name: str, pid: int, measure: Callable[[], float], seconds: float) -> None:
    """The best of ROUNDS: what else the machine does only slows them down."""
    before = cpu(pid)
    rates = [measure() for _ in range(ROUNDS)]
    spent = (cpu(pid) - before) / (sum(rates) * seconds)
    print(f"{name}: {max(rates):,.0f} steps/s, {1e6 * spent:.0f} microseconds of the server's processor a step", flush=True)


def speed(seconds: float) -> None:
    plays = scripts()

    def one_by_one(name: str, play: Callable[..., int], url: str, pid: int) -> None:
        for way, threads in (("serial", 1), (f"{CONCURRENT} at once", CONCURRENT)):
            shown(f"{name}, {way}", pid, lambda threads=threads: rate(play, url, plays, threads, seconds), seconds)

    with serving(__file__, "stand-in", "18555") as (url, pid):
        one_by_one("stand-in of AgentGym's", in_agentgyms, url, pid)
    with serving(*OURS) as (url, pid):
        one_by_one("ours, AgentGym's protocol", in_agentgyms, url, pid)
        one_by_one("ours, native protocol", in_ours, url, pid)
        shown(f"ours, batches of {BATCH}", pid, lambda: asyncio.run(batched(url, plays, seconds)), seconds)


def memory(episodes: int) -> None:
    marks = {count: 0.0 for count in (0, 100, 500, *range(1000, episodes, 1000), episodes)}
    with serving(*OURS) as (url, pid):
        marks[0] = rss(pid)

        def seen(ended: int) -> None:
            for count, value in marks.items():
                if ended >= count and not value:
                    marks[count] = rss(pid)

        asyncio.run(fresh(url, scripts(), episodes, seen))
    print(json.dumps({f"{count} episodes": f"{value:.1f} MiB" for count, value in marks.items()}, indent=2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("speed", "memory", "stand-in"))
    parser.add_argument("port", nargs="?", type=int, help="of the stand-in")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each of the rounds (default: %(default)s)")
    parser.add_argument("--episodes", type=int, default=10_000)
    asked = parser.parse_args()
    if asked.what == "speed":
        speed(asked.seconds)
    elif asked.what == "memory":
        memory(asked.episodes)
    else:
        stand_in(asked.port)
