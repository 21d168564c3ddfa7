"""Tasks made by drawing questions of several kinds about a world, dealt out to disjoint splits."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar

from amemgym_envs.toolkit.calls import Call
from amemgym_envs.toolkit.tasks import ToolTask

World = TypeVar("World")
TRIES = 5000  # draws before a kind is said to give too few


class Question(NamedTuple):
    """What is asked, the one right answer, and the calls that lead to it. ``init``: what the episode starts from."""

    goal: str
    answer: Any
    gold: Sequence[Call]
    init: dict[str, Any] = {}


class Questions(Generic[World]):
    """Kinds of questions: functions that draw one from a world and a generator, or None where the draw gave none that has exactly
    one answer."""

    def __init__(self) -> None:
        self.kinds: dict[Callable[[World, Random], Question | None], str] = {}

    def kind(self, difficulty: str) -> Callable[[Callable], Callable]:
        """Decorator: the function draws questions of a kind."""

        def add(draw: Callable[[World, Random], Question | None]) -> Callable[[World, Random], Question | None]:
            self.kinds[draw] = difficulty
            return draw

        return add

    def deal(self, world: World, seed: int, counts: Mapping[str, int]) -> dict[str, tuple[ToolTask, ...]]:
        """For every split as many tasks of each kind as ``counts`` says, the kinds taking turns; no goal is asked twice. Each
        kind draws from a generator of its own, so that a new one leaves the questions of the others as they are; the ids, split
        and number, do shift then. ValueError: a kind has too few questions."""
        drawn = {draw: self._drawn(draw, world, seed, sum(counts.values())) for draw in self.kinds}
        dealt, first = {}, 0
        for split, count in counts.items():
            turns = [(draw, drawn[draw][first + turn]) for turn in range(count) for draw in self.kinds]
            dealt[split] = tuple(
                ToolTask(f"{split}-{number}", question.goal, question.answer, tuple(question.gold), question.init, draw.__name__,
                         self.kinds[draw])
                for number, (draw, question) in enumerate(turns)
            )
            first += count
        return dealt

    def _drawn(self, draw: Callable[[World, Random], Question | None], world: World, seed: int, count: int) -> list[Question]:
        rng, questions = Random(f"{seed} {draw.__name__}"), {}
        for _ in range(TRIES):
            if (question := draw(world, rng)) is not None:
                questions.setdefault(question.goal, question)
                if len(questions) == count:
                    return list(questions.values())
        raise ValueError(f"{draw.__name__}: {len(questions)} different questions after {TRIES} draws, expected {count}")
