"""What is checked, and how much of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from math import inf
from typing import Any

from amemgym_envs import registry
from amemgym_envs.core import TextEnv


@dataclass(frozen=True)
class Plan:
    """``build`` makes a fresh instance, with options beside its own if any are given. ``entry`` and ``options``: how
    another process makes one; none: it cannot.

    ``seeds``: how many are played: 0, 1, ... ``tasks``: of every split that the expert plays, with every seed. ``garbage``: such
    actions in all. ``seconds``: of processor time for each measurement of speed. ``instances``: made and closed,
    to see what stays.
    """

    build: Callable[..., TextEnv]
    entry: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    seeds: int = 3
    tasks: int = 20
    garbage: int = 600
    seconds: float = 1.0
    instances: int = 200

    def __post_init__(self) -> None:
        wrong = [key for key in ("seeds", "tasks", "garbage", "seconds", "instances") if not 0 < getattr(self, key) < inf]
        if wrong:
            raise ValueError(f"{wrong[0]} is {getattr(self, wrong[0])}, expected more than 0")

    @cached_property
    def splits(self) -> dict[str, list[str]]:
        """The task ids by split; all in one, where the environment does not split them."""
        env = self.build()
        splits = getattr(env, "splits", None)
        return {"all": list(env.tasks)} if splits is None else {split: list(tasks) for split, tasks in splits.items()}

    def sample(self, number: int) -> dict[str, list[str]]:
        """``number`` tasks of every split, spread evenly over it: the same ones whenever the split is the same."""
        return {split: [tasks[i * len(tasks) // min(number, len(tasks))] for i in range(min(number, len(tasks)))]
                for split, tasks in self.splits.items()}  # fmt: skip

    def episodes(self, number: int) -> Iterator[tuple[str, int]]:
        """(task, seed) of ``number`` tasks of every split with every seed."""
        for seed in range(self.seeds):
            for tasks in self.sample(number).values():
                yield from ((task, seed) for task in tasks)


def maker(entry: str, options: dict[str, Any]) -> Callable[..., TextEnv]:
    """Makes instances of ``entry``: a registered name, or "module:Class". ValueError: there is no such environment."""
    if ":" not in entry:
        registry.full_name(entry)
        return lambda **more: registry.make(entry, **options | more)
    module, _, name = entry.partition(":")
    try:
        chosen = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"no environment {entry!r}: {error}; is its folder in PYTHONPATH?") from error
    if not (isinstance(chosen, type) and issubclass(chosen, TextEnv)):
        raise ValueError(f"{entry} is no TextEnv, which amemgym_envs.TaskEnv is")
    return lambda **more: chosen(**options | more)


def plan(entry: str, options: dict[str, Any] | None = None, **amounts: Any) -> Plan:
    """The plan for ``entry`` ("TextCraft", or "my_module:MyEnv") made with ``options``; ``amounts`` as ``Plan`` has them."""
    return Plan(maker(entry, options or {}), entry, options or {}, **amounts)
