import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from amemgym_envs import make

RECORDED = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "agentgym_wire" / "textcraft_babyai.json.gz"


@pytest.fixture
def env():
    return make("TextCraft")


@pytest.fixture
def recorded() -> list[dict[str, Any]]:
    """The exchanges with AgentGym's own TextCraft server, in order."""
    if not RECORDED.is_file():
        pytest.skip("shared/data/agentgym_wire is not beside this checkout")
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        return [exchange for exchange in json.load(file) if exchange["env"] == "textcraft"]
