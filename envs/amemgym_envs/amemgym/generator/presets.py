"""Settings by name: the benchmark's published ones, and small ones for tests and laptops."""

from functools import cache
from pathlib import Path
from typing import Any

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.files import read_yaml


@cache
def _presets() -> dict[str, dict[str, Any]]:
    return read_yaml(Path(__file__).parent / "presets.yaml")


def presets() -> list[str]:
    return list(_presets())


def preset(name: str) -> dict[str, Any]:
    """The settings of a preset, to be overridden key by key; ScenarioError for an unknown one."""
    if name not in _presets():
        raise ScenarioError(f"preset is {name!r}, expected one of {', '.join(_presets())}")
    return dict(_presets()[name])
