"""What a server serves: environments by name, each with the options of its constructor that whoever starts the server chose."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

from amemgym_envs.core import TextEnv
from amemgym_envs.registry import class_of, full_name, lacking

SLOW = ("BIRD-v0",)  # a step waits for nobody, but may take as long as its time limit


class Served:
    """One environment. A first instance is made at once: it tells early what is missing or wrong, and warms what all share.

    ValueError: no such environment, or wrong ``options``. ModuleNotFoundError: a package that it needs is not there.
    """

    def __init__(self, name: str, options: Mapping[str, Any] | None = None, kind: type[TextEnv] | None = None) -> None:
        self.kind = kind or class_of(name)
        self.name = self.kind.card.id if kind else full_name(name)
        self.options = dict(options or {})
        missing = lacking(self.kind.card)
        if missing:
            raise ModuleNotFoundError(f"{self.name} needs {', '.join(missing)}, which is not installed", name=missing[0])
        try:
            self._first = self.kind(**self.options)
        except TypeError as error:
            raise ValueError(f"{self.name}: options {self.options}: {error}") from None
        self.slow = self._first.blocking or self.name in SLOW

    def make(self, **options: Any) -> TextEnv:
        """A new instance; ``options`` stand behind those of the server."""
        return self.kind(**options | self.options)

    @cached_property
    def tasks(self) -> list[str]:
        return self._first.tasks

    @cached_property
    def splits(self) -> dict[str, Sequence[str]]:
        """Task ids by split; an environment that knows no splits has one, ``all``."""
        return {name: list(tasks) for name, tasks in getattr(self._first, "splits", {"all": self.tasks}).items()}

    @cached_property
    def card(self) -> dict[str, Any]:
        counts = {name: len(tasks) for name, tasks in self.splits.items()}
        return asdict(self._first.card) | {"splits": counts, "options": self.options}

    def item(self, number: int) -> str:
        """The task that AgentGym's ``number`` stands for. ValueError: out of range."""
        if hasattr(self._first, "item"):
            return self._first.item(number)
        if not 0 <= number < len(self.tasks):
            raise ValueError(f"{self.name}: task number {number}, expected 0 to {len(self.tasks) - 1}")
        return self.tasks[number]
