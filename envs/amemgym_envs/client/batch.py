"""Many episodes of a server in each message, for programs that play them side by side."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Self
from uuid import uuid4

import httpx

from amemgym_envs.client.connection import pause
from amemgym_envs.client.errors import AGAIN, ServerError, error_of


class Start(NamedTuple):
    """An episode to be begun."""

    environment: str
    task: str | None = None
    seed: int | None = None


class Begun(NamedTuple):
    """An episode that has begun; ``id`` is that of its instance."""

    id: str
    observation: str
    info: dict[str, Any]


class Stepped(NamedTuple):
    """What a step of an environment gives."""

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class BatchClient:
    """Each method sends one message for all of its episodes, and returns an answer for each or the exception that it met (the
    same that ``RemoteEnv`` raises), in their order. ConnectionError: the server is gone, or too busy at every try.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 60.0, tries: int = 5, wait: float = 0.1) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.url, self.tries, self.wait = url.rstrip("/"), tries, wait
        self._http = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=timeout, trust_env=False)
        self._requests = count()
        self._instructions: dict[str, str] = {}  # steps tell it only when it changes

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Gives all instances back, if the server is still there."""
        try:
            await self.close(list(self._instructions))
        except OSError:  # their time to live does the same
            pass
        await self._http.aclose()

    async def create(self, starts: Sequence[Start]) -> list[Begun | Exception]:
        items = [{**start._asdict(), "id": uuid4().hex} for start in starts]
        return [self._begun(told) for told in await self._send("create", items)]

    async def reset(self, starts: Mapping[str, Start]) -> list[Begun | Exception]:
        """Begin other episodes in the instances that are the keys; their environments stay what they are."""
        items = [{"id": key, "task": start.task, "seed": start.seed, **self._mark()} for key, start in starts.items()]
        answers = await self._send("reset", items)
        return [self._begun(told, key) for key, told in zip(starts, answers, strict=True)]

    async def step(self, actions: Mapping[str, str]) -> list[Stepped | Exception]:
        """One step of each instance that is a key."""
        items = [{"id": key, "action": action, **self._mark()} for key, action in actions.items()]
        answers = await self._send("step", items)
        return [self._stepped(told, key) for key, told in zip(actions, answers, strict=True)]

    async def close(self, keys: Sequence[str]) -> None:
        """Give instances back; those that are gone are no mistake."""
        await self._send("close", [{"id": key} for key in keys])
        for key in keys:
            self._instructions.pop(key, None)

    def _mark(self) -> dict[str, str]:
        return {"request_id": str(next(self._requests))}

    def _begun(self, told: Any, key: str | None = None) -> Begun | Exception:
        if isinstance(told, Exception):
            return told
        key = key or told["id"]
        self._instructions[key] = told["info"]["instruction"]
        return Begun(key, told["observation"], told["info"])

    def _stepped(self, told: Any, key: str) -> Stepped | Exception:
        if isinstance(told, Exception):
            return told
        info = told["info"]
        if "instruction" in info:
            self._instructions[key] = info["instruction"]
        else:
            info["instruction"] = self._instructions.get(key, "")
        return Stepped(told["observation"], told["reward"], told["terminated"], told["truncated"], info)

    async def _send(self, call: str, items: list[dict[str, Any]]) -> list[Any]:
        """The items' answers, with exceptions for errors. Sent again, the same request ids keep anything from happening twice."""
        if not items:
            return []
        status, told = await self._post(f"/v1/{call}_batch", {"items": items})
        if status != 200:
            known = isinstance(told, dict) and "error" in told
            raise error_of(self.url, told["error"]) if known else ServerError(f"{self.url}: status {status}, {str(told)[:300]}")
        return [error_of(self.url, item["error"]) if "error" in item else item for item in told["items"]]

    async def _post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        for attempt in range(self.tries):
            last = attempt + 1 == self.tries
            try:
                reply = await self._http.post(path, json=body)
            except httpx.TransportError as error:
                if last:
                    told = f"{type(error).__name__} {error}, tried {self.tries} times"
                    raise ConnectionError(f"{self.url}{path}: {told}") from error
            else:
                if last or reply.status_code not in AGAIN:
                    try:
                        return reply.status_code, reply.json()
                    except ValueError:
                        return reply.status_code, reply.text
            await asyncio.sleep(pause(self.wait, attempt))
        raise AssertionError("the last try returns or raises")
