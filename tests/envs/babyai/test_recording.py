"""The texts of AgentGym's own server, recorded with minigrid 2.3.1: the same requests give the same bytes."""

import gzip
import json
from pathlib import Path

import pytest

from amemgym_envs.registry import make

RECORDING = Path(__file__).resolve().parents[4] / "shared" / "data" / "agentgym_wire" / "textcraft_babyai.json.gz"
minigrid = pytest.importorskip("minigrid")


@pytest.mark.skipif(not RECORDING.exists(), reason="no recording beside the repository")
@pytest.mark.skipif(minigrid.__version__ != "2.3.1", reason="recorded with minigrid 2.3.1, which makes other layouts")
def test_the_recorded_exchanges_are_those_of_agentgym():
    env = make("BabyAI", mode="agentgym", max_steps=1000)
    played = 0
    for exchange in json.loads(gzip.decompress(RECORDING.read_bytes())):
        body, response = exchange["body"] or {}, exchange["response"]
        if exchange["env"] != "babyai" or exchange["path"] not in ("/reset", "/step") or "error" in response:
            continue  # the rest is the server's, not the environment's
        if exchange["path"] == "/reset":
            observation, info = env.reset(options={"task": env.item(body["data_idx"])})
            got = {"observation": observation, "reward": 0, "score": 0, "deleted": False, "done": False}
        else:
            observation, reward, done, _, info = env.step(body["action"])
            got = {"observation": observation, "reward": reward, "score": info["score"], "done": done}
        assert got == response
        played += 1
    assert played == 84
