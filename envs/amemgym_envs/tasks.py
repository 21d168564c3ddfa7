"""Environments whose task is a goal: one action after the other, until it is reached, given up, or out of steps."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from amemgym_envs.core import TextEnv

LONGEST = 20_000  # characters of an action that are looked at; no grammar here has use for more


class Outcome(NamedTuple):
    """What an action led to. ``score``: the episode's so far, not what the action added. ``success`` of an episode that is
    ``done``; None: whether its score is the highest there is."""

    observation: str
    score: float
    done: bool = False
    success: bool | None = None


class TaskEnv(TextEnv):
    """A subclass says what its tasks are (``splits``), how one begins (``begin``) and what an action does (``act``).

    A step's reward is what it added to the score, so that the rewards of an episode sum up to its score. ``max_steps``: None as
    the card says; an episode that has made so many steps is truncated. ``info`` has also ``steps``, ``max_steps`` and, where the
    environment lists them, ``available_actions``; its ``kind`` is "act".

    Everything random in an episode is drawn from ``np_random``, so that task and seed fix it. Nothing in observation or info
    gives the solution away; ``expert`` does.
    """

    def __init__(self, max_steps: int | None = None) -> None:
        super().__init__()
        if max_steps is not None and max_steps < 1:
            raise ValueError(f"{self.card.id}: max_steps is {max_steps}, expected at least 1")
        self.max_steps = max_steps or self.card.step_cap
        self.steps = 0
        self._score = 0.0
        self._running = False

    @property
    @abstractmethod
    def splits(self) -> Mapping[str, Sequence[str]]:
        """The task ids of every split, in order; no id is in two of them. The same object at every call."""

    @property
    @abstractmethod
    def instruction(self) -> str:
        """What the task is and how actions are written: all that an agent needs to know beside the observations."""

    @abstractmethod
    def begin(self, task: str) -> str:
        """Start ``task``; returns the first observation."""

    @abstractmethod
    def act(self, action: str) -> Outcome:
        """Do ``action``. Whatever it holds, it raises nothing: an action that means nothing is answered by what would."""

    def available(self) -> list[str] | None:
        """The actions that are possible now; None where they are not listed."""
        return None

    def expert(self) -> str:
        """The next action of somebody who knows the solution. NotImplementedError where there is nobody."""
        raise NotImplementedError(f"{self.card.id} has no expert")

    def random_action(self, rng: np.random.Generator) -> str:
        """An action of the grammar, drawn without looking at the goal."""
        actions = self.available()
        if not actions:
            raise NotImplementedError(f"{self.card.id} draws no actions")
        return actions[int(rng.integers(len(actions)))]

    def item(self, number: int) -> str:
        """The task that AgentGym's integer id ``number`` stands for. ValueError: out of range."""
        if not 0 <= number < len(self.tasks):
            raise ValueError(f"{self.card.id}: task number {number}, expected 0 to {len(self.tasks) - 1}")
        return self.tasks[number]

    @cached_property
    def tasks(self) -> list[str]:
        return [task for tasks in self.splits.values() for task in tasks]

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.tasks)

    def choose_task(self, options: dict[str, Any] | None) -> str:
        task = (options or {}).get("task")
        return task if isinstance(task, str) and task in self._known else super().choose_task(options)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        task = self.choose_task(options)
        self.steps, self._score, self._running = 0, 0.0, True
        return self.begin(task), self._info(None)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if not self._running:
            raise RuntimeError(f"{self.card.id}: step without a running episode; call reset first")
        self.steps += 1
        observation, score, done, success = self.act(action[:LONGEST])
        reward, self._score = score - self._score, score
        truncated = not done and self.steps == self.max_steps
        if done or truncated:
            self._running = False
            success = done and (score >= self.card.score[1] if success is None else success)
        return observation, reward, done, truncated, self._info(None if self._running else success)

    def _info(self, success: bool | None) -> dict[str, Any]:
        info = {
            "kind": "act",
            "instruction": self.instruction,
            "ephemeral": False,
            "score": self._score,
            "success": success,
            "steps": self.steps,
            "max_steps": self.max_steps,
        }
        actions = self.available() if self._running else None
        return info if actions is None else info | {"available_actions": actions}
