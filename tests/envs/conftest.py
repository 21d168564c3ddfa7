import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.scenario import Scenario, load_scenarios

REAL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "amemgym_real" / "data.json"

WIRE = REAL.parents[1] / "agentgym_wire" / "textcraft_babyai.json.gz"


@pytest.fixture
def users() -> list[Scenario]:
    """Three small users, fresh for each test: records are mutable."""
    config = GeneratorConfig(seed=7, num_users=3, num_variables=6, num_periods=3, num_questions=4, num_changes_per_period=2)
    return generate(config)


@pytest.fixture
def real_path() -> Path:
    if not REAL.is_file():
        pytest.skip("shared/data/amemgym_real/data.json is not beside this checkout")
    return REAL


@pytest.fixture
def real(real_path: Path) -> list[Scenario]:
    return load_scenarios(real_path)


@pytest.fixture(scope="session")
def exchanges() -> list[dict[str, Any]]:
    """What AgentGym's own servers were asked and answered, in order."""
    if not WIRE.is_file():
        pytest.skip("shared/data/agentgym_wire is not beside this checkout")
    with gzip.open(WIRE) as file:
        return json.load(file)


@pytest.fixture(scope="session")
def garbage() -> list[str]:
    """Two thousand actions that belong to no grammar: long ones, injections, control characters, any code points."""
    rng = Random(0)
    injections = ["'; DROP TABLE t; --", "__import__('os').abort()", "{}{0}%s"]
    known = ["", " ", "\n", "Action:", " " * 20_000, "x" * 10**6, "[" * 10_000, "\0" * 99, *injections]
    control = "".join(map(chr, range(32)))
    alphabets = ["move updownleftright", "abcde ghijklmnopqrstuvwxyz", '{}[]":,\\', control, "äß\u0130\u212a\u200b\U0001f600"]
    drawn = ["?" + "".join(rng.choices(rng.choice(alphabets), k=rng.randrange(60))) for _ in range(1989)]
    return known + drawn
