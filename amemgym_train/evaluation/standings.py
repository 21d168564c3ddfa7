"""The figures of several agents on the same users: their means with intervals, and how they differ user by user."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from amemgym_train.evaluation.intervals import spread
from amemgym_train.evaluation.memory import FIGURES, Report, UpperBound, report
from amemgym_train.rollout.records import Episode

COMPARED = ("overall", "memory_score", "write", "read", "utilisation")
BySeed = Mapping[int, Sequence[Episode]]  # seed -> its episodes


def standing(by_seed: BySeed, upper: UpperBound | None) -> dict[str, Any]:
    """JSON values: the figures of one agent.

    A user's figure is the mean over its periods, then over the seeds; ``figures`` has the mean over users and its interval, of
    the users that have the figure (no memory score without headroom). ``per_period``: means over the episodes with the period.
    ``unread``: replies of which nothing could be read; ``shortened``: calls that had to leave out some of the past; ``tokens``
    [read, written], None where the policy counts none.
    """
    whole = [episode for episodes in by_seed.values() for episode in episodes if episode.error is None]
    played = sum(len(episodes) for episodes in by_seed.values())
    users = list(dict.fromkeys(episode.task for episode in whole))
    of_users = {user: report([episode for episode in whole if episode.task == user], upper) for user in users}
    everything = report(whole, upper) if whole else None
    turns = [turn for episode in whole for turn in episode.turns]
    tokens = [sum(len(turn.prompt_ids) for turn in turns), sum(len(turn.completion_ids) for turn in turns)]
    return {
        "episodes": len(whole),
        "unscorable": played - len(whole),
        "figures": {name: spread(_known(of_users.values(), name)) for name in FIGURES},
        "per_user": {user: {name: getattr(one, name) for name in FIGURES} for user, one in of_users.items()},
        "per_period": everything.per_period if everything else {"period": []},
        "undefined_periods": everything.undefined_periods if everything else 0,
        "answers": everything.answers if everything else 0,
        "unread": everything.parse_failures if everything else {},
        "shortened": sum(bool(turn.meta.get("left_out")) for turn in turns),
        "calls": len(turns),
        "tokens": tokens if all(tokens) else None,
    }


def by_environment(standings: Mapping[str, dict[str, Any]], environments: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """For each environment the ``figures`` of every agent on its users; ``environments``: by user."""
    found: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(environments.values()):
        for agent, one in standings.items():
            figures = [of_user for user, of_user in one["per_user"].items() if environments[user] == name]
            known = {key: [value for of_user in figures if (value := of_user[key]) is not None] for key in FIGURES}
            found.setdefault(name, {})[agent] = {key: spread(values) for key, values in known.items()}
    return found


def control(episodes: Sequence[Episode], upper: UpperBound | None) -> dict[str, float | None]:
    """The mean figures of a control; all None when none of its episodes could be played."""
    if all(episode.error is not None for episode in episodes):
        return dict.fromkeys(FIGURES)
    figures = report(episodes, upper)
    return {name: getattr(figures, name) for name in FIGURES}


def differences(standings: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """For each pair of agents, the second minus the first on the users that both played: mean and interval per figure."""
    return [
        {"of": second, "minus": first, "figures": {name: spread(_paired(a, b, name)) for name in COMPARED}}
        for (first, a), (second, b) in combinations(standings.items(), 2)
    ]


def _paired(first: dict[str, Any], second: dict[str, Any], name: str) -> list[float]:
    ours, theirs = first["per_user"], second["per_user"]
    pairs = [(ours[user][name], theirs[user][name]) for user in ours if user in theirs]
    return [b - a for a, b in pairs if a is not None and b is not None]


def equal_seeds(by_seed: BySeed) -> list[int]:
    """The seeds whose answers are those of the first one, to the last choice; none where somebody could not be played."""
    first, *others = by_seed.items()
    if any(episode.error is not None for episode in first[1]):
        return []
    return [seed for seed, episodes in others if _choices(episodes) == _choices(first[1])]


def broken(label: str, episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    """Who could not be played to the end: in which period it broke, and why. A control's episodes keep no states."""
    return [
        {"results": label, "user": episode.task, "period": _periods(episode), "error": episode.error}
        for episode in episodes
        if episode.error is not None
    ]


def _periods(episode: Episode) -> int:
    """How many are answered: a period's questions are asked at once."""
    return len({answer.period for answer in episode.answers})


def _choices(episodes: Sequence[Episode]) -> list[tuple[str, list[int | None]]]:
    return [(episode.task, [answer.response for answer in episode.answers]) for episode in episodes]


def _known(reports: "Sequence[Report]", name: str) -> list[float]:
    return [value for one in reports if (value := getattr(one, name)) is not None]
