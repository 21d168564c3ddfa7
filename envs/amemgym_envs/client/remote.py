"""An environment of a server, played as if it were here."""

from collections.abc import Sequence
from functools import cached_property
from itertools import count
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from amemgym_envs.client.connection import Connection
from amemgym_envs.client.errors import InstanceLost, ServerError, error_of
from amemgym_envs.core import EnvCard, TextEnv


def card_of(facts: dict[str, Any]) -> EnvCard:
    known = {name: facts[name] for name in EnvCard.__dataclass_fields__}
    return EnvCard(**known | {"score": tuple(facts["score"]), "requires": ()})  # what it needs is needed there


class RemoteEnv(TextEnv):
    """``environment``, by its name, of the server at ``url`` (``amemgym-train serve``).

    Whatever is lost on the way is asked again under the same request id, so that no step is made twice. A server that is gone or
    full, and an instance that it has forgotten, are OSErrors; a wrong task or environment is a ValueError.
    """

    blocking = True

    def __init__(
        self, url: str, environment: str, token: str | None = None, timeout: float = 60.0, tries: int = 5, wait: float = 0.1
    ) -> None:
        super().__init__()
        self.environment = environment
        self._connection = Connection(url, token, timeout, tries, wait)
        self._id: str | None = None
        self._requests = count()
        self._instruction = ""

    @cached_property
    def card(self) -> EnvCard:  # type: ignore[override]
        cards = self._call("GET", "/v1/health")["environments"]
        for name, facts in cards.items():
            if self.environment.casefold() in (name.casefold(), name.rpartition("-v")[0].casefold()):
                return card_of(facts)
        raise ValueError(f"{self._connection.url} serves no {self.environment!r}; it serves {', '.join(cards)}")

    @cached_property
    def splits(self) -> dict[str, Sequence[str]]:
        """Task ids by split."""
        return self._call("GET", f"/v1/tasks?environment={quote(self.environment)}")["splits"]

    @cached_property
    def tasks(self) -> list[str]:
        return [task for tasks in self.splits.values() for task in tasks]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        start = {"task": (options or {}).get("task"), "seed": seed}
        told = None
        if self._id is not None:
            try:
                told = self._call("POST", "/v1/reset", start | self._marks())
            except InstanceLost:  # while nobody played
                self._id = None
        if told is None:
            fresh = uuid4().hex
            told = self._call("POST", "/v1/create", start | {"environment": self.environment, "id": fresh})
            self._id = fresh
        self._instruction = told["info"]["instruction"]
        return told["observation"], told["info"]

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self._id is None:
            raise RuntimeError(f"{self.environment}: step without a running episode; call reset first")
        told = self._call("POST", "/v1/step", {"action": action, **self._marks()})
        info = {"instruction": self._instruction} | told["info"]
        self._instruction = info["instruction"]
        return told["observation"], told["reward"], told["terminated"], told["truncated"], info

    def close(self) -> None:
        """Give the instance back, if the server is still there."""
        try:
            if self._id is not None:
                self._call("POST", "/v1/close", {"id": self._id})
        except OSError:  # its time to live does the same
            pass
        finally:
            self._id = None
            self._connection.close()

    def _marks(self) -> dict[str, Any]:
        return {"id": self._id, "request_id": str(next(self._requests))}

    def _call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        status, told = self._connection.ask(method, path, body)
        where = f"{self._connection.url} ({self.environment})"
        if status == 200 and isinstance(told, dict):
            return told
        if isinstance(told, dict) and "error" in told:
            raise error_of(where, told["error"])
        raise ServerError(f"{where}: status {status}, {str(told)[:300]!r}; is it a server of amemgym-train?")
