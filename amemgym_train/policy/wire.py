"""HTTP with one vLLM server: failures that may pass are told from lasting ones and tried again, with growing waits."""

import asyncio
import itertools
import json
import os
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import httpx

from amemgym_envs.amemgym.llm.transport import asked_wait_s, may_pass, one_line
from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from amemgym_train.config.server import ServerConfig

T = TypeVar("T")
_LONGEST_BACKOFF_S = 60.0
_LONGEST_ASKED_S = 600.0
_EXCERPT = 300  # characters of a reply that a message quotes
_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # what vLLM 0.31 takes as --max-lora-rank


class Passing(Exception):
    """Another try may fare better. ``asked_wait_s``: for how long the server asks to be left alone (Retry-After)."""

    def __init__(self, problem: str, asked_wait_s: float = 0.0) -> None:
        super().__init__(problem)
        self.asked_wait_s = asked_wait_s


class Refused(Exception):
    """No other try would fare better; ``status`` is that of the server's reply."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"status {status}: {message}")
        self.status = status


class Server:
    """A server at ``url`` that should serve ``model`` (a folder or hub id).

    ``base``: its own name for that model, and ``max_model_len``: its own limit, once known.

    ``window``: most tokens of a prompt and its reply; ``rank``: that of the adapters it should load (0: none or not known).
    ``backoff_s`` * 2 ** n with jitter, or what the server asks for if that is longer, passes before try n + 2.
    """

    def __init__(self, url: str, model: str, config: "ServerConfig", backoff_s: float) -> None:
        self.url, self.model, self.config, self.backoff_s = url, model, config, backoff_s
        self.base: str | None = None
        self.max_model_len: int | None = None
        self.window, self.rank = 0, 0
        self.tries = config.retries + 1
        self._jitter = Random()

    async def complete(self, client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to one completion request, tried once. Raises Passing and Refused."""
        with _connection_errors(self.config.timeout_s):
            async with asyncio.timeout(self.config.timeout_s):
                response = await client.post(f"{self.url}/v1/completions", json=body, headers=self._headers())
        return _as_object(self._accepted(response))

    def get(self, path: str, tries: int) -> dict[str, Any]:
        """The JSON object at ``path``; blocks. Raises Passing once all tries failed, and Refused."""
        return self._ask(tries, lambda client: _as_object(self._accepted(client.get(self.url + path, headers=self._headers()))))

    def post(self, path: str, body: dict[str, Any], tries: int) -> httpx.Response:
        """The answer to ``body``; blocks. Raises as ``get`` does."""
        send = {"json": body, "headers": self._headers()}
        return self._ask(tries, lambda client: self._accepted(client.post(self.url + path, **send)))

    def post_for_object(self, path: str, body: dict[str, Any], tries: int) -> dict[str, Any]:
        """The JSON object that answers ``body``; blocks. Raises as ``get`` does."""
        send = {"json": body, "headers": self._headers()}
        return self._ask(tries, lambda client: _as_object(self._accepted(client.post(self.url + path, **send))))

    def wait_s(self, tried: int, passing: Passing) -> float:
        """How long to wait after try number ``tried`` (from 0 on) failed."""
        backoff = min(self.backoff_s * 2.0 ** min(tried, 30), _LONGEST_BACKOFF_S)
        return max(min(passing.asked_wait_s, _LONGEST_ASKED_S), backoff * self._jitter.uniform(0.8, 1.2))

    def start_command(self) -> str:
        """What starts a server that can do all that is needed of this one."""
        address = urlsplit(self.url)
        words = ["vllm", "serve", self.model, "--host", str(address.hostname)]
        words += ["--port", str(address.port)] * bool(address.port) + ["--max-model-len", str(self.window)] * bool(self.window)
        words += ["--logprobs-mode", "processed_logprobs"]
        if self.rank:
            fitting = min((allowed for allowed in _RANKS if allowed >= self.rank), default=self.rank)
            words = ["VLLM_ALLOW_RUNTIME_LORA_UPDATING=True", *words, "--enable-lora", "--max-lora-rank", str(fitting)]
        return shlex.join(words)

    def _ask(self, tries: int, attempt: Callable[[httpx.Client], T]) -> T:
        with httpx.Client(timeout=self.config.timeout_s) as client:
            for tried in itertools.count():
                try:
                    with _connection_errors(self.config.timeout_s):
                        return attempt(client)
                except Passing as passing:
                    if tried + 1 >= tries:
                        raise
                    time.sleep(self.wait_s(tried, passing))
        raise AssertionError("count() has no end")

    def _key(self) -> str:
        return os.environ.get(self.config.api_key_env or "", "").strip()

    def _headers(self) -> dict[str, str]:
        if self.config.api_key_env is None:
            return {}
        key = self._key()
        if not key or not key.isascii() or not key.isprintable():
            problem = "holds characters that no key has" if key else "is not set"
            raise UserError(f"policy.server.api_key_env: the environment variable {self.config.api_key_env} {problem}; set it")
        return {"Authorization": f"Bearer {key}"}

    def _accepted(self, response: httpx.Response) -> httpx.Response:
        """``response`` if it reports success."""
        if response.is_success:
            return response
        message = _message(response)
        if key := self._key():
            message = message.replace(key, "***")  # some servers echo it
        message = message[:_EXCERPT] or "(empty body)"
        status = response.status_code
        lasting = "method failed" in message  # what vLLM says, with status 500, of an adapter that it cannot take
        if may_pass(status) and not lasting:
            raise Passing(f"status {status}: {message}", asked_wait_s(response.headers.get("Retry-After", "")))
        raise Refused(status, message)


@contextmanager
def _connection_errors(timeout_s: float) -> Iterator[None]:
    try:
        yield
    except (TimeoutError, httpx.TimeoutException) as error:
        raise Passing(f"no reply within {timeout_s:g} s") from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
        raise UserError(f"policy.server.urls: cannot be called ({error})") from error
    except httpx.RequestError as error:
        raise Passing(f"{type(error).__name__} ({error})") from error


def _as_object(response: httpx.Response) -> dict[str, Any]:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        said = one_line(response.text)[:_EXCERPT]
        raise Passing(f"status {response.status_code} with a body that is no JSON object: {said!r}")
    return body


def _message(response: httpx.Response) -> str:
    """What the server says of a failure: its error's own message where there is one, else the body; on one line."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return one_line(response.text)
    error = body.get("error") if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    return one_line(message if isinstance(message, str) else json.dumps(body))
