"""What every environment of this package is: text in, text out, episodes fixed by task id and seed, one card of facts."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Text


class AnyText(Text):
    """All strings. ``sample`` draws short alphanumeric ones; membership looks at nothing but the type."""

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length=64, min_length=0, seed=seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def __repr__(self) -> str:
        return "AnyText()"


@dataclass(frozen=True)
class EnvCard:
    """The facts an environment declares once: what its tasks, scores and actions are, and what it needs to run."""

    id: str  # as registered with gymnasium
    summary: str
    tasks: str  # where task ids come from
    splits: dict[str, int | None]  # split: number of tasks; None where the user chooses it
    score: tuple[float, float]  # lowest and highest episode score
    success: str  # when an episode counts as a success
    step_cap: int | None  # None: the task itself fixes the number of steps
    grammar: str  # what an action looks like
    requires: tuple[str, ...] = ()  # packages beyond numpy and gymnasium, by the names they are imported by
    extra: str = ""  # of amemgym-train, which installs them; empty: they always are


class TextEnv(gymnasium.Env[str, str], ABC):
    """A gymnasium environment of strings. Subclasses set ``card`` and implement ``tasks``, ``reset`` and ``step``.

    ``reset(seed=, options={"task": id})`` starts a task; without a task one is drawn from the environment's random generator.
    ``blocking``: a step may wait for a network, and is better made in a thread of its own.

    ``info`` of reset and step always has ``kind``, ``instruction``, ``ephemeral`` (this exchange must not enter an agent's
    memory), ``score`` (so far) and ``success`` (None until the end).
    """

    card: ClassVar[EnvCard]
    metadata: dict[str, Any] = {"render_modes": []}
    render_mode = None
    blocking = False

    def __init__(self) -> None:
        self.observation_space = AnyText()
        self.action_space = AnyText()

    @property
    @abstractmethod
    def tasks(self) -> list[str]:
        """All task ids, in order."""

    def choose_task(self, options: dict[str, Any] | None) -> str:
        """The task that ``options`` names, or one drawn from ``np_random``; ValueError for an unknown name."""
        tasks = self.tasks
        task = (options or {}).get("task")
        if task is None:
            return tasks[int(self.np_random.integers(len(tasks)))]
        if task not in tasks:
            known = ", ".join(tasks[:5]) + (f" and {len(tasks) - 5} more" if len(tasks) > 5 else "")
            raise ValueError(f"{self.card.id}: task is {task!r}, expected one of {known}")
        return task
