"""One language's wording: its state variables, and the sentences around them.

A pack is a folder: ``talk.yaml``, ``off_topic.yaml``, ``personas.yaml`` and one file per domain in ``variables/``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.languages.variable import SPLITS, Variable, not_texts

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
        for name, placeholders in _LISTS.items():
            texts = getattr(self, name)
            problem = not_texts(texts) or (f"has {len(texts)} texts, expected at least {_LEAST}" if len(texts) < _LEAST else "")
            for text in () if problem else texts:
                if wrong := [p for p in placeholders if text.count(p) != 1]:
                    problem = f"entry {text!r} must contain {wrong[0]} exactly once"
            if problem:
                self.fail(f"{name} {problem}")
        if not self.variables:
            self.fail("domains names no file of variables/")
        if missing := [key for key in _INSTRUCTIONS if not isinstance(self.instructions.get(key), str)]:
            self.fail(f"instructions has no {missing[0]}")
        if not isinstance(self.bytes_per_token, int | float) or not self.bytes_per_token > 0:
            self.fail(f"bytes_per_token is {self.bytes_per_token!r}, expected a number above 0")
        for key in _PEOPLE:
            if problem := not_texts(self.personas.get(key)):
                self.fail(f"personas.{key} {problem}")
        if set(self.personas.get("genders", ())) != {"female", "male"} or "{last}" not in str(self.personas.get("name")):
            self.fail('personas needs genders (female and male) and a name like "{first} {last}"')

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
