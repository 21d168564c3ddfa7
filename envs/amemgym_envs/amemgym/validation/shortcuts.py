"""Shortcuts: whether a question can be answered without any memory, from the make-up of its choices."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

from amemgym_envs.amemgym.records import Question, Scenario

EXCESS = 0.05  # how much better than guessing a way of answering may be
_SURE = 4.0  # standard errors; so far out by chance in 3 of 100,000 data sets
_ENOUGH = 30  # questions; fewer say nothing
_LEAST_EXPECTED = 5.0  # per position, for the chi-square approximation to hold
_LEAST_CHANCE = 1e-4
Score = Callable[[Question], Sequence[float]]


def _longest(question: Question) -> list[float]:
    return [float(len(choice.answer)) for choice in question.answer_choices]


def _commonest(question: Question) -> list[float]:
    """How often a choice's values occur among the choices: what is right now and then may be varied more."""
    columns = [Counter(column) for column in zip(*(choice.state for choice in question.answer_choices), strict=True)]
    return [sum(column[value] for column, value in zip(columns, c.state, strict=True)) for c in question.answer_choices]


WAYS: dict[str, Score] = {"longest choice": _longest, "commonest values": _commonest}


@dataclass
class Shortcuts:
    """Gathers every question of a data set; ``add`` each scenario, then ask for ``figures`` and ``problems``.

    Answers to one question in several periods hang together, so a question counts once, with its mean over the periods.
    """

    guesses: list[float] = field(default_factory=list)  # chance of a random answer, per question
    excess: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))  # above guessing, per question
    _golden: dict[int, list[list[int]]] = field(default_factory=lambda: defaultdict(list))  # by number of choices: per question

    def add(self, scenario: Scenario) -> None:
        for q, question in enumerate(scenario.questions):
            golden = [found[0] for p in range(len(scenario.periods)) if (found := scenario.fitting(p, q))]
            if not golden:
                continue
            chance = 1 / len(question.answer_choices)
            self.guesses.append(chance)
            self._golden[len(question.answer_choices)].append(golden)
            for name, score in WAYS.items():
                scores = score(question)
                best = [i for i, s in enumerate(scores) if s == max(scores)]
                self.excess[name].append(fmean((g in best) / len(best) for g in golden) - chance)

    def figures(self) -> dict[str, Any]:
        if not self.guesses:
            return {}
        chance = fmean(self.guesses)
        ways = {name: round(chance + fmean(values), 4) for name, values in self._all().items()}
        return {"random answers": round(chance, 4), **ways, "golden position p": self.position_chance()}

    def problems(self) -> list[str]:
        """What is better than guessing beyond doubt, in words."""
        found = []
        for name, values in self._all().items():
            if len(values) < _ENOUGH:
                continue
            mean, error = fmean(values), stdev(values) / len(values) ** 0.5
            if mean > EXCESS and mean > _SURE * error:
                found.append(f"{name}: right {mean:.3f} more often than guessing, expected at most {EXCESS}")
        chance = self.position_chance()
        if chance is not None and chance < _LEAST_CHANCE:
            found.append(
                f"golden choices are not spread evenly over positions: chi-square p is {chance:.1e}, expected {_LEAST_CHANCE:g}"
            )
        return found

    def position_chance(self) -> float | None:
        """Chi-square p that golden positions are uniform; None for too few questions.

        Each question counts with one of its periods, so that cells are independent.
        """
        from scipy.stats import chi2

        statistic, freedom = 0.0, 0
        for choices, questions in self._golden.items():
            expected = len(questions) / choices
            if expected >= _LEAST_EXPECTED:
                places = Counter(golden[q % len(golden)] for q, golden in enumerate(questions))
                statistic += sum((places[i] - expected) ** 2 / expected for i in range(choices))
                freedom += choices - 1
        return float(chi2.sf(statistic, freedom)) if freedom else None

    def _all(self) -> dict[str, list[float]]:
        return {**self.excess, "commonest position": self._positions()}

    def _positions(self) -> list[float]:
        """Always the position that was golden most often in the other half of the questions."""
        excess = []
        for choices, questions in self._golden.items():
            for half in (0, 1):
                others = Counter(place for golden in questions[1 - half :: 2] for place in golden)
                favourite = max(range(choices), key=others.__getitem__)
                excess += [fmean(place == favourite for place in golden) - 1 / choices for golden in questions[half::2]]
        return excess
