"""The native protocol, version 1: README.md beside this file says what each call takes and gives."""

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from amemgym_envs.server.instances import Answer, Instances
from amemgym_envs.server.messages import an_object, decode, maybe_seed, maybe_text, query, text
from amemgym_envs.server.refusals import Refusal
from amemgym_envs.server.served import Served

PROTOCOL = 1
PREFIX = f"/v{PROTOCOL}/"
MOST = 4096  # items of a batch
TURN = 64  # items after which others have their turn
ID = re.compile(r"[\w-]{16,64}", re.ASCII)
SEEN = 1000  # characters by which two actions of the same length are told apart
Call = Callable[[dict[str, Any]], Awaitable[Answer]]


class Native:
    def __init__(self, served: Mapping[str, Served], instances: Instances) -> None:
        self.served, self.instances = served, instances
        self._names = {name.casefold(): one for name, one in served.items()}
        self._names |= {name.rpartition("-v")[0]: one for name, one in self._names.items() if "-v" in name}
        self.gets = {"health": self.health, "tasks": self.tasks, "observation": self.observation}
        self.posts: dict[str, Call] = {"create": self.create, "reset": self.reset, "step": self.step, "close": self.close}
        self._waits = any(one.slow for one in served.values())

    async def answer(self, method: str, path: str, raw_query: bytes, body: bytes) -> Answer:
        """What ``path``, which begins with PREFIX, is answered. Refusal: with which error."""
        name = path.removeprefix(PREFIX)
        single = name.removesuffix("_batch")
        wanted = "GET" if name in self.gets else "POST" if single in self.posts else None
        if wanted is None:
            raise Refusal("not_found", f"no {path}; there are {', '.join([*self.gets, *self.posts])} under {PREFIX}")
        if method != wanted:
            raise Refusal("method_not_allowed", f"{path} takes {wanted}, not {method}")
        if wanted == "GET":
            return self.gets[name](query(raw_query))
        item = decode(body)
        return await (self.posts[name](item) if single == name else self._batch(self.posts[single], item))

    def health(self, _: dict[str, str]) -> Answer:
        try:
            release = version("amemgym-train")
        except PackageNotFoundError:
            release = "unknown"
        cards = {name: one.card for name, one in self.served.items()}
        held = {"instances": len(self.instances), "max_instances": self.instances.limit, "ttl_s": self.instances.ttl}
        return {"status": "ok", "protocol": PROTOCOL, "version": release, **held, "environments": cards}

    def tasks(self, asked: dict[str, str]) -> Answer:
        served, split = self._served(asked), asked.get("split")
        if split is None:
            return {"environment": served.name, "splits": served.splits}
        if split not in served.splits:
            known = ", ".join(served.splits)
            raise Refusal("bad_request", f"{served.name} has no split {split[:100]!r}; it has {known}")
        return {"environment": served.name, "splits": {split: served.splits[split]}}

    def observation(self, asked: dict[str, str]) -> Answer:
        instance = self.instances.find(text(asked, "id"))
        return instance.answer | {"instruction": instance.instruction, "ended": instance.ended}

    async def create(self, item: dict[str, Any]) -> Answer:
        """Made twice with the same ``id``, it is made once."""
        served, task, seed = self._served(item), maybe_text(item, "task"), maybe_seed(item)
        key = maybe_text(item, "id") or secrets.token_urlsafe(18)
        if not ID.fullmatch(key):
            raise Refusal("bad_request", f"id is {key[:100]!r}, expected 16 to 64 letters, digits, - or _; or none")
        there = key in self.instances
        instance = self.instances.find(key) if there else self.instances.add(key, served)
        doing, call = self._taken if there else instance.reset, ("create", served.name, task, seed)
        try:
            return {"id": key, **await self.instances.run(instance, instance.once, call, key, doing, task, seed)}
        except Refusal:
            if not there:
                await self.instances.drop(key)
            raise

    async def reset(self, item: dict[str, Any]) -> Answer:
        instance, request_id = self.instances.find(text(item, "id")), maybe_text(item, "request_id", 100)
        task, seed = maybe_text(item, "task"), maybe_seed(item)
        call = ("reset", task, seed)
        return await self.instances.run(instance, instance.once, call, request_id, instance.reset, task, seed)

    async def step(self, item: dict[str, Any]) -> Answer:
        instance, request_id = self.instances.find(text(item, "id")), maybe_text(item, "request_id", 100)
        action = text(item, "action")
        call = ("step", action[:SEEN], len(action))
        return await self.instances.run(instance, instance.once, call, request_id, instance.step, action)

    async def close(self, item: dict[str, Any]) -> Answer:
        return {"closed": await self.instances.drop(text(item, "id"))}

    async def _batch(self, call: Call, body: dict[str, Any]) -> Answer:
        """Each item's answer, or its error, in the order of the items. Items of one instance follow each other."""
        items = body.get("items")
        if not isinstance(items, list) or len(items) > MOST:
            raise Refusal("bad_request", f"items is missing, no list, or longer than {MOST}")
        if self._waits:
            return {"items": await asyncio.gather(*(self._one(call, item) for item in items))}
        answers = []
        for place, item in enumerate(items, start=1):
            answers.append(await self._one(call, item))
            if place % TURN == 0:
                await asyncio.sleep(0)
        return {"items": answers}

    @staticmethod
    async def _one(call: Call, item: Any) -> Answer:
        try:
            return await call(an_object(item, "an item"))
        except Refusal as refusal:
            return refusal.to_dict()

    def _served(self, item: dict[str, Any]) -> Served:
        served = self._names.get(asked := text(item, "environment", 100).casefold())
        if served is None:
            known = ", ".join(self.served)
            raise Refusal("unknown_environment", f"no environment {asked!r} is served here; there are {known}")
        return served

    @staticmethod
    def _taken(*_: Any) -> Answer:
        raise Refusal("request_id_reused", "an instance with this id was made before; choose another id, or none")
