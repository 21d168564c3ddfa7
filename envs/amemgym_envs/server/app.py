"""The application: a gate that looks at the token and the size of every call, behind it the protocols."""

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from amemgym_envs.agentgym import WIRES
from amemgym_envs.server.dialects import Dialect, Json
from amemgym_envs.server.instances import Instances
from amemgym_envs.server.messages import read_body, send_json
from amemgym_envs.server.native import PREFIX, Native
from amemgym_envs.server.refusals import Refusal
from amemgym_envs.server.served import Served

LARGEST = 8 * 2**20  # bytes of a body
SWEEP_S = 30.0  # between looks for idle instances while nobody calls
RETRY = ((b"retry-after", b"1"),)
Quick = Callable[[bytes], Awaitable[Any]]  # the answer to a body, or None
log = logging.getLogger(__name__)


def application(served: Sequence[Served], instances: Instances, token: str | None = None, largest: int = LARGEST) -> ASGIApp:
    """An ASGI application that serves ``served``, to whoever brings ``token`` (None: to everybody)."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(_sweep(instances))
        yield
        sweeping.cancel()
        instances.close()

    app = FastAPI(title="amemgym-train environments", lifespan=lifespan)
    quick: dict[str, Quick] = {}
    app.add_exception_handler(RequestValidationError, _invalid)
    for one in served:
        if wire := WIRES.get(one.name):
            prefix = wire.prefix if len(served) == 1 else f"/{one.name.rpartition('-v')[0].lower()}"
            dialect = Dialect(one, wire, instances)
            app.include_router(dialect.routes(prefix))
            quick[f"{prefix}/step"] = dialect.quick_step
    app.add_api_route("/", lambda: "ok", methods=["GET"])  # unless the one environment has greeted already
    return Gate(app, Native({one.name: one for one in served}, instances), quick, token, largest)


async def _invalid(_: Request, error: RequestValidationError) -> Json:
    return Json({"detail": jsonable_encoder(error.errors())}, 422)


async def _sweep(instances: Instances) -> None:
    while True:
        await asyncio.sleep(min(instances.ttl, SWEEP_S))
        instances.expire()


class Gate:
    """Answers the native protocol itself, and what ``quick`` answers by path: it is the shortest way to an environment. The rest
    goes to ``app``."""

    def __init__(self, app: ASGIApp, native: Native, quick: Mapping[str, Quick], token: str | None, largest: int) -> None:
        self.app, self.native, self.quick, self.largest = app, native, quick, largest
        self.wanted = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        with suppress(ConnectionError):  # a client that is gone is told nothing
            try:
                self._check(scope)
                body = await read_body(receive, self.largest)
                if scope["path"].startswith(PREFIX):
                    method, path = scope["method"], scope["path"]
                    return await send_json(send, 200, await self.native.answer(method, path, scope["query_string"], body))
                quick = self.quick.get(scope["path"]) if scope["method"] == "POST" else None
                if quick and (told := await quick(body)) is not None:
                    return await send_json(send, 200, told)
            except Refusal as refusal:
                return await send_json(send, refusal.status, refusal.to_dict(), RETRY if refusal.status == 429 else ())
            except Exception:
                log.exception("%s %s failed", scope["method"], scope["path"])
                return await send_json(send, 500, Refusal("internal_error", "a mistake of the server; see its log").to_dict())
            await self.app(scope, _replay(body, receive), send)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if self.wanted is not None and not hmac.compare_digest(headers.get(b"authorization", b""), self.wanted):
            raise Refusal("unauthorized", "this server asks for its token: Authorization: Bearer TOKEN")
        told = headers.get(b"content-length", b"0")
        if not told.isdigit() or int(told) > self.largest:
            raise Refusal("too_large", f"the body is longer than {self.largest} bytes, as many as this server reads")


def _replay(body: bytes, receive: Receive) -> Receive:
    """What gives a body that was read once more."""
    given: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return given.pop() if given else await receive()

    return replayed
