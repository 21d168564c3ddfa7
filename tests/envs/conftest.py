import gzip
import json
from pathlib import Path
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
