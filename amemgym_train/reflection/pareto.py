"""The prompts that are kept to go on from: each the best for some user (GEPA, arXiv 2507.19457)."""

from collections.abc import Hashable, Mapping
from random import Random
from statistics import fmean
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)
Scores = Mapping[Name, Mapping[str, float]]  # of each candidate, its score with each user


def front(scores: Scores[Name], keep: int) -> list[Name]:
    """At most ``keep`` candidates that are best, or as good as the best, for some user; the highest mean first, and that always.

    One that another beats or equals with every user is left out, for it is best for nobody alone.
    """
    ordered = sorted(scores, key=lambda name: -fmean(scores[name].values()))  # the sort is stable: first come, first kept
    wins = best_for(scores)
    kept: list[Name] = []
    for name in ordered:
        if (not kept or wins[name]) and not any(_covers(scores[other], scores[name]) for other in kept):
            kept.append(name)
    return kept[:keep]


def best_for(scores: Scores[Name]) -> dict[Name, int]:
    """For how many users each candidate has the highest score, ties included."""
    users = {user for one in scores.values() for user in one}
    top = {user: max(one[user] for one in scores.values() if user in one) for user in users}
    return {name: sum(one[user] == top[user] for user in one) for name, one in scores.items()}


def draw(kept: list[Name], scores: Scores[Name], seed: str) -> Name:
    """One of ``kept``, drawn with as many chances as there are users for whom it is best among them."""
    wins = best_for({name: scores[name] for name in kept})
    return Random(seed).choices(kept, [wins[name] for name in kept])[0]


def _covers(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return all(one.get(user, float("-inf")) >= score for user, score in other.items())
