"""Questions of a generated user: a query that names topics only, and choices that each fit one combination of states."""

from itertools import product
from random import Random

from amemgym_envs.amemgym.records import Choice, Question
from amemgym_envs.amemgym.templates import Variable

Combination = tuple[str, ...]


def listed(parts: list[str], last: str) -> str:
    """["a", "b", "c"] -> "a, b" + ``last`` + "c"."""
    return last.join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def _combinations(
    lived: list[Combination], pools: list[list[str]], variables: list[Variable], count: int, rng: Random
) -> list[Combination]:
    """``count`` of them: all ``lived``, then others of the pools' grid, then any others, in random order."""
    chosen = list(lived)
    for values in (pools, [v.values for v in variables]):
        chosen += rng.sample(rest := [c for c in product(*values) if c not in chosen], len(rest))
    return chosen[:count]


def build_question(
    variables: list[Variable], pools: list[list[str]], lived: list[Combination], count: int, queries: tuple[str, ...], rng: Random
) -> Question:
    """A question that requires ``variables``; ``pools`` are their values in this life and ``lived`` the combinations it meets.

    All choices of a question are worded alike, so that they differ in their values only.
    """
    query = rng.choice(queries).format(topics=listed([v.asks for v in variables], " and "))
    advice = [rng.choice(v.advice) for v in variables]
    choices = []
    for state in _combinations(lived, pools, variables, count, rng):
        parts = [carrier.format(value=value) for carrier, value in zip(advice, state, strict=True)]
        choices.append(Choice(list(state), listed(parts, ", and "), "experience" if state in lived else "random"))
    rng.shuffle(choices)
    return Question(query, [v.name for v in variables], choices)
