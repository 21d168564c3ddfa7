"""The template inverse: what a generated utterance says, read back from its words alone.

An utterance is a run of known phrases. Reading finds for each place the longest phrase that starts there, so that every character
is accounted for; what cannot be read is an error and not a guess.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.languages import DIRECTNESS, Variable, Wording, wording


@dataclass(frozen=True)
class Phrase:
    """``kind``: opener, off_topic, correction, report, or of DIRECTNESS. The last four name a variable and one of its values."""

    kind: str
    name: str = ""
    value: str = ""


class Inverse:
    """Reads utterances of one language pack."""

    def __init__(self, words: Wording) -> None:
        self._gap = words.joiners.sentences
        self._phrases: dict[str, Phrase] = {}
        for kind, texts in (
            ("opener", (*words.openers, *words.news_openers)),
            ("off_topic", words.off_topic),
            ("correction", words.corrections),
        ):
            for text in texts:
                self._add(text, Phrase(kind))
        for variable in words.variables:
            for text, phrase in _sentences(variable):
                self._add(text, phrase)
        self._lengths = sorted({len(text) for text in self._phrases}, reverse=True)
        self._reports = [_pattern(carrier) for carrier in words.reports]

    def _add(self, text: str, phrase: Phrase) -> None:
        if self._phrases.setdefault(text, phrase) != phrase:
            raise ScenarioError(f"two meanings for {text!r}: {self._phrases[text]} and {phrase}; reword one in the language pack")

    def read(self, text: str) -> list[Phrase]:
        """The phrases of ``text`` in order; ScenarioError quotes the place where no phrase starts."""
        phrases, place = [], 0
        while place < len(text):
            phrase, place = self._next(text, place)
            phrases.append(phrase)
            if place < len(text):
                if not text.startswith(self._gap, place):
                    raise ScenarioError(
                        f"no phrase of the language pack continues {text[:place]!r} with {text[place : place + 60]!r}"
                    )
                place += len(self._gap)
        return phrases

    def _next(self, text: str, place: int) -> tuple[Phrase, int]:
        for length in self._lengths:
            phrase = self._phrases.get(text[place : place + length])
            if phrase is not None and place + length <= len(text):
                return phrase, place + length
        for pattern in self._reports:
            match = pattern.match(text, place)
            said = match and self._phrases.get(match["said"])
            if match and said and said.name:
                return Phrase("report", said.name, said.value), match.end()
        raise ScenarioError(f"no phrase of the language pack starts with {text[place : place + 60]!r}")


def told(phrases: list[Phrase]) -> dict[str, str]:
    """{info_type: value} that the user leaves standing: of each variable the last word, if what was said before was taken back.

    ScenarioError when two values of one variable stand side by side.
    """
    standing: dict[str, str] = {}
    last = ""
    for phrase in phrases:
        if phrase.kind == "correction":
            standing.pop(last, None)
        elif phrase.kind in DIRECTNESS:
            if standing.setdefault(phrase.name, phrase.value) != phrase.value:
                raise ScenarioError(
                    f"{phrase.name!r} is both {standing[phrase.name]!r} and {phrase.value!r}, with no correction between"
                )
            last = phrase.name
    return standing


@cache
def inverse(language: str) -> Inverse:
    return Inverse(wording(language))


def _sentences(variable: Variable) -> Iterator[tuple[str, Phrase]]:
    for value in variable.values:
        for kind in DIRECTNESS:
            for first in (True, False):
                for text in variable.sentences(value, kind, first=first, phrasings="all"):
                    yield text, Phrase(kind, variable.name, value)


def _pattern(carrier: str) -> re.Pattern[str]:
    """A report with any name that is no quotation, and whatever is quoted."""
    escaped = re.escape(carrier).replace(r"\{name\}", '(?P<name>[^"“”]{1,40}?)').replace(r"\{said\}", '(?P<said>[^"“”]+)')
    return re.compile(escaped)
