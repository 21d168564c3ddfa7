"""What happens in a life: the occasions on which states are told first, and the events that explain later changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from amemgym_envs.amemgym.generator.life import changes
from amemgym_envs.amemgym.llm.caller import Caller
from amemgym_envs.amemgym.llm.parsing import part, prose, snake
from amemgym_envs.amemgym.node import Node


@dataclass(frozen=True)
class Event:
    """``states``: the {info_type: value} that hold because of it, or that it is an occasion to tell."""

    text: str
    states: dict[str, str]


@dataclass(frozen=True)
class Story:
    """One period's events; the initial one has no summary."""

    summary: str | None
    events: list[Event]


async def write_story(
    caller: Caller, states: list[dict[str, str]], period: int, window: tuple[date | None, date], most: int
) -> Story:
    """The events of ``period``, each about at most ``most`` of its changes."""
    changed = changes(states, period)
    begin, end = window
    if period == 0:
        fields: dict[str, str | int] = {"end": str(end), "most": most, "states": _listed(changed)}
        return await caller.write("introduce", fields, lambda node: Story(None, _events(node, changed, most)))
    before = states[period - 1]
    fields = {
        "begin": str(begin),
        "end": str(end),
        "most": most,
        "before": _listed(before),
        "changes": "\n".join(f"- {name}: from {before[name]} to {value}" for name, value in changed.items()),
    }
    return await caller.write("period", fields, lambda node: Story(prose(part(node, "summary")), _events(node, changed, most)))


def _listed(states: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in states.items())


def _events(node: Node, changed: dict[str, str], most: int) -> list[Event]:
    events, left = [], dict(changed)
    for entry in part(node, "events").items():
        names = [snake(name) for name in part(entry, "info_types").items(1)]
        if len(names) > most or not set(names) <= set(left) or len(set(names)) < len(names):
            part(entry, "info_types").fail(f"1 to {most} of the facts above, each in one event only")
        events.append(Event(prose(part(entry, "event")), {name: left.pop(name) for name in names}))
    if left:
        raise ValueError(f"no event covers {', '.join(left)}")
    return events
