"""How much faster an evaluation through an endpoint is with many calls in flight, and what a call costs beside the endpoint.

python benchmarks/evaluation.py [--users 20] [--periods 3] [--concurrency 64] [--latency 0.2] [--one-by-one 1]

A real HTTP server on this machine answers every chat request after ``--latency`` seconds. All users are evaluated with
``rollout.concurrency`` and ``policy.chat.concurrency`` as given, then ``--one-by-one`` of them with one call after another, whose
time per call stands for that of all users. Times run from the first request that reaches the server to its last reply.
"""

import argparse
import asyncio
import json
import tempfile
import threading
import time
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import yaml

from amemgym_train import cli

Served = tuple[float, float]
REPLY = json.dumps({"choices": [{"message": {"content": '{"answer": 1}'}, "finish_reason": "stop"}]}).encode()


@contextmanager
def endpoint(latency: float):
    """(address, list of (came, answered) of each request) of a server that answers after ``latency`` seconds."""
    loop, served = asyncio.new_event_loop(), []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b"":
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(length)
            came = time.perf_counter()
            await asyncio.sleep(latency)
            served.append((came, time.perf_counter()))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(REPLY) + REPLY)
            await writer.drain()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionResetError):  # the client has what it wanted
            pass
        finally:
            writer.close()

    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", served
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    open_connections = asyncio.all_tasks(loop)
    for task in open_connections:
        task.cancel()
    if open_connections:
        loop.run_until_complete(asyncio.wait(open_connections))
    loop.close()


def evaluate(url: str, served: list[Served], users: int, periods: int, concurrency: int, agent: str) -> list[Served]:
    """The calls of one evaluation."""
    sections: dict[str, Any] = {
        "name": "benchmark",
        "policy": {"chat": {"base_url": url, "model": "any", "concurrency": concurrency}},
        "agent": {"name": agent},
        "scenarios": {"test": {"num_users": users, "num_periods": periods - 1, "num_questions": 10, "rounds_update": 2}},
        "rollout": {"concurrency": concurrency},
        "evaluation": {"controls": []},
    }
    before = len(served)
    with tempfile.TemporaryDirectory() as folder:
        recipe = Path(folder, "recipe.yaml")
        recipe.write_text(yaml.safe_dump(sections))
        with redirect_stdout(StringIO()) as said:
            if cli.main(["evaluate", str(recipe), "--out", str(Path(folder, "out")), "--json"]) != 0:
                raise SystemExit(said.getvalue())
    return served[before:]


def seconds_of(calls: list[Served]) -> float:
    return max(answered for _, answered in calls) - min(came for came, _ in calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--periods", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds of the endpoint for each answer")
    parser.add_argument("--one-by-one", type=int, default=1, metavar="USERS", help="users played with one call after another")
    parser.add_argument("--agent", default="awi")
    given = parser.parse_args()
    with endpoint(given.latency) as (url, served):
        many = evaluate(url, served, given.users, given.periods, given.concurrency, given.agent)
        few = evaluate(url, served, given.one_by_one, given.periods, 1, given.agent)
    seconds, slow, calls = seconds_of(many), seconds_of(few), len(many)
    each, theirs = slow / len(few), sum(answered - came for came, answered in few) / len(few)
    print(f"{given.users} users, {given.concurrency} at once: {calls} calls in {seconds:.1f} s, {calls / seconds:.0f} a second")
    print(f"one call after another: {len(few)} calls of {given.one_by_one} users in {slow:.1f} s, {1000 * each:.2f} ms a call,")
    print(f"  {1000 * theirs:.2f} ms in the endpoint and {1000 * (each - theirs):.2f} ms outside")
    print(f"all calls one after another: {calls * each:.0f} s (extrapolated), {calls * each / seconds:.1f} times as long")


if __name__ == "__main__":
    main()
