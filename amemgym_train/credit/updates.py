"""Which rows each of a step's updates sees."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from amemgym_train.credit.rows import deal
from amemgym_train.rollout.records import Row


def dealt(
    rows: Sequence[Row],
    *,
    gather: Callable[[list[Any]], list[Any]],
    seed: str,
    epochs: int,
    parts: int,
    per_batch: int,
    batches: int,
) -> list[list[Row]]:
    """This process's micro-batches of all updates in their order: ``epochs`` times over ``rows``, in ``parts`` updates each.

    Every update has ``batches`` micro-batches of ``per_batch`` rows on every process, and about as many rows of the step's.
    """
    everywhere = gather(list(Counter(row.episode for row in rows).items()))
    result: list[list[Row]] = []
    for epoch in range(epochs):
        name = f"{seed}/{epoch}"
        for part in minibatches(rows, starts_of(everywhere, name), parts, name):
            (own,) = deal(part, 1, per_batch, batches)
            result += own
    return result


def starts_of(counts: Sequence[tuple[str, int]], seed: str) -> dict[str, int]:
    """Where each episode's rows begin when the rows of all processes, an episode's together, are counted through in random order.

    ``counts``: (episode, its rows) of all processes. The same whichever process holds which episode.
    """
    order = sorted(counts)
    random.Random(seed).shuffle(order)
    starts, total = {}, 0
    for episode, rows in order:
        starts[episode] = total
        total += rows
    return starts


def minibatches(rows: Sequence[Row], starts: dict[str, int], parts: int, seed: str) -> list[list[Row]]:
    """``rows`` in ``parts`` of about one size, each with as much of every episode; ``starts``: those of ``starts_of``.

    An episode has at most ceil(rows / ``parts``) of its rows in one part.
    """
    episodes: dict[str, list[Row]] = {}
    for row in rows:
        episodes.setdefault(row.episode, []).append(row)
    result: list[list[Row]] = [[] for _ in range(parts)]
    for episode, own in episodes.items():
        shuffled = random.Random(f"{seed}/{episode}").sample(own, len(own))
        for place, row in enumerate(shuffled, starts[episode]):
            result[place % parts].append(row)
    return result
