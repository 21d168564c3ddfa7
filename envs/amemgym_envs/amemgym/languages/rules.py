"""Rules of a language pack: what a leaked or ambiguous word would break silently. Each function returns problems in words."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.generator.inverse import Inverse
from amemgym_envs.amemgym.languages.pack import Wording
from amemgym_envs.amemgym.languages.variable import DIRECTNESS, Variable, stray
from amemgym_envs.amemgym.languages.words import mentions, unspaced, words_of

_QUOTED = re.compile(r"""["“”„«»‘「『]\{said\}["“”«»’」』]""")  # a reader has to see where the other person's words end
_UNFILLED = ("openers", "news_openers", "follow_ups", "off_topic", "corrections")  # lists whose texts are said as they stand
_LONGEST = {"says": 17, "changes": 17, "advice": 7}  # words of a carrier; characters of Chinese count as half a word


def texts_of(variable: Variable) -> Iterator[str]:
    """Every text of a variable, carriers unfilled."""
    yield from (variable.name, variable.asks, *variable.says, *variable.changes, *variable.advice)
    yield from implied(variable)


def implied(variable: Variable) -> Iterator[str]:
    """The sentences that tell one of its values without naming it."""
    for kinds in variable.implies.values():
        for kind in DIRECTNESS[1:]:
            yield from kinds[kind]


def variable_problems(variable: Variable, everything: Sequence[Variable]) -> list[str]:
    """What is wrong with ``variable`` by itself, or beside the others of its pack."""
    problems = [*_shape(variable), *_carriers(variable)]
    own, texts = list(implied(variable)), list(texts_of(variable))
    problems += [f"said twice: {text!r}" for text, n in Counter(texts).items() if n > 1]
    for text in texts:
        for other in everything:
            problems += [f"{text!r} names {value!r} of {other.name!r}" for value in other.values if mentions(text, value)]
    for other in everything:
        if other is variable:
            continue
        if other.name == variable.name or set(words_of(other.name)) & set(words_of(variable.name)):
            problems.append(f"its name shares words with {other.name!r}")
        problems += [f"value {a!r} overlaps {b!r} of {other.name!r}" for a in variable.values for b in other.values if a in b]
        shared = set(own) & set(implied(other))
        problems += [f"{text!r} is also said by {other.name!r}" for text in shared]
    return problems


def neutral_problems(content: Any, variables: Iterable[Variable]) -> list[str]:
    """Texts outside the variables that name a variable or a value; ``content`` is any nesting of lists, mappings and texts."""
    tracked = [text for v in variables for text in (v.name, *v.values)]
    return [f"{text!r} names {phrase!r}" for text in _strings(content) for phrase in tracked if mentions(text, phrase)]


def problems(wording: Wording) -> list[str]:
    """Everything that is wrong with a pack; empty for a good one."""
    found = [f"{v.domain}/{v.name}: {p}" for v in wording.variables for p in variable_problems(v, wording.variables)]
    talk = {key: value for key, value in vars(wording).items() if key not in ("language", "variables", "joiners")}
    return [*found, *neutral_problems(talk, wording.variables), *_talk_problems(wording), *_inverse_problems(wording)]


def _talk_problems(wording: Wording) -> Iterator[str]:
    """Texts that say something else once they are filled, or that cannot be told from what stands beside them."""
    for name in _UNFILLED:
        file = "off_topic.yaml" if name == "off_topic" else "talk.yaml"
        yield from (f"{file}, {name}: {text!r} has a stray brace" for text in getattr(wording, name) if stray(text))
    for text in wording.reports:
        if not _QUOTED.search(text):
            yield f"talk.yaml, reports: {text!r} needs quotes around {{said}}"


def _inverse_problems(wording: Wording) -> Iterator[str]:
    try:
        Inverse(wording)
    except ScenarioError as error:
        yield str(error)


def _shape(variable: Variable) -> list[str]:
    bad = [text for text in (variable.name, *variable.values) if text != text.lower() or not re.fullmatch(r"\w+( \w+)?", text)]
    found = [f"{text!r} is not one or two lowercase words" for text in bad]
    if not mentions(variable.asks, variable.name) and not set(words_of(variable.name)) <= set(words_of(variable.asks)):
        found.append(f"asks {variable.asks!r} does not name the topic")
    return found


def _carriers(variable: Variable) -> Iterator[str]:
    for key, longest in _LONGEST.items():
        for carrier in getattr(variable, key):
            words = words_of(carrier.replace("{value}", " "))
            if len(words) > longest and not unspaced(carrier) or len(carrier) > 5 * longest and unspaced(carrier):
                yield f"{key} entry {carrier!r} is too long"
            if key != "advice" and not (mentions(carrier, variable.name) or set(words_of(variable.name)) <= set(words)):
                yield f"{key} entry {carrier!r} does not name the topic"
            if key != "advice" and carrier.startswith("{value}") and not unspaced(carrier):
                yield f"{key} entry {carrier!r} starts with a value, which is not capitalised"
            yield from (
                f"{text!r} needs 'an'"
                for text in (carrier.format(value=v) for v in variable.values)
                if re.search(r"\ba [aeio]", text)
            )
    for text in (variable.asks, *implied(variable)):
        if stray(text):
            yield f"{text!r} has a stray brace"
    for text in implied(variable):
        if not re.search(r"[.!。！]$", text):
            yield f"{text!r} does not end as a sentence"
        if len(words_of(text)) > 28 or len(text) > 170:
            yield f"{text!r} is too long"


def _strings(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from _strings(value)
    elif isinstance(content, Iterable):
        for value in content:
            yield from _strings(value)
