"""Who talks to an agent: what a user is, and the scripted one.

It opens each session with the scenario's words and then keeps the talk going without revealing anything.
"""

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import Protocol

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.languages import wording
from amemgym_envs.amemgym.languages.words import mentions
from amemgym_envs.amemgym.records import Scenario


class User(Protocol):
    """One user of one episode. ``blocking``: its words may come over a network, so that asking for them takes a while.

    ``rounds``: user messages of a session, the opening included; None leaves that to the environment. ``reply``: a recorded reply
    of an assistant, to be heard in place of the agent's own; None where the agent replies itself.
    """

    blocking: bool

    def opening(self, period: int, session: int) -> str: ...

    def follow_up(self, period: int, session: int, round: int, talk: Sequence[dict[str, str]]) -> str:
        """The message of round 1, 2, ...; ``talk`` is the session so far, messages {role, content}."""
        ...

    def rounds(self, period: int, session: int) -> int | None: ...

    def reply(self, period: int, session: int, round: int) -> str | None: ...

    def close(self) -> None:
        """Its episode is over, or broken off: nobody waits for it any longer."""
        ...


class ScriptedUser:
    """A user without an LLM. Its words are fixed by the scenario and the seed, whatever the agent replies.

    It speaks the scenario's language; a session's own off-topic messages come before follow-ups.
    """

    blocking = False

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        tracked = (*scenario.state_schema, *(value for values in scenario.state_schema.values() for value in values))
        self._follow_ups = _neutral(tuple(wording(scenario.language).follow_ups), tracked)
        if not self._follow_ups:
            raise ScenarioError(
                f"item {scenario.id}, field state_schema: its words occur in every follow-up of language {scenario.language!r}; "
                "add a neutral one to its talk.yaml"
            )

    def opening(self, period: int, session: int) -> str:
        return opening_of(self.scenario, period, session)

    def follow_up(self, period: int, session: int, round: int, talk: Sequence[dict[str, str]] = ()) -> str:
        """The user's message of round 1, 2, ... (round 0 is the opening), another one each round until the words run out."""
        if round < 1:
            raise ValueError(f"follow_up of round {round}: follow-ups count from 1, the opening is round 0")
        off_topic = self.scenario.periods[period].sessions[session].off_topic
        if round <= len(off_topic):
            return off_topic[round - 1]
        round -= len(off_topic)
        order = Random(f"{self.seed}/{self.scenario.id}/{period}/{session}").sample(self._follow_ups, len(self._follow_ups))
        return order[(round - 1) % len(order)]

    def rounds(self, period: int, session: int) -> int | None:
        return None

    def reply(self, period: int, session: int, round: int) -> str | None:
        return None

    def close(self) -> None:
        """Nothing: its words are there at once."""


def opening_of(scenario: Scenario, period: int, session: int) -> str:
    """The session's query under its time, as the public code words it."""
    told = scenario.periods[period].sessions[session]
    return f"[Current Time: {told.session_time}]\n{told.query}"


@lru_cache(1024)  # every episode of a group asks
def _neutral(follow_ups: tuple[str, ...], tracked: tuple[str, ...]) -> list[str]:
    """The follow-ups without a tracked word.

    A schema may hold an everyday word ("simple"); a follow-up with that word would look like a statement about it.
    """
    return [text for text in follow_ups if not any(mentions(text, word) for word in tracked)]
