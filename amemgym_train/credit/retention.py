"""Which known states a write lost."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from amemgym_train.rollout.records import Episode, holds

Entries = list[dict[str, str]]


@dataclass(frozen=True)
class Asked:
    """What the probes of one period say of a state. ``known``: all of them are right about it."""

    value: str
    written: int
    known: bool


def losses(episode: Episode) -> dict[int, list[str]]:
    """{index of a write turn: the states it is charged for}.

    The probes say *that* a state was lost: known at the last probes before a period, not changed since, and not known at the
    probes of that period. The memory snapshots say *by whom*: by the writes of the period after which no entry holds its value
    any more (equals or contains it, in any case of letters) though one did before. Where they do not tell, it is charged to
    every write of the period; but when one of these was shown the state, late, then its own reward pays for it already.
    """
    charged: dict[int, list[str]] = defaultdict(list)
    steps = _steps(episode)
    for period, state, value in _lost(episode):
        writes = [i for i, turn in enumerate(episode.turns) if turn.operation == "write" and turn.meta["period"] == period]
        guilty = [i for i in writes if i in steps and holds(steps[i][0], value) and not holds(steps[i][1], value)]
        if not guilty and not any(state in episode.turns[i].meta["exposed"] for i in writes):
            guilty = writes
        for index in guilty:
            charged[index].append(state)
    return dict(charged)


def _lost(episode: Episode) -> list[tuple[int, str, str]]:
    """(period, state, value) of each state that was known and is no more."""
    found = []
    for state, by_period in _asked(episode).items():
        for before, period in pairwise(sorted(by_period)):
            now = by_period[period]
            if by_period[before].known and not now.known and now.written <= before:
                found.append((period, state, now.value))
    return found


def _asked(episode: Episode) -> dict[str, dict[int, Asked]]:
    """{state: {period: what its probes say}}."""
    states: dict[str, dict[int, Asked]] = defaultdict(dict)
    for probe in episode.probes:
        for state, value in probe.expected.items():
            others = states[state].get(probe.period)
            known = probe.known(state) and (others is None or others.known)
            states[state][probe.period] = Asked(value, probe.write_period[state], known)
    return states


def _steps(episode: Episode) -> dict[int, tuple[Entries, Entries]]:
    """{index of a write turn: the memory before and after it}."""
    memories = sorted((memory for memory in episode.memories if memory.turn is not None), key=lambda memory: memory.turn)
    before: Sequence[Entries] = [[], *(memory.entries for memory in memories)]
    return {memory.turn: (old, memory.entries) for old, memory in zip(before, memories, strict=False)}
