"""Scenario files: the public ``data.json`` of AMemGym (or ``data.json.gz``), a list of one item per user.

``load_scenarios`` refuses anything that could not be played or scored and names the item and the field; ``save_scenarios``
writes the same layout back, so that load and save lose nothing.
"""

from pathlib import Path

from amemgym_envs.amemgym.consistency import check, check_all
from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.files import read_json, write_json
from amemgym_envs.amemgym.layout import parse, unparse
from amemgym_envs.amemgym.node import Node, shown
from amemgym_envs.amemgym.records import Choice, Period, Question, Scenario, Session

__all__ = [
    "Choice",
    "Period",
    "Question",
    "Scenario",
    "ScenarioError",
    "Session",
    "check",
    "check_all",
    "load_scenarios",
    "save_scenarios",
]


def load_scenarios(path: str | Path) -> list[Scenario]:
    """Read and check a scenario file, plain or gzipped (name ends in .gz)."""
    path = Path(path)
    content = read_json(path)
    if not isinstance(content, list) or not content:
        raise ScenarioError(f"{path}: got {shown(content)}, expected a list of at least one scenario")
    scenarios = []
    for i, item in enumerate(content):
        name = item.get("id") if isinstance(item, dict) else None
        scenarios.append(parse(Node(item, f"{path.name}, item {i} (id {name})")))
    check_all(scenarios)
    return scenarios


def save_scenarios(path: str | Path, scenarios: list[Scenario]) -> None:
    """Check and write; a reader never sees a half-written file."""
    check_all(scenarios)
    write_json(Path(path), unparse(scenarios))
