"""State variables of a language pack, with everything a user may say to tell one.

Phrasings and variables are divided into training and held-out parts by fixed rules, so that a score on held-out users measures
neither remembered topics nor remembered sentences.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from amemgym_envs.amemgym.errors import ScenarioError

SPLITS: tuple[str, ...] = ("train", "validation", "test")
PHRASINGS: tuple[str, ...] = ("train", "test", "all")
DIRECTNESS: tuple[str, ...] = ("direct", "indirect", "event")
_COUNTS = {"says": 6, "changes": 3, "advice": 2}  # carriers of one variable, at least
_IMPLIED = 3  # sentences of each kind that imply one value, at least


def phrased(phrases: Sequence[str], phrasings: str) -> tuple[str, ...]:
    """The first two thirds of ``phrases`` ("train"), the held-out last third ("test"), or all of them ("all")."""
    cut = len(phrases) * 2 // 3
    return tuple({"train": phrases[:cut], "test": phrases[cut:], "all": phrases}[phrasings])


def not_texts(value: Any) -> str:
    """What keeps ``value`` from being a list of texts; YAML reads yes, no and numbers as something else. Empty for a good one."""
    if not isinstance(value, tuple) or not value:
        return f"is {value!r}, expected a list of texts"
    wrong = [entry for entry in value if not isinstance(entry, str) or not entry.strip()]
    return f"has the entry {wrong[0]!r}, expected a text (put it in quotes)" if wrong else ""


def stray(text: str, *fields: str) -> bool:
    """Whether a brace is left in ``text`` beside its fields."""
    for name in fields:
        text = text.replace(name, "")
    return "{" in text or "}" in text


@dataclass(frozen=True)
class Variable:
    """One thing about a user that can change.

    ``says``, ``changes`` and ``advice`` contain ``{value}``, ``asks`` does not. ``implies`` has for every value sentences that
    tell it without naming it: {value: {"indirect": (...), "event": (...)}}.
    """

    name: str
    domain: str
    split: str
    values: tuple[str, ...]
    says: tuple[str, ...]
    changes: tuple[str, ...]
    asks: str
    advice: tuple[str, ...]
    implies: dict[str, dict[str, tuple[str, ...]]] = field(hash=False)

    def __post_init__(self) -> None:
        for key in ("name", "asks"):
            if problem := not_texts((getattr(self, key),)):
                self.fail(f"{key} {problem}")
        for key in ("values", "says", "changes", "advice"):
            if problem := not_texts(getattr(self, key)):
                self.fail(f"{key} {problem}")
        if self.split not in SPLITS:
            self.fail(f"split is {self.split!r}, expected one of {', '.join(SPLITS)}")
        if not 3 <= len(set(self.values)) == len(self.values) <= 4:
            self.fail(f"values are {list(self.values)}, expected three or four distinct ones")
        for key, count in _COUNTS.items():
            carriers = getattr(self, key)
            if len(carriers) < count:
                self.fail(f"{key} has {len(carriers)} entries, expected at least {count}")
            for carrier in carriers:
                if carrier.count("{value}") != 1:
                    self.fail(f"{key} entry {carrier!r} must contain {{value}} exactly once")
                if stray(carrier, "{value}"):
                    self.fail(f"{key} entry {carrier!r} has a stray brace")
        if set(self.implies) != set(self.values):
            self.fail(f"implies is about {sorted(self.implies)}, expected its values {sorted(self.values)}")
        for value, kinds in self.implies.items():
            for kind in DIRECTNESS[1:]:
                texts = kinds.get(kind, ())
                if problem := not_texts(texts):
                    self.fail(f"implies.{value}.{kind} {problem}")
                if len(texts) < _IMPLIED:
                    self.fail(f"implies.{value}.{kind} has {len(texts)} entries, expected at least {_IMPLIED}")

    def sentences(self, value: str, kind: str, *, first: bool, phrasings: str) -> tuple[str, ...]:
        """What a user may say to tell ``value``: ``kind`` is of DIRECTNESS; ``first``: a lasting fact rather than a change."""
        if kind == "direct":
            return tuple(c.format(value=value) for c in phrased(self.says if first else self.changes, phrasings))
        return phrased(self.implies[value][kind], phrasings)

    def fail(self, problem: str) -> NoReturn:
        raise ScenarioError(f"variable {self.name!r}: {problem}")
