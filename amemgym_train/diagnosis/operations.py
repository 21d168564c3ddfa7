"""Which memory operation failed: write, read or utilisation (AMemGym, arXiv 2603.01966).

k(p, q, s) = 1 if the probe of question q after period p names state s right; w(s, p) = the last period <= p in which s changed.
A state wrong at p is a *write failure* if the same question's probe was wrong about it at w(s, p) too, else a *read failure*: it
was known once and is no more. Memory succeeded at (p, q) if no state failed; a wrong answer then is a *utilisation failure*.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from amemgym_train.rollout.records import Answer, Episode, Probe, Turn

Outcome = Literal["correct", "write", "read", "utilisation"]
OUTCOMES: tuple[str, ...] = ("correct", "write", "read", "utilisation")
Place = tuple[int, int]  # (period, question)
Record = TypeVar("Record", Answer, Probe)


@dataclass(frozen=True)
class Cell:
    """One question after one period. ``known`` is k(p, q, .), ``known_at_write`` is k(w(s, p), q, .), over the required states.

    ``correct`` means known and answered right: a right answer without the states is luck, and stays a write or read failure.
    """

    period: int
    question: int
    outcome: Outcome
    known: dict[str, bool]
    known_at_write: dict[str, bool]

    @property
    def write_failures(self) -> list[str]:
        return [state for state, known in self.known.items() if not known and not self.known_at_write[state]]

    @property
    def read_failures(self) -> list[str]:
        return [state for state, known in self.known.items() if not known and self.known_at_write[state]]


@dataclass
class Diagnosis:
    """What failed in one episode: its cells, and for each write turn (by index in the episode) the states it was shown.

    ``known_after[t][s]``: every probe of s in the period of turn t is right about it. ``persistence[t][s]``: the share of right
    probes of s from that period until s changes next. Both are None where no probe asks for s, or where s had changed again
    by the end of that period (a late write), so that the probes ask for another value than turn t was shown.
    """

    episode: str
    cells: list[Cell]
    known_after: dict[int, dict[str, bool | None]] = field(default_factory=dict)
    persistence: dict[int, dict[str, float | None]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Cells of each outcome."""
        return {outcome: sum(cell.outcome == outcome for cell in self.cells) for outcome in OUTCOMES}

    @property
    def shares(self) -> dict[str, float]:
        """Share of cells of each outcome; they sum to 1."""
        return {outcome: count / len(self.cells) for outcome, count in self.counts.items()}


def diagnose(episode: Episode) -> Diagnosis:
    """Diagnose an AMemGym episode played with probes. One of an environment with a goal has no cells: its score says all.

    Raises ValueError for an episode that is unscorable, has no answers, or whose probes are incomplete or contradict each other.
    """
    if episode.error is not None:
        raise ValueError(f"episode {episode.id} is unscorable ({episode.error}): it cannot be diagnosed")
    if episode.acts:
        return Diagnosis(episode.id, [])
    if not episode.answers:
        raise ValueError(f"episode {episode.id} has no answers: nothing to diagnose")
    probes = _by_place(episode, episode.probes)
    answers = _by_place(episode, episode.answers)
    if set(probes) != set(answers):
        period, question = min(set(probes) ^ set(answers))
        raise ValueError(
            f"episode {episode.id}: question {question} of period {period} has only one of answer and probe; "
            "play the episode with probes=True to diagnose it"
        )
    diagnosis = Diagnosis(episode.id, [_cell(episode, probes, answers[place]) for place in sorted(answers)])
    for index, turn in enumerate(episode.turns):
        if turn.operation == "write":
            asked = {state: _asked(episode, turn, state, value) for state, value in _exposed(episode, turn).items()}
            diagnosis.known_after[index] = {state: _known_after(turn, probed) for state, probed in asked.items()}
            diagnosis.persistence[index] = {state: _persistence(probed) for state, probed in asked.items()}
    return diagnosis


def counts(diagnoses: Iterable[Diagnosis]) -> dict[str, int]:
    """Cells of each outcome, summed over episodes."""
    rows = [diagnosis.counts for diagnosis in diagnoses]
    return {outcome: sum(row[outcome] for row in rows) for outcome in OUTCOMES}


def shares(diagnoses: Iterable[Diagnosis]) -> dict[str, float]:
    """Share of cells of each outcome: the mean over episodes, each counting once whatever its length. ValueError for none."""
    rows = [diagnosis.shares for diagnosis in diagnoses]
    if not rows:
        raise ValueError("shares of no diagnosis at all; expected at least one")
    return {outcome: sum(row[outcome] for row in rows) / len(rows) for outcome in OUTCOMES}


def _by_place(episode: Episode, records: Sequence[Record]) -> dict[Place, Record]:
    places = {(record.period, record.question): record for record in records}
    if len(places) < len(records):
        name = type(records[0]).__name__.lower()
        raise ValueError(f"episode {episode.id}: {len(records)} {name}s for {len(places)} (period, question); expected one each")
    return places


def _cell(episode: Episode, probes: dict[Place, Probe], answer: Answer) -> Cell:
    probe = probes[answer.period, answer.question]
    known = {state: probe.known(state) for state in probe.expected}
    known_at_write = {state: _at_write(episode, probes, probe, state).known(state) for state in probe.expected}
    if all(known.values()):
        outcome: Outcome = "correct" if answer.correct else "utilisation"
    else:
        outcome = "read" if all(known[state] or known_at_write[state] for state in known) else "write"
    return Cell(answer.period, answer.question, outcome, known, known_at_write)


def _at_write(episode: Episode, probes: dict[Place, Probe], probe: Probe, state: str) -> Probe:
    """The probe of the same question at w(s, p); it must ask for the same value."""
    written, value = probe.write_period[state], probe.expected[state]
    found = probes.get((written, probe.question))
    if written > probe.period or found is None or found.expected.get(state) != value:
        asked = "there is no probe" if found is None else f"the probe expects {found.expected.get(state)!r}"
        raise ValueError(
            f"episode {episode.id}: the probe of question {probe.question} at period {probe.period} expects {state} = {value!r}, "
            f"written at period {written}, where {asked}; expected an earlier or equal period with the same value"
        )
    return found


def _exposed(episode: Episode, turn: Turn) -> dict[str, str]:
    missing = {"exposed", "period"} - set(turn.meta)
    if missing:
        raise ValueError(f"episode {episode.id}: write turn {turn.slot} has no meta {', '.join(sorted(missing))}")
    return turn.meta["exposed"]


def _asked(episode: Episode, turn: Turn, state: str, value: str) -> list[tuple[int, bool]]:
    """(period, known) of each probe that asks for ``value`` of ``state``, from the turn's period until the state changes next."""
    start = turn.meta["period"]
    return [
        (probe.period, probe.known(state))
        for probe in episode.probes
        if probe.period >= start and probe.expected.get(state) == value and probe.write_period[state] <= start
    ]


def _known_after(turn: Turn, asked: list[tuple[int, bool]]) -> bool | None:
    now = [known for period, known in asked if period == turn.meta["period"]]
    return all(now) if now else None


def _persistence(asked: list[tuple[int, bool]]) -> float | None:
    return sum(known for _, known in asked) / len(asked) if asked else None
