"""The memory score and the report of a set of episodes (AMemGym, arXiv 2603.01966).

Per user and period, each figure averaged over the questions first: memory = (overall - random) / (upper - random); then the mean
over periods and over users. ``random`` is the expected accuracy of a blind pick (1 / choices, as one choice is right), ``upper``
the accuracy when the required states are given in the prompt. The mean of ratios is not the ratio of means.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from amemgym_train.diagnosis.operations import OUTCOMES, diagnose
from amemgym_train.rollout.records import Answer, Episode

UpperBound = Mapping[tuple[str, int, int], float]  # (task, question, 0-based choice) -> 1 if answered right with the states given
FIGURES = ("overall", "random", "upper", "memory_score", *OUTCOMES)
Series = dict[str, dict[int, float | None]]  # figure -> period -> value of one episode


@dataclass
class Report:
    """The figures of a set of episodes, from 0 to 1 (memory_score may leave that range).

    Every figure is the mean over an episode's periods, then over the scorable ``episodes``, each of which counts once.
    ``memory_score`` leaves out periods without headroom (upper <= random), counted as ``undefined_periods``; None if all are.
    ``write``, ``read``, ``utilisation`` and ``correct`` are shares of (period, question) cells over the ``diagnosed`` episodes
    (those with probes); None if there is none. ``parse_failures`` counts replies of which nothing could be read, by operation
    (answer, read = a probe, write). ``per_period`` holds one list per figure, along its list "period": means over the episodes
    that have the period.
    """

    overall: float
    random: float
    upper: float
    memory_score: float | None
    write: float | None
    read: float | None
    utilisation: float | None
    correct: float | None
    episodes: int
    unscorable: int
    diagnosed: int
    answers: int
    undefined_periods: int
    parse_failures: dict[str, int]
    per_period: dict[str, list[Any]]

    def to_dict(self) -> dict[str, Any]:
        """JSON values; ``Report(**value)`` is the inverse."""
        return asdict(self)


def period_scores(overall: Sequence[float], random: Sequence[float], upper: Sequence[float]) -> list[float | None]:
    """(overall - random) / (upper - random) per period; None without headroom (upper <= random), where it measures nothing."""
    if not len(overall) == len(random) == len(upper):
        raise ValueError(f"{len(overall)} overall, {len(random)} random and {len(upper)} upper periods; expected as many of each")
    return [_ratio(*figures) for figures in zip(overall, random, upper, strict=True)]


def memory_score(overall: Sequence[float], random: Sequence[float], upper: Sequence[float]) -> float | None:
    """The memory score of one user: the mean of ``period_scores`` over the periods with headroom, None without any."""
    return _mean(period_scores(overall, random, upper))


def report(episodes: Iterable[Episode], upper: UpperBound | None = None) -> Report:
    """Score ``episodes``. ``upper`` None stands for a perfect upper bound of 1, the oracle's.

    Unscorable episodes are counted and enter no figure. Raises ValueError if none is scorable, one has no answers, its probes
    are incomplete, or ``upper`` lacks a question.
    """
    episodes = list(episodes)
    scored = [episode for episode in episodes if episode.error is None]
    if not scored:
        first = f"; the first one: {episodes[0].id}: {episodes[0].error}" if episodes else ""
        raise ValueError(f"none of {len(episodes)} episodes is scorable{first}")
    series = [_series(episode, upper) for episode in scored]
    periods = sorted({period for one in series for period in one["overall"]})
    per_period = {name: [_mean(one[name].get(period) for one in series) for period in periods] for name in FIGURES}
    return Report(
        **{name: _mean(_mean(one[name].values()) for one in series) for name in FIGURES},
        episodes=len(scored),
        unscorable=len(episodes) - len(scored),
        diagnosed=sum(bool(episode.probes) for episode in scored),
        answers=sum(len(episode.answers) for episode in scored),
        undefined_periods=sum(value is None for one in series for value in one["memory_score"].values()),
        parse_failures=_parse_failures(scored),
        per_period={"period": periods, **per_period},
    )


def _series(episode: Episode, upper: UpperBound | None) -> Series:
    if not episode.answers:
        raise ValueError(f"episode {episode.id} has neither answers nor an error; expected one of them")
    series: Series = {name: {} for name in FIGURES}
    for period in sorted({answer.period for answer in episode.answers}):
        answers = [answer for answer in episode.answers if answer.period == period]
        series["overall"][period] = overall = _share(answer.correct for answer in answers)
        series["random"][period] = random = _share(1 / answer.choices for answer in answers)
        series["upper"][period] = ceiling = _share(_upper(upper, episode, answer) for answer in answers)
        series["memory_score"][period] = _ratio(overall, random, ceiling)
    if episode.probes:
        cells = diagnose(episode).cells
        for outcome in OUTCOMES:
            for period in series["overall"]:
                series[outcome][period] = _share(cell.outcome == outcome for cell in cells if cell.period == period)
    return series


def _upper(upper: UpperBound | None, episode: Episode, answer: Answer) -> float:
    if upper is None:
        return 1.0
    key = (episode.task, answer.question, answer.golden)
    if key not in upper:
        raise ValueError(f"no upper bound for task {key[0]}, question {key[1]}, choice {key[2]}; measure it for every choice")
    return upper[key]


def _parse_failures(episodes: list[Episode]) -> dict[str, int]:
    probes = [probe.response.values() for episode in episodes for probe in episode.probes]
    writes = [turn for episode in episodes for turn in episode.turns if turn.operation == "write"]
    return {
        "answer": sum(answer.response is None for episode in episodes for answer in episode.answers),
        "read": sum(all(value is None for value in response) for response in probes),
        "write": sum(turn.meta.get("parsed") == "failed" for turn in writes),
    }


def _ratio(overall: float, random: float, upper: float) -> float | None:
    return (overall - random) / (upper - random) if upper - random > 1e-9 else None


def _share(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values)


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that exist, None without any."""
    known = [value for value in values if value is not None]
    return _share(known) if known else None
