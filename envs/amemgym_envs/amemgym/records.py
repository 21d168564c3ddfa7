"""The records of a scenario: one user's life in periods, and the questions asked after each of them."""

from dataclasses import dataclass, field
from typing import Any

from amemgym_envs.amemgym.errors import ScenarioError

Extra = dict[str, Any]


@dataclass
class Session:
    """One conversation. ``query`` is the user's opening, which implies ``exposed_states`` ({info_type: value}, may be empty)."""

    event: str | None
    exposed_states: dict[str, str]
    query: str
    messages: list[Any]
    session_time: str
    extra: Extra = field(default_factory=dict)

    @property
    def off_topic(self) -> list[str]:
        """Messages of the user after the opening that tell nothing (extra key ``off_topic``)."""
        return list(self.extra.get("off_topic", []))


@dataclass
class Period:
    """``state``: the whole assignment at its end. ``updates``: {info_type: {"old", "new"}}, at first for every type."""

    period_start: str | None
    period_end: str
    period_summary: str | None
    sessions: list[Session]
    state: dict[str, str]
    updates: dict[str, dict[str, str | None]]
    update_cnts: dict[str, int]
    extra: Extra = field(default_factory=dict)


@dataclass
class Choice:
    """``state``: one value per required info type. ``type``: experience (occurs in the user's life) or random (does not)."""

    state: list[str]
    answer: str
    type: str
    extra: Extra = field(default_factory=dict)


@dataclass
class Question:
    query: str
    required_info: list[str]
    answer_choices: list[Choice]
    extra: Extra = field(default_factory=dict)


@dataclass
class Scenario:
    """``state_schema``: {info_type: allowed values}. Periods and questions are counted from 0, the initial period included."""

    id: str
    start_time: str
    user_profile: dict[str, Any]
    state_schema: dict[str, list[str]]
    periods: list[Period]
    questions: list[Question]
    extra: Extra = field(default_factory=dict)

    @property
    def origin(self) -> Extra:
        """What the item says about its making (extra key ``generator``): writer, language, rounds; empty for public data."""
        found = self.extra.get("generator", {})
        return found if isinstance(found, dict) else {}

    @property
    def language(self) -> str:
        return str(self.origin.get("language", "en"))

    def required_state(self, period: int, question: int) -> dict[str, str]:
        """The true values of what the question requires, at the end of ``period``."""
        state = self.periods[period].state
        return {name: state[name] for name in self.questions[question].required_info}

    def agreement(self, period: int, question: int, choice: int | None) -> dict[str, bool]:
        """Which of the states that the question requires a choice has right, at the end of ``period``; none for no choice."""
        true, asked = self.required_state(period, question), self.questions[question]
        said = {} if choice is None else dict(zip(asked.required_info, asked.answer_choices[choice].state, strict=True))
        return {name: said.get(name) == value for name, value in true.items()}

    def fitting(self, period: int, question: int) -> list[int]:
        """The 0-based choices whose state holds at the end of ``period``: one of them in a sound scenario."""
        target = self._target(period, question)
        return [i for i, choice in enumerate(self.questions[question].answer_choices) if choice.state == target]

    def golden(self, period: int, question: int) -> int:
        """The one choice whose state holds at the end of ``period``; ScenarioError when none or several do."""
        found = self.fitting(period, question)
        if len(found) != 1:
            raise ScenarioError(
                f"item {self.id}, field qas[{question}].answer_choices: {len(found)} choices have the state "
                f"{self._target(period, question)} of "
                f"period {period}, expected exactly 1"
            )
        return found[0]

    def _target(self, period: int, question: int) -> list[str | None]:
        """What a choice's state must be; not of ``required_state``, as a type may be required twice."""
        state = self.periods[period].state
        return [state.get(name) for name in self.questions[question].required_info]

    def write_period(self, period: int, state: str) -> int:
        """The last period <= ``period`` in which ``state`` was updated."""
        for p in range(period, -1, -1):
            if state in self.periods[p].updates:
                return p
        raise ScenarioError(f"item {self.id}, field periods[0].updates: {state!r} is missing, expected every schema variable")
