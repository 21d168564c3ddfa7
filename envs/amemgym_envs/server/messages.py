"""JSON in and out: bodies read up to a limit, fields checked one by one, answers that any environment's info fits into."""

import json
from typing import Any
from urllib.parse import parse_qs

from starlette.types import Receive, Send

from amemgym_envs.server.refusals import Refusal

SHOWN = 100  # characters of a wrong value that a refusal repeats


def _plain(value: Any) -> Any:
    """Numbers of numpy, and whatever else an environment put into its info."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


# escapes all but ASCII, so that half a surrogate pair passes, too
encode = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


async def read_body(receive: Receive, limit: int) -> bytes:
    """Refusal: it is longer than ``limit`` bytes."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionError("the client is gone")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limit:
            raise Refusal("too_large", f"the body is longer than {limit} bytes, as many as this server reads")
    return body


async def send_json(send: Send, status: int, content: Any, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    body = encode(content).encode()
    told = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def decode(body: bytes) -> dict[str, Any]:
    """Refusal: it is no JSON object."""
    try:
        content = json.loads(body, parse_constant=_refused)
    except (ValueError, RecursionError) as error:  # too deep is as bad as broken
        raise Refusal("bad_request", f"the body is no JSON: {error}") from None
    return an_object(content, "the body")


def an_object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refusal("bad_request", f"{what} is {repr(value)[:SHOWN]}, expected an object")
    return value


def query(raw: bytes) -> dict[str, str]:
    return {key: values[-1] for key, values in parse_qs(raw.decode("latin-1"), keep_blank_values=True).items()}


def text(item: dict[str, Any], field: str, longest: int | None = None) -> str:
    value = item.get(field)
    if not isinstance(value, str):
        raise Refusal("bad_request", f"{field} is {_shown(item, field)}, expected a string")
    if longest is not None and len(value) > longest:
        raise Refusal("bad_request", f"{field} has {len(value)} characters, expected at most {longest}")
    return value


def maybe_text(item: dict[str, Any], field: str, longest: int | None = None) -> str | None:
    return None if item.get(field) is None else text(item, field, longest)


def maybe_seed(item: dict[str, Any]) -> int | None:
    value = item.get("seed")
    if value is None or (type(value) is int and 0 <= value < 2**63):
        return value
    raise Refusal("bad_request", f"seed is {_shown(item, 'seed')}, expected a whole number from 0 to 2**63 - 1, or none")


def _shown(item: dict[str, Any], field: str) -> str:
    return repr(item[field])[:SHOWN] if field in item else "missing"
