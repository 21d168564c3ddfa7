"""AgentGym's own routes for one environment: paths, fields, answers and mistakes of either dialect as its servers have them."""

import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, create_model
from starlette.responses import JSONResponse, PlainTextResponse, Response

from amemgym_envs.agentgym import PAIR, TEXT, Wire
from amemgym_envs.server.instances import Instance, Instances
from amemgym_envs.server.messages import encode
from amemgym_envs.server.refusals import Refusal
from amemgym_envs.server.served import Served

Doing = Callable[[Instance], Awaitable[Any]]


class Json(JSONResponse):
    """Whatever an environment says, half a surrogate pair included."""

    def render(self, content: Any) -> bytes:
        return encode(content).encode()


class Mistake(Exception):
    """What dialect B answers by {"error": ...}, and dialect A by status 500."""


class Dialect:
    """Instances of one environment, numbered from 0 on."""

    def __init__(self, served: Served, wire: Wire, instances: Instances) -> None:
        self.served, self.wire, self.instances = served, wire, instances
        self._next = 0

    def routes(self, prefix: str) -> APIRouter:
        """All routes, below ``prefix``."""
        wire, router = self.wire, APIRouter(prefix=prefix, tags=[self.served.name])
        number = (int, ...) if wire.dialect == "B" else (int | None, None)  # as its servers ask for it
        extra = {name: (type(value), ...) for name, value in wire.also.items()}
        handle = create_model("Handle", **{wire.handle: (int, ...)})
        resetting = create_model("Reset", **{wire.handle: (int, ...), wire.task: number}, **extra)
        stepping = create_model("Step", **{wire.handle: (int, ...), "action": (str, ...)})
        creating = None if wire.sends is None else self._creating()
        paths = {
            "/create": ("POST", creating, self.create),
            "/reset": ("POST", resetting, self.reset),
            "/step": ("POST", stepping, self.step),
            "/close": ("POST", handle, self.close),
            "/observation": ("GET", handle, self.look),
            **({"/list_envs": ("GET", None, self.listed)} if wire.dialect == "A" else {"/detail": ("GET", handle, self.detail)}),
        }
        if hasattr(self.served.kind, "png"):
            paths["/render"] = ("POST", handle, self.render)
        if hasattr(self.served.kind, "consistent"):
            paths["/filtered_vocab"] = ("GET", handle, self.words)
        if self.served.name == "Maze-v0":
            paths["/available_actions"] = ("GET", None, self.moves)
        for path, (method, model, function) in paths.items():
            router.add_api_route(path, self._route(method, model, function), methods=[method], response_class=Json)
        router.add_api_route("/", self.greet, methods=["GET"], response_class=Json)
        return router

    def _creating(self) -> type[BaseModel]:
        if self.wire.sends:
            return create_model("Create", **{name: (int, ...) for name in self.wire.sends})
        return create_model("Create", commands=(Any, None), goal=(Any, None))

    def _route(self, method: str, model: type[BaseModel] | None, function: Callable[..., Awaitable[Any]]) -> Any:
        """``function`` as FastAPI calls it, with its mistakes told in the way of the dialect."""

        async def answered(body: Any = None) -> Response:
            try:
                return Json(await function(body))
            except (Mistake, Refusal) as mistake:
                if self.wire.dialect == "B":
                    return Json({"error": str(mistake)})
                full = isinstance(mistake, Refusal) and mistake.code == "too_many_instances"
                return PlainTextResponse(str(mistake), 503 if full else 500)

        if model is None:
            async def plain() -> Response:
                return await answered()

            return plain
        if method == "GET":
            name = self.wire.handle

            async def asked(handle: Annotated[int, Query(alias=name)]) -> Response:
                return await answered(model(**{name: handle}))

            return asked

        async def posted(body: model) -> Response:  # type: ignore[valid-type]
            return await answered(body)

        return posted

    async def greet(self) -> Response:
        return Json(self.wire.greeting)

    async def create(self, body: Any) -> Any:
        if any(getattr(body, name, None) is not None for name in ("commands", "goal")):
            raise Mistake("commands and goals of your own are not taken; choose a task by reset")
        number = self._next
        key = (self.served.name, number)
        instance = self.instances.add(key, self.served)
        self._next += 1
        try:
            if "observation" in self.wire.create:
                await self._begin(instance, number)
            elif self.wire.sends:
                await self._begin(instance, body.id)
        except (Mistake, Refusal):
            await self.instances.drop(key)
            raise
        return self._keyed(instance, self.wire.create) if self.wire.create else number

    async def reset(self, body: Any) -> Any:
        instance = self._find(body)
        number = getattr(body, self.wire.task)
        if number is None:
            raise Mistake(f"{self.wire.task} is null, expected the number of a task")
        await self._begin(instance, number)
        return self._shaped(instance, self.wire.reset)

    async def step(self, body: Any) -> Any:
        instance = self._find(body)
        if instance.ended:
            raise Mistake(f"The task with environment {instance.key[1]} has finished.")
        await self.instances.run(instance, instance.once, None, None, instance.step, body.action)
        return self._shaped(instance, self.wire.step)

    async def quick_step(self, raw: bytes) -> dict[str, Any] | None:
        """What ``step`` answers to a body that is as it should be; None, and nothing done, where there is more to say.

        FastAPI takes as long over a body as all the rest of a step.
        """
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            return None
        number, action = (body.get(self.wire.handle), body.get("action")) if type(body) is dict else (None, None)
        key = (self.served.name, number)
        if type(number) is not int or type(action) is not str or key not in self.instances:
            return None
        try:
            instance = self.instances.find(key)
            await self.instances.run(instance, instance.once, None, None, instance.step, action)
        except Refusal:  # which the slow way finds again: there is no episode, or no longer
            return None
        return self._shaped(instance, self.wire.step)

    async def close(self, body: Any) -> bool:
        return await self.instances.drop((self.served.name, getattr(body, self.wire.handle)))

    async def look(self, body: Any) -> Any:
        instance = self._find(body)
        told, head = self._shaped(instance, self.wire.look), instance.opening.partition("\n")[0]
        if self.wire.headed and not told["observation"].startswith(head):
            told["observation"] = f"{head}\n{told['observation']}"
        return told

    async def detail(self, body: Any) -> Any:
        return self._keyed(self._find(body), ("observation", "reward", "score", "done", "deleted"))

    async def listed(self, _: Any) -> list[int]:
        return [key[1] for key in self.instances.keys() if key[0] == self.served.name]

    async def render(self, body: Any) -> str:
        return "data:image/png;base64," + b64encode(self._playing(body).env.png()).decode()

    async def words(self, body: Any) -> list[str]:
        return self._playing(body).env.consistent()

    async def moves(self, _: Any) -> list[str]:
        return self.served.make().available()

    def _find(self, body: Any) -> Instance:
        number = getattr(body, self.wire.handle)
        try:
            return self.instances.find((self.served.name, number))
        except Refusal:
            raise Mistake(f"The id {number} is not valid.") from None

    def _playing(self, body: Any) -> Instance:
        instance = self._find(body)
        if not instance.answer:
            raise Mistake(f"The environment {instance.key[1]} has no task yet.")
        return instance

    async def _begin(self, instance: Instance, number: int) -> None:
        try:
            task = self.served.item(number)
        except ValueError as error:
            raise Mistake(str(error)) from None
        # what is drawn in the episode is drawn alike each time, whoever plays it
        seed = number if number >= 0 else None
        cap = {"max_steps": self.wire.cap}
        await self.instances.run(instance, instance.once, None, None, instance.reset, task, seed, **cap)

    def _shaped(self, instance: Instance, shape: tuple[str, ...]) -> Any:
        if shape is PAIR or shape is TEXT:
            observation = instance.answer.get("observation", "")
            return observation if shape is TEXT else [observation, None]
        return self._keyed(instance, shape)

    def _keyed(self, instance: Instance, keys: tuple[str, ...]) -> dict[str, Any]:
        answer = instance.answer
        score = number(answer["info"]["score"]) if answer else 0
        reward = number(answer.get("reward", 0)) if "score" in keys and not self.wire.best else score
        known = {
            "id": instance.key[1],
            "observation": answer.get("observation", ""),
            "state": answer.get("observation", ""),
            "reward": reward,
            "score": score,
            "done": instance.ended and "reward" in answer,
            "deleted": False,
            "info": None,
        }
        return {key: known[key] for key in keys}


def number(value: float) -> int | float:
    """A whole number as one, as AgentGym's servers write it."""
    return int(value) if value == int(value) else float(value)
