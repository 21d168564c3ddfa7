"""The episodes that a server holds: made, found by key, stepped one call at a time, closed when they were idle for too long."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from amemgym_envs.core import TextEnv
from amemgym_envs.server.refusals import Refusal
from amemgym_envs.server.served import Served

THREADS = 8  # for environments whose steps may wait
Answer = dict[str, Any]
log = logging.getLogger(__name__)


class Instance:
    """One environment of one client: its last ``answer``, and the call that led to it, which may be made again unharmed.

    ``opening``: the episode's first observation. ``instruction``: the last that was told.
    """

    __slots__ = ("key", "served", "env", "answer", "call", "outcome", "touched", "users", "lock",
                 "instruction", "ended", "opening")

    def __init__(self, key: Hashable, served: Served) -> None:
        self.key, self.served = key, served
        self.env: TextEnv | None = None  # until it is made, where it is used first
        self.answer: Answer = {}
        self.call: Any = None
        self.outcome: Answer | Refusal = {}
        self.touched, self.users = 0.0, 0
        self.lock = asyncio.Lock() if served.slow else None
        self.instruction = self.opening = ""
        self.ended = True

    def reset(self, task: str | None, seed: int | None, **options: Any) -> Answer:
        """Start an episode. Refusal: the task is not known, or the environment failed."""
        try:
            if self.env is None:
                self.env = self.served.make(**options)
            observation, info = self.env.reset(seed=seed, options=None if task is None else {"task": task})
        except ValueError as error:
            raise Refusal("unknown_task", str(error)) from None
        self.ended, self.instruction, self.opening = False, info["instruction"], observation
        self.answer = {"observation": observation, "info": info}
        return self.answer

    def step(self, action: str) -> Answer:
        """Refusal: no episode is running. What is told of the instruction is a change."""
        if self.ended:
            raise Refusal("not_running", f"the episode of instance {self.key} has ended; reset it to start another")
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.ended = terminated or truncated
        if info["instruction"] == self.instruction:
            info = {key: value for key, value in info.items() if key != "instruction"}
        else:
            self.instruction = info["instruction"]
        ends = {"terminated": terminated, "truncated": truncated}
        self.answer = {"observation": observation, "reward": reward, **ends, "info": info}
        return self.answer

    def once(self, call: Any, request_id: str | None, function: Callable[..., Answer], *args: Any, **options: Any) -> Answer:
        """What ``function`` returns or refuses, done once for each ``request_id``: the same call again gets the same answer.

        Refusal: it came before with another call; ``environment_failed``: the environment raised.
        """
        if request_id is not None and self.call is not None and self.call[0] == request_id:
            if self.call[1] != call:
                message = f"request_id {request_id!r} came before with another call; give every call its own"
                raise Refusal("request_id_reused", message)
        else:
            self.call = (request_id, call)
            try:
                self.outcome = function(*args, **options)
            except Refusal as refusal:
                self.outcome = refusal
            except Exception as error:
                self.ended = True
                message = f"{self.served.name} raised {type(error).__name__}: {error}; reset the instance, or create another"
                self.outcome = Refusal("environment_failed", message)
        if isinstance(self.outcome, Refusal):
            raise self.outcome
        return self.outcome


class Instances:
    """At most ``limit`` instances, each closed when no call has used it for ``ttl`` seconds of ``clock``.

    All methods are called in one event loop. Environments whose steps may wait run in threads, so that they hold up no other.
    """

    def __init__(self, limit: int = 1024, ttl: float = 3600.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit, self.ttl, self.clock = limit, ttl, clock
        self._held: OrderedDict[Hashable, Instance] = OrderedDict()  # the one that was used longest ago first
        self._threads = ThreadPoolExecutor(THREADS, "environment")  # starts a thread when it needs one

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._held

    def keys(self) -> list[Hashable]:
        return list(self._held)

    def add(self, key: Hashable, served: Served) -> Instance:
        """Room for an instance, in which its environment is made by the first call. Refusal: too many are held."""
        self.expire()
        if len(self._held) >= self.limit:
            message = f"{self.limit} instances are held, as many as this server allows; close some, or try again later"
            raise Refusal("too_many_instances", message)
        instance = self._held[key] = Instance(key, served)
        instance.touched = self.clock()
        return instance

    def find(self, key: Hashable) -> Instance:
        """Refusal: it was never there, is closed, or was idle for longer than the time to live."""
        self.expire()
        instance = self._held.get(key)
        if instance is None:
            message = f"no instance {key!r}: it was never made, is closed, or was idle for more than {self.ttl:g} s"
            raise Refusal("unknown_instance", message)
        self._touch(instance)
        return instance

    async def run(self, instance: Instance, function: Callable[..., Answer], *args: Any, **options: Any) -> Answer:
        """``function`` called with the rest, at once or in a thread, after the instance's earlier calls."""
        if instance.lock is None:
            return function(*args, **options)
        instance.users += 1  # is not idle
        try:
            async with instance.lock:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, lambda: function(*args, **options))
        finally:
            instance.users -= 1
            self._touch(instance)

    async def drop(self, key: Hashable) -> bool:
        """Close an instance; whether it was there. Again is no mistake."""
        self.expire()
        instance = self._held.pop(key, None)
        if instance is None:
            return False
        await self.run(instance, self._close, instance)
        return True

    def expire(self) -> None:
        """Close what has been idle for too long."""
        oldest = self.clock() - self.ttl
        while self._held:
            instance = next(iter(self._held.values()))
            if instance.touched >= oldest:
                return
            if instance.users:
                self._touch(instance)
                continue
            del self._held[instance.key]
            if instance.lock is None:
                self._close(instance)
            else:
                self._threads.submit(self._close, instance)

    def close(self) -> None:
        """Close all of them: the server ends."""
        self._threads.shutdown(cancel_futures=True)
        while self._held:
            self._close(self._held.popitem()[1])

    def _touch(self, instance: Instance) -> None:
        instance.touched = self.clock()
        if instance.key in self._held:
            self._held.move_to_end(instance.key)

    @staticmethod
    def _close(instance: Instance) -> None:
        """Whatever an environment does when it is closed is its own affair: who is told of it may be another client."""
        if instance.env is not None:
            try:
                instance.env.close()
            except Exception:
                log.exception("closing an instance of %s failed", instance.served.name)
