"""Whether a prompt gives away what it must not know: values of the states, or names, of the users it was written about."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario

SHORTEST = 3  # letters of a part of a name: shorter ones are initials and particles
ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")  # as JSON writes a letter
BETWEEN = re.compile(r"\\[nrt]|[\s_\-]+")  # what parts words: escaped and real spaces, and the marks that join or stress words


class Secrets:
    """The values that users' states may have, in any case of letters, and the users' names, whole or in parts, as written."""

    def __init__(self, scenarios: "Iterable[Scenario]") -> None:
        self.values: set[str] = set()
        self.names: set[str] = set()
        for scenario in scenarios:
            self.values |= {plain(value) for allowed in scenario.state_schema.values() for value in allowed}
            self.values |= {plain(value) for period in scenario.periods for value in period.state.values()}
            name = plain(str(scenario.user_profile.get("name") or ""))
            self.names |= {name, *(part for part in name.split() if len(part) >= SHORTEST)}

    def found_in(self, text: str, known: str = "") -> list[str]:
        """Those that stand in ``text`` as words of their own, but not in ``known`` (the text before it was rewritten), sorted."""
        new, old = plain(text), plain(known)
        return sorted({name.casefold() for name, pattern in self._patterns if pattern.search(new) and not pattern.search(old)})

    @cached_property
    def _patterns(self) -> list[tuple[str, re.Pattern[str]]]:
        values = [(value, re.compile(_word(value), re.IGNORECASE)) for value in self.values if value]
        return values + [(name, re.compile(_word(name))) for name in self.names if name]


def plain(text: str) -> str:
    """``text`` with one form for each letter, and one space between words however they are parted."""
    whole = ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), text)
    return BETWEEN.sub(" ", unicodedata.normalize("NFKC", whole)).strip()


def _word(text: str) -> str:
    """Where a script parts words, only whole ones match."""
    return (r"(?<!\w)" if _parted(text[0]) else "") + re.escape(text) + (r"(?!\w)" if _parted(text[-1]) else "")


def _parted(letter: str) -> bool:
    """Whether words are parted from ``letter`` by something else than letters; Chinese and Japanese do not part them."""
    return letter.isalnum() and unicodedata.east_asian_width(letter) not in ("W", "F")
