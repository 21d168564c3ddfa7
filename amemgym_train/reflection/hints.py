"""What an agent is told about the calls of an episode that failed, before it tries again.

A hint belongs to one call, by its slot. How much it tells is what the recipe's ``feedback`` may tell: where the answer is not
told, a memory can only be warned of the question; ``with_exposed_states`` repeats what the user said in the messages at hand, and
``diagnostic`` of that only what the diagnosis says was lost.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from amemgym_train.config.reflection import FeedbackKind
from amemgym_train.diagnosis.operations import Diagnosis
from amemgym_train.rollout.records import Answer, Episode, Turn, holds, write_of

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario

KNOWS_STATES = ("with_exposed_states", "diagnostic")
REMINDER, QUESTION, FITTING, WRONG = "Do not forget", "You will be asked", "The choice that fits", "This choice is wrong"
States = Mapping[str, str]
Entry = Mapping[str, Any]  # its ``value`` is looked at


def hints(episode: Episode, scenario: "Scenario", diagnosis: Diagnosis, kind: FeedbackKind) -> dict[str, str]:
    """{slot: what to tell} for each failed call of which ``kind`` has something to tell."""
    found = {}
    for index, known in diagnosis.known_after.items():
        turn = episode.turns[index]
        lost = [state for state, right in known.items() if right is False]
        if lost and not hold_all(memory_after(episode, turn), (turn.meta["exposed"][state] for state in lost)):
            found[turn.slot] = _of_write(turn, lost, scenario, kind)
    for probe in episode.probes:
        if probe.turn is not None and not all(map(probe.known, probe.expected)):
            if kind in KNOWS_STATES and hold_all(memory_at(episode, probe.period), probe.expected.values()):
                found[episode.turns[probe.turn].slot] = _states(probe.expected)
    missed = {(cell.period, cell.question) for cell in diagnosis.cells if cell.outcome == "utilisation"}
    for answer in episode.answers:
        if answer.turn is not None and (answer.period, answer.question) in missed:
            found[episode.turns[answer.turn].slot] = _of_answer(answer, scenario, kind)
    return {slot: hint for slot, hint in found.items() if hint}


def memory_after(episode: Episode, turn: Turn) -> list[Entry]:
    """The entries after the write that ``turn`` belongs to; none where there is no snapshot."""
    write = write_of(turn.slot)
    taken = [m.entries for m in episode.memories if m.turn is not None and write_of(episode.turns[m.turn].slot) == write]
    return taken[-1] if taken else []


def memory_at(episode: Episode, period: int) -> list[Entry]:
    """All that prompts could show of the past at the end of ``period``: the entries, and each message as one."""
    state = episode.states[period]
    messages = state["recent"][state.get("passed", 0) :]
    return [*state.get("entries", ()), *({"value": message["content"]} for message in messages)]


def hold_all(entries: Sequence[Entry], values: Iterable[str]) -> bool:
    """Whether every value stands in ``entries`` word for word; then it was not the memory that failed."""
    return all(holds(entries, value) for value in values)


def _of_write(turn: Turn, lost: list[str], scenario: "Scenario", kind: FeedbackKind) -> str:
    exposed = turn.meta["exposed"]
    if kind in KNOWS_STATES:
        return _states({state: exposed[state] for state in (lost if kind == "diagnostic" else exposed)})
    asked = [question.query for question in scenario.questions if set(question.required_info) & set(lost)]
    return f"{QUESTION}: {asked[0]}" if asked else ""


def _of_answer(answer: Answer, scenario: "Scenario", kind: FeedbackKind) -> str:
    choices = scenario.questions[answer.question].answer_choices
    if kind == "question_only":
        return ""
    if kind == "vanilla":  # which does not say whether it was wrong, but only what is wrong is tried again
        return "" if answer.response is None else f"{WRONG}: {choices[answer.response].answer}"
    fitting = f"{FITTING}: {choices[answer.golden].answer}"
    if kind == "with_answer":
        return fitting
    return f"{_states(scenario.required_state(answer.period, answer.question))}\n{fitting}"


def _states(states: States) -> str:
    return f"{REMINDER}: {named(states)}"


def named(states: States) -> str:
    """States in words."""
    return "; ".join(f"{state}: {value}" for state, value in states.items())
