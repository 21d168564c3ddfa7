"""Questions of a generated user: a query that names topics only, and choices that each fit one combination of states."""

from itertools import product
from math import prod
from random import Random

from amemgym_envs.amemgym.languages import Variable, Wording
from amemgym_envs.amemgym.records import Choice, Question

Combination = tuple[str, ...]
_LISTED = 4096  # combinations; a larger grid is drawn from and never written down


def _combinations(
    lived: list[Combination], pools: list[list[str]], allowed: list[list[str]], count: int, rng: Random
) -> list[Combination]:
    """``count`` of them: all ``lived``, then others of the pools' grid, then any others, in random order."""
    chosen = dict.fromkeys(lived)  # a set that keeps its order
    for values in (pools, allowed):
        size = prod(map(len, values))
        if size <= _LISTED:
            rest = [c for c in product(*values) if c not in chosen]
            chosen.update(dict.fromkeys(rng.sample(rest, len(rest))))
        while size > _LISTED and len(chosen) < min(count, size):  # all that were chosen lie in this grid
            chosen[tuple(map(rng.choice, values))] = None
    return list(chosen)[:count]


def build_question(
    variables: list[Variable],
    pools: list[list[str]],
    allowed: list[list[str]],
    lived: list[Combination],
    count: int,
    queries: tuple[str, ...],
    words: Wording,
    rng: Random,
) -> Question:
    """A question that requires ``variables``; ``pools`` are their values in this life, ``allowed`` those of the schema, ``lived``
    the combinations that this life meets.

    All choices of a question are worded alike, so that they differ in their values only.
    """
    query = rng.choice(queries).format(topics=words.listed([v.asks for v in variables]))
    advice = [rng.choice(v.advice) for v in variables]
    choices = []
    for state in _combinations(lived, pools, allowed, count, rng):
        parts = [carrier.format(value=value) for carrier, value in zip(advice, state, strict=True)]
        choices.append(
            Choice(list(state), words.listed(parts, words.joiners.advice), "experience" if state in lived else "random")
        )
    rng.shuffle(choices)
    return Question(query, [v.name for v in variables], choices)
