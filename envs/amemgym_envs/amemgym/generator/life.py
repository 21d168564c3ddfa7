"""How a generated user's states change: what each question requires, which values may occur, and the states over time."""

from collections.abc import Sequence
from math import prod
from random import Random

from amemgym_envs.amemgym.errors import ScenarioError

Schema = dict[str, list[str]]
State = dict[str, str]
_ATTEMPTS = 50  # lives tried before the settings are refused; only needed when num_choices is below 2 ** num_states_per_question


def draw_required(names: list[str], questions: int, states: int, rng: Random) -> list[list[str]]:
    """``states`` distinct names for each question, dealt like cards, so that every name is required about equally often."""
    deck: list[str] = []
    required: list[list[str]] = []
    for _ in range(questions):
        hand: list[str] = []
        while len(hand) < states:
            if not set(deck) - set(hand):
                deck += rng.sample(names, len(names))
            name = next(n for n in deck if n not in hand)
            deck.remove(name)
            hand.append(name)
        required.append(hand)
    return required


def draw_pools(schema: Schema, required: list[list[str]], choices: int, rng: Random) -> Schema:
    """The values each variable may take in this life: at least two, more while every question's grid keeps to ``choices``."""
    sizes = dict.fromkeys(schema, 2)
    growing = rng.sample(list(schema), len(schema))
    while growing:
        name = growing.pop(0)
        grids = [prod(sizes[n] + (n == name) for n in names) for names in required if name in names]
        if sizes[name] < len(schema[name]) and max(grids, default=1) <= choices:
            sizes[name] += 1
            growing.append(name)
    return {name: rng.sample(values, sizes[name]) for name, values in schema.items()}


def combination(state: State, names: list[str]) -> tuple[str, ...]:
    return tuple(state[n] for n in names)


def changes(states: Sequence[State], period: int) -> State:
    """{name: new value} of what changed in ``period``; the initial one starts with everything."""
    before = states[period - 1] if period else {}
    return {name: value for name, value in states[period].items() if before.get(name) != value}


def combinations_lived(states: list[State], names: list[str]) -> list[tuple[str, ...]]:
    """The distinct combinations of ``names`` over a life, in the order they first occurred."""
    return list(dict.fromkeys(combination(state, names) for state in states))


def _change(states: list[State], pools: Schema, required: list[list[str]], choices: int, count: int, order: list[str]) -> State:
    """The next state: up to ``count`` variables, tried in ``order``, take another of their values if no question forbids it."""
    lived = [set(combinations_lived(states, names)) for names in required]
    last, state = states[-1], dict(states[-1])
    for name in order:
        touched = [(names, seen) for names, seen in zip(required, lived, strict=True) if name in names]
        for value in pools[name]:
            after = {**state, name: value}
            if value != last[name] and all(len(seen | {combination(after, names)}) <= choices for names, seen in touched):
                state, count = after, count - 1
                break
        if not count:
            break
    return state


def draw_life(
    pools: Schema, required: list[list[str]], *, choices: int, periods: int, changes: int, max_changes: int, rng: Random
) -> list[State]:
    """States at the end of the initial period and of ``periods`` later ones, each with exactly ``changes`` changes.

    Variables changed least often go first, and one that has changed ``max_changes`` times changes again only where no other can,
    as in the public data. No question sees more than ``choices`` combinations; ScenarioError when no such life is found.
    """
    for attempt in range(_ATTEMPTS):
        states = [{name: values[0] for name, values in pools.items()}]
        counts = dict.fromkeys(pools, 0)
        for _ in range(periods):
            values = {name: rng.sample(pool, len(pool)) for name, pool in pools.items()}
            order = rng.sample(list(pools), len(pools))
            if attempt % 2 == 0:
                order.sort(key=counts.__getitem__)
            order.sort(key=lambda name: counts[name] >= max_changes)
            state = _change(states, values, required, choices, changes, order)
            changed = [n for n in pools if state[n] != states[-1][n]]
            if len(changed) < changes:
                break
            for name in changed:
                counts[name] += 1
            states.append(state)
        else:
            return states
    raise ScenarioError(
        f"no life found with {changes} changes in each of {periods} periods and at most {choices} combinations per question; "
        "raise num_choices, or lower num_changes_per_period or num_states_per_question"
    )
