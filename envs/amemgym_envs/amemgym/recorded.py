"""A user whose words were recorded, with the replies of the agent that they were said to: conversations are played again.

Two layouts of the public code are read: ``<user id>/interactions.json``, [period][session][message {role, content}], and
``<user id>/interactions/period_00.json``, [session][message] for each period; every file plain or gzipped (.json.gz). User and
assistant speak in turn, and each session begins with the scenario's own opening.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.files import read_json
from amemgym_envs.amemgym.records import Scenario
from amemgym_envs.amemgym.simulator import opening_of

Message = dict[str, str]
Interactions = list[list[list[Message]]]
ENDINGS = ("json", "json.gz")
SPEAKERS = ("user", "assistant")
SHOWN = 120  # characters of a text in an error


class RecordedUser:
    """Says the user's part of ``interactions`` (from ``load_interactions``), and has the agent's part as replies."""

    blocking = False

    def __init__(self, interactions: Interactions) -> None:
        self.interactions = interactions

    def opening(self, period: int, session: int) -> str:
        return self.interactions[period][session][0]["content"]

    def follow_up(self, period: int, session: int, round: int, talk: Sequence[Message] = ()) -> str:
        return self.interactions[period][session][2 * round]["content"]

    def rounds(self, period: int, session: int) -> int | None:
        return len(self.interactions[period][session]) // 2

    def reply(self, period: int, session: int, round: int) -> str | None:
        return self.interactions[period][session][2 * round + 1]["content"]

    def close(self) -> None:
        """Nothing: its words are there at once."""


def load_interactions(folder: Path, scenario: Scenario) -> Interactions:
    """The recording of the scenario's user in ``folder``, as far as the scenario goes.

    ScenarioError, with user, period and session: there is none, it is broken, or it belongs to another scenario.
    """
    place = folder / scenario.id
    if not place.is_dir():
        found = ", ".join(sorted(path.name for path in folder.iterdir() if path.is_dir())) if folder.is_dir() else ""
        raise ScenarioError(
            f"{folder}: no recording of user {scenario.id}, expected the folder {place}; users there: {found or 'none'}"
        )
    whole = _file(place, "interactions")
    count = len(scenario.periods)
    periods = _periods_of(whole) if whole else [_file(place / "interactions", f"period_{p:02d}") for p in range(count)]
    if len(periods) < count or None in periods[:count]:
        missing = next(p for p in range(count) if p >= len(periods) or periods[p] is None)
        raise ScenarioError(f"{whole or place}: user {scenario.id}: period {missing} is missing, the scenario has {count}")
    read = [read_json(found) if isinstance(found, Path) else found for found in periods[:count]]
    for period, sessions in enumerate(read):
        _check_period(sessions, scenario, period, f"{whole or place}: user {scenario.id}, period {period}")
    return read


def _file(folder: Path, stem: str) -> Path | None:
    return next((path for ending in ENDINGS if (path := folder / f"{stem}.{ending}").is_file()), None)


def _periods_of(path: Path) -> list[Any]:
    content = read_json(path)
    if not isinstance(content, list):
        raise ScenarioError(f"{path}: holds a {type(content).__name__}, expected a list of periods")
    return content


def _check_period(sessions: Any, scenario: Scenario, period: int, place: str) -> None:
    expected = len(scenario.periods[period].sessions)
    if not isinstance(sessions, list) or len(sessions) != expected:
        got = f"{len(sessions)} sessions" if isinstance(sessions, list) else f"a {type(sessions).__name__}"
        raise ScenarioError(f"{place}: got {got}, the scenario has {expected}; replay the recordings of these very scenarios")
    for number, messages in enumerate(sessions):
        _check_session(messages, opening_of(scenario, period, number), f"{place}, session {number}")


def _check_session(messages: Any, opening: str, place: str) -> None:
    if not isinstance(messages, list) or not messages or len(messages) % 2:
        got = f"{len(messages)} messages" if isinstance(messages, list) else f"a {type(messages).__name__}"
        raise ScenarioError(f"{place}: got {got}, expected a reply of the assistant to each message of the user")
    for number, message in enumerate(messages):
        role = SPEAKERS[number % 2]
        if not isinstance(message, dict) or message.get("role") != role or not isinstance(message.get("content"), str):
            raise ScenarioError(f"{place}, message {number}: got {_short(message)}, expected {{role: {role}, content: a text}}")
    said = messages[0]["content"]
    if said != opening:
        raise ScenarioError(
            f"{place}: begins with {_short(said)}, the scenario with {_short(opening)}; replay the recordings of these very "
            "scenarios"
        )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
