"""Telling: every change is told in its period, what is told can be read back, and everything else tells nothing."""

from collections.abc import Callable, Iterator

from amemgym_envs.amemgym.consistency import Fault, fault
from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.languages.words import mentions
from amemgym_envs.amemgym.records import Scenario, Session
from amemgym_envs.amemgym.simulator import ScriptedUser

# For each (utterance, {info_type: allowed values}) of one user: {info_type: value} that a reader takes from the utterance.
Utterance = tuple[str, dict[str, list[str]]]
Reader = Callable[[list[Utterance]], list[dict[str, str | None]]]


def exposes(scenario: Scenario) -> bool:
    """Whether the item says at all which session tells what; public evaluation logs do not."""
    return any(session.exposed_states for period in scenario.periods for session in period.sessions)


def exposure_faults(scenario: Scenario) -> Iterator[Fault]:
    """Each update is told in its period, in words, and the last word of the period is the state at its end."""
    for p, path, session in sessions_of(scenario):
        if session.exposed_states and not session.query.strip():
            yield fault(scenario, f"{path}.query", session.query, f"words that tell {session.exposed_states}", p)
    for p, period in enumerate(scenario.periods):
        last = {name: value for session in period.sessions for name, value in session.exposed_states.items()}
        for name in period.updates:
            if name not in last:
                problem = f"the change of {name!r} to {period.state.get(name)!r} is told in no session"
                yield Fault(scenario.id, f"periods[{p}].sessions", problem, p)
        for name, value in last.items():
            if value != period.state.get(name):
                problem = f"{name!r} is told as {value!r}, but is {period.state.get(name)!r} at the end of the period"
                yield Fault(scenario.id, f"periods[{p}].sessions", problem, p)


def reader_faults(scenario: Scenario, reader: Reader) -> Iterator[Fault]:
    """What ``reader`` (a model) takes from each opening is what the session says it exposes."""
    telling = [(p, path, session) for p, path, session in sessions_of(scenario) if session.exposed_states]
    asked = [(s.query, {name: scenario.state_schema[name] for name in s.exposed_states}) for _, _, s in telling]
    for (p, path, session), found in zip(telling, reader(asked), strict=True):
        if found != session.exposed_states:
            yield fault(scenario, f"{path}.query", found, f"{session.exposed_states}, the exposed states", p)


def neutral_faults(scenario: Scenario) -> Iterator[Fault]:
    """Off-topic sessions and messages, and the simulated user's follow-ups, contain no value of the schema."""
    values = [value for allowed in scenario.state_schema.values() for value in allowed]
    for p, path, session in sessions_of(scenario):
        openings = [] if session.exposed_states else [(f"{path}.query", session.query)]
        for field, text in [*openings, *((f"{path}.off_topic[{i}]", text) for i, text in enumerate(session.off_topic))]:
            for value in values:
                if mentions(text, value):
                    yield Fault(scenario.id, field, f"an off-topic text mentions {value!r}, a value of the schema", p)
    try:
        ScriptedUser(scenario, 0)
    except ScenarioError as error:
        yield Fault(scenario.id, "state_schema", f"no follow-up is left that tells nothing: {error}")


def sessions_of(scenario: Scenario) -> Iterator[tuple[int, str, Session]]:
    """(period, path, session) of a whole life."""
    for p, period in enumerate(scenario.periods):
        for s, session in enumerate(period.sessions):
            yield p, f"periods[{p}].sessions[{s}]", session
