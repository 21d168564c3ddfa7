"""What must hold between the fields of a scenario for its episodes to be playable and scorable."""

from collections.abc import Iterable
from typing import Any, NoReturn

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.node import shown
from amemgym_envs.amemgym.records import Scenario

CHOICE_TYPES: tuple[str, ...] = ("experience", "random")


def check(scenario: Scenario) -> None:
    """ScenarioError unless every value is in the schema, updates follow from states, and every cell has one golden choice."""
    _check_states(scenario)
    _check_updates(scenario)
    _check_questions(scenario)
    for period in range(len(scenario.periods)):
        for question in range(len(scenario.questions)):
            scenario.golden(period, question)


def check_all(scenarios: Iterable[Scenario]) -> None:
    """``check`` each of them; their ids must be distinct."""
    seen: set[str] = set()
    for scenario in scenarios:
        check(scenario)
        if scenario.id in seen:
            _fail(scenario, "id", scenario.id, "an id that no other item has")
        seen.add(scenario.id)


def _fail(scenario: Scenario, path: str, got: Any, expected: str) -> NoReturn:
    raise ScenarioError(f"item {scenario.id}, field {path}: got {shown(got)}, expected {expected}")


def _known(scenario: Scenario) -> str:
    return f"an info type of state_schema ({', '.join(scenario.state_schema)})"


def _check_value(scenario: Scenario, path: str, name: str, value: str) -> None:
    if name not in scenario.state_schema:
        _fail(scenario, path, name, _known(scenario))
    if value not in scenario.state_schema[name]:
        _fail(scenario, f"{path}.{name}", value, f"one of {scenario.state_schema[name]}")


def _check_states(scenario: Scenario) -> None:
    for name, values in scenario.state_schema.items():
        if len(set(values)) != len(values):
            _fail(scenario, f"state_schema.{name}", values, "distinct values")
    for p, period in enumerate(scenario.periods):
        for name in scenario.state_schema:
            if name not in period.state:
                _fail(scenario, f"periods[{p}].state", sorted(period.state), f"an object with {name!r}")
        for name, value in period.state.items():
            _check_value(scenario, f"periods[{p}].state", name, value)
        for s, session in enumerate(period.sessions):
            for name, value in session.exposed_states.items():
                _check_value(scenario, f"periods[{p}].sessions[{s}].exposed_states", name, value)


def _check_updates(scenario: Scenario) -> None:
    previous: dict[str, str] = {}
    for p, period in enumerate(scenario.periods):
        path = f"periods[{p}].updates"
        for name, update in period.updates.items():
            _check_value(scenario, path, name, update["new"] or "")
        for name, value in period.state.items():
            old = previous.get(name)
            expected = {"old": old, "new": value}
            if (value != old or name in period.updates) and period.updates.get(name) != expected:
                _fail(scenario, f"{path}.{name}", period.updates.get(name), f"{expected}, as the states say")
        previous = period.state


def _check_questions(scenario: Scenario) -> None:
    for q, question in enumerate(scenario.questions):
        required = question.required_info  # may name a type twice: the public generator merges near-duplicates
        for name in required:
            if name not in scenario.state_schema:
                _fail(scenario, f"qas[{q}].required_info", name, _known(scenario))
        for c, choice in enumerate(question.answer_choices):
            path = f"qas[{q}].answer_choices[{c}]"
            if len(choice.state) != len(required):
                _fail(scenario, f"{path}.state", choice.state, f"{len(required)} values, one for each of {required}")
            for name, value in zip(required, choice.state, strict=True):
                _check_value(scenario, f"{path}.state", name, value)
            if choice.type not in CHOICE_TYPES:
                _fail(scenario, f"{path}.type", choice.type, f"one of {', '.join(CHOICE_TYPES)}")
