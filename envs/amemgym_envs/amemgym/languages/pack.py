"""One language's wording: its state variables, and the sentences around them.

A pack is a folder: ``talk.yaml``, ``off_topic.yaml``, ``personas.yaml`` and one file per domain in ``variables/``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import isfinite
from typing import Any, NoReturn

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.languages.variable import SPLITS, Variable, not_texts, stray

_LISTS = {  # lists of talk.yaml: what each of their texts must contain once
    "openers": (),
    "news_openers": (),
    "follow_ups": (),
    "off_topic": (),
    "questions": ("{topics}",),
    "corrections": (),
    "reports": ("{name}", "{said}"),
    "events": ("{topics}",),
    "introductions": ("{topics}",),
    "summaries": ("{topics}",),
}
_LEAST = 3  # texts in each of these lists: a third is held out
_LISTED = 3  # interests and skills of one person
_INSTRUCTIONS = ("session", "question", "probe", "end")
_PEOPLE = (
    "female",
    "male",
    "surnames",
    "occupations",
    "marital_status",
    "education_level",
    "interests",
    "skills",
    "complementary",
)
_FILLED = {"name": ("{first}", "{last}"), "complementary": ("{name}",)}  # of personas.yaml


@dataclass(frozen=True)
class Joiners:
    """What stands between sentences, between listed items, before the last item, and before the last piece of advice."""

    sentences: str
    items: str
    last: str
    advice: str


@dataclass(frozen=True)
class Wording:
    """Everything one language offers, as its files say it; see docs/scenarios.md for what each list is for."""

    language: str
    variables: tuple[Variable, ...]
    openers: tuple[str, ...]
    news_openers: tuple[str, ...]
    follow_ups: tuple[str, ...]
    off_topic: tuple[str, ...]
    questions: tuple[str, ...]
    corrections: tuple[str, ...]
    reports: tuple[str, ...]
    events: tuple[str, ...]
    introductions: tuple[str, ...]
    summaries: tuple[str, ...]
    instructions: dict[str, str]
    joiners: Joiners
    bytes_per_token: float
    personas: dict[str, Any]

    def __post_init__(self) -> None:
        """ScenarioError names the list, or the key, that generating and reading back could not do with."""
        for name, marks in _LISTS.items():
            texts = getattr(self, name)
            problem = not_texts(texts) or (f"has {len(texts)} texts, expected at least {_LEAST}" if len(texts) < _LEAST else "")
            for text in () if problem else texts:
                if wrong := [p for p in marks if text.count(p) != 1]:
                    problem = f"entry {text!r} must contain {wrong[0]} exactly once"
                elif marks and stray(text, *marks):
                    problem = f"entry {text!r} has a stray brace"
            if problem:
                self.fail(f"{'off_topic' if name == 'off_topic' else 'talk'}.yaml: {name} {problem}")
        if not self.variables:
            self.fail("domains names no file of variables/")
        known = self.instructions if isinstance(self.instructions, dict) else {}
        if missing := [key for key in _INSTRUCTIONS if not isinstance(known.get(key), str)]:
            self.fail(f"talk.yaml: instructions has no {missing[0]}")
        for joiner in fields(Joiners):
            if not isinstance(value := getattr(self.joiners, joiner.name), str):
                self.fail(f"talk.yaml: joiners.{joiner.name} is {value!r}, expected a text (put it in quotes)")
        size = self.bytes_per_token
        if isinstance(size, bool) or not isinstance(size, int | float) or not size > 0 or not isfinite(size):
            self.fail(f"talk.yaml: bytes_per_token is {size!r}, expected a number above 0")
        for key in _PEOPLE:
            if problem := not_texts(self.personas.get(key)):
                self.fail(f"personas.yaml: personas.{key} {problem}")
            if key in ("interests", "skills") and len(self.personas[key]) < _LISTED:
                self.fail(f"personas.yaml: personas.{key} has {len(self.personas[key])} texts, expected at least {_LISTED}")
        genders, name = self.personas.get("genders"), self.personas.get("name")
        called = isinstance(genders, dict) and set(genders) == {"female", "male"}
        if not called or not isinstance(name, str) or "{last}" not in name:
            self.fail('personas.yaml: personas needs genders (female and male) and a name like "{first} {last}"')
        for key, marks in _FILLED.items():
            texts = (name,) if key == "name" else self.personas[key]
            if wrong := [text for text in texts if stray(text, *marks)]:
                self.fail(f"personas.yaml: personas.{key} entry {wrong[0]!r} has a stray brace")

    def fail(self, problem: str) -> NoReturn:
        raise ScenarioError(f"language {self.language!r}: {problem}; compare it with languages/en")

    def split(self, name: str) -> tuple[Variable, ...]:
        """The variables of one split, or of all of them ("all"), in the order of the pack."""
        if name not in (*SPLITS, "all"):
            raise ScenarioError(f"split is {name!r}, expected one of {', '.join(SPLITS)}, all")
        return tuple(v for v in self.variables if name in (v.split, "all"))

    def listed(self, parts: Sequence[str], last: str | None = None) -> str:
        """["a", "b", "c"] -> "a, b and c"; ``last`` replaces the joiner before the last one."""
        if len(parts) == 1:
            return parts[0]
        return (self.joiners.last if last is None else last).join([self.joiners.items.join(parts[:-1]), parts[-1]])

    @cached_property
    def follow_up_tokens(self) -> float:
        """Of an average follow-up."""
        return sum(map(self.tokens, self.follow_ups)) / len(self.follow_ups)

    def tokens(self, text: str) -> float:
        """About how many tokens a model's tokenizer makes of ``text``, by the pack's bytes per token."""
        return len(text.encode("utf-8")) / self.bytes_per_token
