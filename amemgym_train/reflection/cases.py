"""What happened at one question after one period: all that a feedback may tell of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amemgym_train.diagnosis.operations import Cell, Diagnosis
from amemgym_train.reflection.hints import hold_all, memory_at
from amemgym_train.rollout.records import Episode

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario


@dataclass(frozen=True)
class Case:
    """``states``: the values that the question needed; ``memory``: what the agent could look at, oldest first; ``said``: the
    openings in which the user told those values; ``updates``: all that the user told in this period. ``choices`` are texts,
    ``response`` (None: unreadable) and ``golden`` count from 0. ``cell`` is None without probes: nobody can say then what failed.
    """

    user: str
    query: str
    choices: tuple[str, ...]
    response: int | None
    golden: int
    states: Mapping[str, str]
    memory: tuple[str, ...]
    held: bool
    said: tuple[str, ...]
    updates: Mapping[str, str]
    cell: Cell | None

    @property
    def right(self) -> bool:
        return self.response == self.golden

    @property
    def failed(self) -> tuple[str, ...]:
        """The info types that failed: those that were not known, else all that the question needed."""
        lost = () if self.cell is None else (*self.cell.write_failures, *self.cell.read_failures)
        return lost or tuple(self.states)


def cases_of(
    episode: Episode, scenario: "Scenario", diagnosis: Diagnosis | None, periods: range | None = None
) -> Iterator[Case]:
    """A case for each answer of ``episode``, in the order of the questions; ``periods``: of these only."""
    cells = {} if diagnosis is None else {(cell.period, cell.question): cell for cell in diagnosis.cells}
    for answer in episode.answers:
        if periods is not None and answer.period not in periods:
            continue
        question, states = scenario.questions[answer.question], scenario.required_state(answer.period, answer.question)
        memory = memory_at(episode, answer.period)
        yield Case(
            user=episode.task,
            query=question.query,
            choices=tuple(choice.answer for choice in question.answer_choices),
            response=answer.response,
            golden=answer.golden,
            states=states,
            memory=tuple(f"{entry['label']}: {entry['value']}" if "label" in entry else entry["value"] for entry in memory),
            held=hold_all(memory, states.values()),
            said=tuple(_told(scenario, answer.period, states)),
            updates={name: change["new"] or "" for name, change in scenario.periods[answer.period].updates.items()},
            cell=cells.get((answer.period, answer.question)),
        )


def _told(scenario: "Scenario", period: int, states: Mapping[str, str]) -> Iterator[str]:
    """Of each state the opening that last told its value by the end of ``period``, once each."""
    last: dict[str, str] = {}
    for one in scenario.periods[: period + 1]:
        for session in one.sessions:
            last |= {state: session.query for state in states if session.exposed_states.get(state) == states[state]}
    yield from dict.fromkeys(last.values())
