"""Conversations as they were held, kept in the public format, so that they can be played again."""

from pathlib import Path
from typing import Any

from amemgym_envs.core import TextEnv
from amemgym_train.evaluation.files import read_json, write_json

FOLDER = "interactions"


class Overheard(TextEnv):
    """``environment``, whose sessions are written to ``<folder>/interactions/period_00.json`` once a period's are over: a list
    [session][message {role, content}]."""

    def __init__(self, environment: TextEnv, folder: Path) -> None:
        super().__init__()
        self.environment = environment
        self.folder = folder
        self.card = environment.card
        self._sessions: list[list[dict[str, str]]] = []
        self._written: int | None = None

    @property
    def blocking(self) -> bool:
        return self.environment.blocking

    @property
    def tasks(self) -> list[str]:
        return self.environment.tasks

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        self._sessions, self._written = [], None
        return self._hear(*self.environment.reset(seed=seed, options=options))

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self._sessions and len(self._sessions[-1]) % 2:  # the last word was the user's
            self._sessions[-1].append({"role": "assistant", "content": action})
        observation, reward, terminated, truncated, info = self.environment.step(action)
        return *self._hear(observation, info)[:1], reward, terminated, truncated, info

    def inquiries(self) -> list[tuple[str, dict[str, Any]]]:
        return self.environment.inquiries()

    def close(self) -> None:
        self.environment.close()

    def _hear(self, observation: str, info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        if info["kind"] == "session":
            if info["round"] == 0:
                self._sessions.append([])
            self._sessions[-1].append({"role": "user", "content": observation})
        elif info["kind"] != "end" and info["period"] != self._written:
            write_json(self.folder / FOLDER / f"period_{info['period']:02d}.json", self._sessions)
            self._sessions, self._written = [], info["period"]
        return observation, info


def interactions_in(folder: Path) -> list[Any]:
    """[period][session][message] of the files that an ``Overheard`` wrote for every period."""
    paths = sorted((folder / FOLDER).glob("period_*.json"), key=lambda path: int(path.stem.removeprefix("period_")))
    return [read_json(path, list) for path in paths]
