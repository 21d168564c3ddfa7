"""The wording of generated scenarios: state variables with their phrasings, and the sentences around them.

All text lives in ``templates/<language>.yaml``. Phrasings and variables are divided into training and held-out parts by
fixed rules, so that a score on held-out users measures neither remembered topics nor remembered sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from amemgym_envs.amemgym.errors import ScenarioError

SPLITS: tuple[str, ...] = ("train", "validation", "test")
PHRASINGS: tuple[str, ...] = ("train", "test", "all")
FOLDER = Path(__file__).parent / "templates"
_COUNTS = {"values": 4, "says": 6, "changes": 3, "advice": 2}


def phrased(carriers: Sequence[str], phrasings: str) -> tuple[str, ...]:
    """The first two thirds of ``carriers`` ("train"), the held-out last third ("test"), or all of them ("all")."""
    cut = len(carriers) * 2 // 3
    return tuple({"train": carriers[:cut], "test": carriers[cut:], "all": carriers}[phrasings])


@dataclass(frozen=True)
class Variable:
    """One thing about a user that can change. ``says``, ``changes`` and ``advice`` contain ``{value}``, ``asks`` does not."""

    name: str
    domain: str
    values: tuple[str, ...]
    says: tuple[str, ...]
    changes: tuple[str, ...]
    asks: str
    advice: tuple[str, ...]
    split: str

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise ScenarioError(f"variable {self.name!r}: split is {self.split!r}, expected one of {', '.join(SPLITS)}")
        for key, count in _COUNTS.items():
            if len(getattr(self, key)) != count:
                raise ScenarioError(f"variable {self.name!r}: {key} has {len(getattr(self, key))} entries, expected {count}")
        for key in ("says", "changes", "advice"):
            for carrier in getattr(self, key):
                if carrier.count("{value}") != 1:
                    raise ScenarioError(f"variable {self.name!r}: {key} entry {carrier!r} must contain {{value}} exactly once")


@dataclass(frozen=True)
class Wording:
    """Everything one language offers. ``questions`` contain ``{topics}``; ``follow_ups`` and both openers are neutral."""

    variables: tuple[Variable, ...]
    openers: tuple[str, ...]
    news_openers: tuple[str, ...]
    follow_ups: tuple[str, ...]
    questions: tuple[str, ...]
    personas: dict[str, tuple[str, ...]]

    def split(self, name: str) -> tuple[Variable, ...]:
        """The variables of one split, or of all of them ("all"), in the order of the file."""
        if name not in (*SPLITS, "all"):
            raise ScenarioError(f"split is {name!r}, expected one of {', '.join(SPLITS)}, all")
        return tuple(v for v in self.variables if name in (v.split, "all"))


def _frozen(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


def _variable(entry: dict[str, Any], path: Path) -> Variable:
    expected = {f.name for f in fields(Variable)}
    if set(entry) != expected:
        raise ScenarioError(
            f"{path.name}: variable {entry.get('name')!r} has keys {sorted(entry)}, expected {sorted(expected)}"
        )
    return Variable(**_frozen(entry))


@cache
def wording(language: str = "en") -> Wording:
    """Read ``templates/<language>.yaml`` once per process."""
    path = FOLDER / f"{language}.yaml"
    if not path.is_file():
        known = sorted(p.stem for p in FOLDER.glob("*.yaml"))
        raise ScenarioError(f"language is {language!r}, expected one of {', '.join(known)}")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # both are safe; the C one takes a tenth of the time
    content = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    variables = tuple(_variable(entry, path) for entry in content.pop("variables"))
    personas = _frozen(content.pop("personas"))
    return Wording(variables=variables, personas=personas, **_frozen(content))
