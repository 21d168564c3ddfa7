"""What must hold between the fields of a scenario for its episodes to be playable and scorable."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.languages import pack_folder
from amemgym_envs.amemgym.node import shown
from amemgym_envs.amemgym.records import Scenario

MOST = 100_000  # rounds of a session, or tokens of a reply: more is a mistake, and would play for ever
CHOICE_TYPES: tuple[str, ...] = ("experience", "random")


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: the item, the field, the period if it is about one, and what was found and expected."""

    item: str
    field: str
    problem: str
    period: int | None = None

    def __str__(self) -> str:
        return f"item {self.item}, field {self.field}: {self.problem}"


def check(scenario: Scenario) -> None:
    """ScenarioError unless every value is in the schema, updates follow from states, and every cell has one golden choice."""
    for fault in faults(scenario):
        raise ScenarioError(str(fault))


def check_all(scenarios: Iterable[Scenario]) -> None:
    """``check`` each of them; their ids must be distinct."""
    seen: set[str] = set()
    for scenario in scenarios:
        check(scenario)
        if scenario.id in seen:
            raise ScenarioError(str(fault(scenario, "id", scenario.id, "an id that no other item has")))
        seen.add(scenario.id)


def faults(scenario: Scenario) -> Iterator[Fault]:
    """Everything that ``check`` would refuse, in the order of the file."""
    yield from _origin_faults(scenario)
    yield from _state_faults(scenario)
    yield from _update_faults(scenario)
    yield from _question_faults(scenario)
    yield from _golden_faults(scenario)


def fault(scenario: Scenario, field: str, got: Any, expected: str, period: int | None = None) -> Fault:
    return Fault(scenario.id, field, f"got {shown(got)}, expected {expected}", period)


def _known(scenario: Scenario) -> str:
    return f"an info type of state_schema ({', '.join(scenario.state_schema)})"


def _value_faults(scenario: Scenario, path: str, name: str, value: str, period: int | None = None) -> Iterator[Fault]:
    if name not in scenario.state_schema:
        yield fault(scenario, path, name, _known(scenario), period)
    elif value not in scenario.state_schema[name]:
        yield fault(scenario, f"{path}.{name}", value, f"one of {scenario.state_schema[name]}", period)


def _origin_faults(scenario: Scenario) -> Iterator[Fault]:
    for name in ("rounds_init", "rounds_update", "reply_tokens"):
        value = scenario.origin.get(name, 1)
        least = int(name != "reply_tokens")
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
            yield fault(scenario, f"generator.{name}", value, f"a whole number from {least} to {MOST}")
    try:
        pack_folder(scenario.language)
    except ScenarioError as error:
        yield Fault(scenario.id, "generator.language", str(error))


def _state_faults(scenario: Scenario) -> Iterator[Fault]:
    for name, values in scenario.state_schema.items():
        if len(set(values)) != len(values):
            yield fault(scenario, f"state_schema.{name}", values, "distinct values")
    for p, period in enumerate(scenario.periods):
        for name in scenario.state_schema:
            if name not in period.state:
                yield fault(scenario, f"periods[{p}].state", sorted(period.state), f"an object with {name!r}", p)
        for name, value in period.state.items():
            yield from _value_faults(scenario, f"periods[{p}].state", name, value, p)
        for s, session in enumerate(period.sessions):
            for name, value in session.exposed_states.items():
                yield from _value_faults(scenario, f"periods[{p}].sessions[{s}].exposed_states", name, value, p)


def _update_faults(scenario: Scenario) -> Iterator[Fault]:
    previous: dict[str, str] = {}
    for p, period in enumerate(scenario.periods):
        path = f"periods[{p}].updates"
        for name, update in period.updates.items():
            yield from _value_faults(scenario, path, name, update["new"] or "", p)
        for name, value in period.state.items():
            old = previous.get(name)
            expected = {"old": old, "new": value}
            if (value != old or name in period.updates) and period.updates.get(name) != expected:
                yield fault(scenario, f"{path}.{name}", period.updates.get(name), f"{expected}, as the states say", p)
        previous = period.state


def _question_faults(scenario: Scenario) -> Iterator[Fault]:
    for q, question in enumerate(scenario.questions):
        required = question.required_info  # may name a type twice: the public generator merges near-duplicates
        for name in required:
            if name not in scenario.state_schema:
                yield fault(scenario, f"qas[{q}].required_info", name, _known(scenario))
        for c, choice in enumerate(question.answer_choices):
            path = f"qas[{q}].answer_choices[{c}]"
            if len(choice.state) != len(required):
                yield fault(scenario, f"{path}.state", choice.state, f"{len(required)} values, one for each of {required}")
            for name, value in zip(required, choice.state, strict=False):
                yield from _value_faults(scenario, f"{path}.state", name, value)
            if choice.type not in CHOICE_TYPES:
                yield fault(scenario, f"{path}.type", choice.type, f"one of {', '.join(CHOICE_TYPES)}")


def _golden_faults(scenario: Scenario) -> Iterator[Fault]:
    for p, period in enumerate(scenario.periods):
        for q, question in enumerate(scenario.questions):
            found = len(scenario.fitting(p, q))
            if found != 1 and set(question.required_info) <= set(period.state):  # else said above
                target = [period.state[name] for name in question.required_info]
                problem = f"{found} choices have the state {target} of period {p}, expected exactly 1"
                yield Fault(scenario.id, f"qas[{q}].answer_choices", problem, p)
