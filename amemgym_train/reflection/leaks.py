"""Whether a prompt gives away what it must not know: values of the states, or names, of the users it was written about."""

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario

SHORTEST = 3  # letters of a part of a name: shorter ones are initials and particles


class Secrets:
    """The values that a user's states may have, in any case of letters, and the users' names, whole or in parts, as written."""

    def __init__(self, scenarios: "Iterable[Scenario]") -> None:
        values, names = set(), set()
        for scenario in scenarios:
            values |= {value for allowed in scenario.state_schema.values() for value in allowed}
            values |= {value for period in scenario.periods for value in period.state.values()}
            name = str(scenario.user_profile.get("name") or "")
            names |= {name, *(part for part in name.split() if len(part) >= SHORTEST)}
        self._values, self._names = _pattern(values, re.IGNORECASE), _pattern(names)

    def found_in(self, text: str, known: str = "") -> list[str]:
        """Those that stand in ``text`` as words of their own, but not in ``known`` (the text before it was rewritten), sorted."""
        found, before = ({*self._in(one)} for one in (text, known))
        return sorted(found - before)

    def _in(self, text: str) -> Iterable[str]:
        for pattern in (self._values, self._names):
            if pattern is not None:
                yield from (match.group(0).casefold() for match in pattern.finditer(text))


def _pattern(texts: Iterable[str], flags: int = 0) -> re.Pattern[str] | None:
    """Matches any of ``texts``, the longest first; where a script parts words, only as whole words."""
    wanted = sorted({" ".join(text.split()) for text in texts} - {""}, key=lambda text: (-len(text), text))
    return re.compile("|".join(map(_word, wanted)), flags) if wanted else None


def _word(text: str) -> str:
    body = r"\s+".join(map(re.escape, text.split()))
    return (r"(?<!\w)" if _parted(text[0]) else "") + body + (r"(?!\w)" if _parted(text[-1]) else "")


def _parted(letter: str) -> bool:
    """Whether words are parted from ``letter`` by something else than letters; Chinese and Japanese do not part them."""
    return letter.isalnum() and unicodedata.east_asian_width(letter) not in ("W", "F")
