"""A writer that was killed goes on where it stopped; an endpoint that is down keeps what was paid for."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from amemgym_envs.amemgym.llm import EndpointError
from amemgym_envs.amemgym.scenario import Scenario

ROOT = Path(__file__).resolve().parents[3]
WRITER = """
import asyncio, json, sys
from pathlib import Path
from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.llm import Endpoint, LLMWriter

url, work, settings, persona = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]), json.loads(sys.argv[4])

async def main():
    async with Endpoint(url, "strong", backoff_s=0.001, concurrency=3) as endpoint:
        async for _ in LLMWriter(GeneratorConfig(**settings), endpoint, work, lambda user: persona, max_tries=4).write([0]):
            pass

asyncio.run(main())
"""
PERSONA = {"name": "Mara Lind", "formatted_str": "name: Mara Lind\nage: 41"}


def entries(work):
    return [json.loads(line)["key"] for line in (work / "user_0.jsonl").read_bytes().split(b"\n")[:-1]]


@pytest.mark.parametrize("answered", [0, 7, 25, 50])
def test_after_a_kill_only_what_is_missing_is_asked(run, endpoint, server, settings, tmp_path, answered):
    undisturbed, cut = tmp_path / "undisturbed", tmp_path / "cut"
    run(endpoint(), undisturbed, max_tries=4, personas=lambda user: PERSONA)
    whole = entries(undisturbed)
    assert len(whole) == len(set(whole)) == len(server.requests) > 50

    server.hold_after = len(server.requests) + answered
    arguments = [server.url, str(cut), json.dumps(settings), json.dumps(PERSONA)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "envs")])}
    process = subprocess.Popen([sys.executable, "-c", WRITER, *arguments], env=env)
    assert server.held.wait(60)
    process.send_signal(signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    server.hold_after = None
    server.released.set()
    before = entries(cut) if (cut / "user_0.jsonl").exists() else []
    assert len(before) <= answered and not (cut / "user_0.json").exists()

    calls = len(server.requests)
    [(_, user)], writer = run(endpoint(), cut, max_tries=4, personas=lambda user: PERSONA)
    assert isinstance(user, Scenario)
    assert len(server.requests) - calls == writer.report.calls == len(whole) - len(before)
    assert writer.report.cached >= len(before)
    assert set(entries(cut)) == set(whole)
    assert (cut / "user_0.json").read_bytes() == (undisturbed / "user_0.json").read_bytes()


def test_a_run_that_is_finished_asks_nothing(run, endpoint, server, tmp_path):
    first, _ = run(endpoint(), tmp_path, max_tries=4)
    (tmp_path / "user_0.json").unlink()
    calls = len(server.requests)
    again, writer = run(endpoint(), tmp_path, max_tries=4)
    assert len(server.requests) == calls and writer.report.calls == 0 and again == first


def test_a_failed_user_fails_again_without_a_call(run, endpoint, server, model, tmp_path):
    model.junk = ["Mara"]
    first, _ = run(endpoint(), tmp_path, max_tries=3)
    calls = len(server.requests)
    again, writer = run(endpoint(), tmp_path, max_tries=3)
    assert calls == 3 and len(server.requests) == calls and again == first
    run(endpoint(), tmp_path, max_tries=5)
    assert len(server.requests) == calls + 2  # more tries go on from the known ones


def test_passing_faults_change_nothing(run, endpoint, server, model, tmp_path):
    calm, _ = run(endpoint(), tmp_path / "calm", max_tries=4)
    faults = [(503, {}, b""), (429, {"Retry-After": "0"}, b""), (200, {}, b"<html>"), (502, {}, b"")] * 5

    def stormy_model(messages):
        server.faults.extend([faults.pop()] if faults else [])
        return model(messages)

    server.model = stormy_model
    stormy, writer = run(endpoint(), tmp_path / "stormy", max_tries=4)
    assert stormy == calm and writer.report.retries == 20
    assert (tmp_path / "calm" / "user_0.json").read_bytes() == (tmp_path / "stormy" / "user_0.json").read_bytes()


def test_an_endpoint_that_goes_down_stops_the_run_and_keeps_the_rest(run, endpoint, server, tmp_path, model):
    def until(messages, whole=model):
        if "Ada Moor" in messages[0]["content"]:
            server.faults.extend([(500, {}, b"gone")] * 1000)
        return whole(messages)

    server.model = until
    with pytest.raises(EndpointError, match="status 500: gone, in each of 2 tries"):
        run(endpoint(max_retries=1), tmp_path, users=[0, 2], max_tries=4, users_at_once=1)
    assert (tmp_path / "user_0.json").exists() and len((tmp_path / "user_2.jsonl").read_text().splitlines()) == 1
    server.faults.clear()
    server.model = model
    outcomes, writer = run(endpoint(), tmp_path, users=[0, 2], max_tries=4)
    assert [type(outcome) for _, outcome in outcomes] == [Scenario, Scenario] and writer.report.resumed == 1
