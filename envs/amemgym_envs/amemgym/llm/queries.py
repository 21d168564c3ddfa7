"""The openings of a user's sessions: each implies the states of one event, and a reader recovers exactly them."""

import json

from amemgym_envs.amemgym.llm.caller import Caller, GaveUp, together
from amemgym_envs.amemgym.llm.events import Event
from amemgym_envs.amemgym.llm.parsing import part, prose, snake, unquoted
from amemgym_envs.amemgym.llm.schema import Schema, listed_types
from amemgym_envs.amemgym.node import Node
from amemgym_envs.amemgym.records import Session


async def write_sessions(caller: Caller, event: Event, schema: Schema) -> list[Session] | dict[str, str]:
    """One session, still without a time, that tells the event's states, or else one for each of them.

    Where even that cannot be had: {info_type: why} of the states that no query was found for.
    """
    try:
        return [await _session(caller, event, schema)]
    except GaveUp as failure:
        if len(event.states) == 1:
            return dict.fromkeys(event.states, failure.reason)
    single = [Event(event.text, {name: value}) for name, value in event.states.items()]
    outcomes = await together(write_sessions(caller, one, schema) for one in single)
    untold = {name: reason for outcome in outcomes if isinstance(outcome, dict) for name, reason in outcome.items()}
    return untold or [session for outcome in outcomes if isinstance(outcome, list) for session in outcome]


async def read_query(caller: Caller, query: str, types: Schema) -> dict[str, str | None] | None:
    """What a reader who sees nothing but ``query`` takes from it; None when no readable reply came."""
    form = json.dumps({name: "..." for name in types})
    fields: dict[str, str | int] = {"query": query, "types": listed_types(types), "form": form}
    return await caller.classify("check_query", fields, lambda node: _assignment(node, types))


async def _session(caller: Caller, event: Event, schema: Schema) -> Session:
    types = {name: schema[name] for name in event.states}
    words = {word for name, values in types.items() for word in (name, *values)}

    async def verdict(query: str) -> str | None:
        guess = await read_query(caller, query, types)
        wrong = {name: guess[name] if guess else None for name in types if not guess or guess[name] != event.states[name]}
        if not wrong:
            return None
        read = "; ".join(f"{name} as {value or 'not told'}, expected {event.states[name]}" for name, value in wrong.items())
        return f"a reader who saw nothing but this message understood {read}"

    states = "\n".join(f"- {name}: {value}" for name, value in event.states.items())
    query = await caller.write(
        "query",
        {"event": event.text, "states": states, "types": listed_types(types)},
        lambda node: unquoted(prose(part(node, "query")), words),
        verdict,
    )
    return Session(event.text, dict(event.states), query, [], "")


def _assignment(node: Node, types: Schema) -> dict[str, str | None]:
    """{info_type: value, or None for what the message does not tell}."""
    guess: dict[str, str | None] = {}
    for name, values in types.items():
        told = part(node, name)
        guess[name] = None if told.value is None else snake(told)
        if guess[name] not in (None, *values):
            told.fail(f"one of {', '.join(values)}, or null")
    return guess
