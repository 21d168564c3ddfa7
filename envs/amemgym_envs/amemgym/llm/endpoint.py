"""A chat model behind an OpenAI-compatible endpoint: bounded concurrency, retries, and errors that say what to do."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.llm.transport import PerLoop, asked_wait_s, may_pass, one_line

if TYPE_CHECKING:
    import httpx

Messages = Sequence[Mapping[str, str]]
_LONGEST_BACKOFF_S = 60.0
_LONGEST_WAIT_S = 600.0  # a server that asks for more is not waited for: the user is told and starts again later
_EXCERPT = 300  # characters of a reply's body that a message quotes
_SAID = 4000  # and that ``Refused.said`` keeps, to be searched for figures
_CURES = {
    401: "put a valid key into the environment variable {variable}",
    403: "the key in the environment variable {variable} may not use this model; check the account",
    404: "check the base url (it often ends in /v1) and the model name {model!r}",
    400: "check the model name {model!r}, its context length and whether it takes a temperature",
}


class EndpointError(ScenarioError):
    """The endpoint cannot be used: no later call would fare better, so whoever is running stops."""


class Exhausted(EndpointError):
    """The last of all tries failed in a way that passes."""


class Refused(EndpointError):
    """The server answered that it will not do this; ``status`` and ``said`` are those of its reply, the key taken out."""

    def __init__(self, message: str, status: int, said: str) -> None:
        super().__init__(message)
        self.status, self.said = status, said


@dataclass(frozen=True)
class Reply:
    """``tokens_in``, ``tokens_out`` and ``finish_reason`` are the server's own; None when it gives none."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str | None = None


class Endpoint:
    """``model`` at ``<base_url>/chat/completions``.

    The key is read from the environment variable ``api_key_env`` at each call, sent, and kept nowhere; unset means none is sent.
    ``max_retries`` tries may follow one that met a connection error, a timeout (``timeout_s``, for the whole call), a status 408,
    409, 429 or 5xx, or a body that is no chat completion. They wait ``backoff_s`` * 2 ** n with jitter, or longer when the server
    says so (Retry-After). At most ``concurrency`` calls are in flight, and at most ``requests_per_minute`` tries begin in a
    minute, evenly spread (None: no limit). ``temperature`` and ``max_tokens`` None are left to the server. ``price_in`` and
    ``price_out`` are per million tokens, in any currency. Connections end with the event loop that asked, or at ``close``.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key_env: str = "OPENAI_API_KEY",
        concurrency: int = 8,
        timeout_s: float = 120.0,
        max_retries: int = 6,
        temperature: float | None = 0.7,
        max_tokens: int | None = None,
        price_in: float | None = None,
        price_out: float | None = None,
        backoff_s: float = 0.5,
        requests_per_minute: int | None = None,
    ) -> None:
        _check_url(base_url)
        rate = ("requests_per_minute", 1 if requests_per_minute is None else requests_per_minute, 1)
        for name, value, least in (("concurrency", concurrency, 1), ("max_retries", max_retries, 0), rate):
            if value < least:
                raise EndpointError(f"endpoint setting {name}: got {value!r}, expected at least {least}")
        self.url = base_url.rstrip("/") + "/chat/completions"
        self.model = model
        self.api_key_env = api_key_env
        self.concurrency = concurrency
        self.timeout_s = timeout_s
        self.max_retries = max_retries
        self.temperature = temperature
        self.max_tokens = max_tokens
        self.price_in, self.price_out = price_in, price_out
        self.backoff_s = backoff_s
        self.requests_per_minute = requests_per_minute
        self.retries = 0  # so far, over all calls
        self._jitter = Random()
        self._next_start = 0.0  # by the monotonic clock: no try begins before
        self._lines = PerLoop(self._line)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections of the running event loop; a later call opens new ones."""
        await self._lines.close()

    def sampling(self, temperature: float | None = None) -> dict[str, Any]:
        """The sampling keys of a request. An endpoint whose own temperature is None is never sent another."""
        chosen = self.temperature if temperature is None else temperature
        keys = {"temperature": None if self.temperature is None else chosen, "max_tokens": self.max_tokens}
        return {key: value for key, value in keys.items() if value is not None}

    async def complete(self, messages: Messages, sampling: Mapping[str, Any] | None = None) -> Reply:
        """The model's reply; ``sampling`` replaces ``self.sampling()``.

        EndpointError when there is none to be had: Exhausted when all tries failed, Refused when the server will not answer it.
        """
        body = {"model": self.model, "messages": list(messages), **(self.sampling() if sampling is None else sampling)}
        line = await self._lines.get()
        async with line.slots:
            for tried in range(self.max_retries + 1):
                await self._wait_for_turn()
                outcome = await self._attempt(line.client, body)
                if isinstance(outcome, Reply):
                    return outcome
                if outcome.asked_wait_s > _LONGEST_WAIT_S:
                    raise Exhausted(f"{self.address}: {outcome.problem}; run it again in {outcome.asked_wait_s:.0f} s")
                if tried < self.max_retries:
                    self.retries += 1
                    backoff = min(self.backoff_s * 2**tried, _LONGEST_BACKOFF_S) * self._jitter.uniform(0.5, 1.5)
                    await asyncio.sleep(max(outcome.asked_wait_s, backoff))
        raise Exhausted(
            f"{self.address}: {outcome.problem}, in each of {self.max_retries + 1} tries; check that the server runs, then run "
            "the same command again"
        )

    @property
    def address(self) -> str:
        """``url`` without a password."""
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    async def _line(self) -> AsyncGenerator["_Line", None]:
        import httpx

        limits = httpx.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency)
        async with httpx.AsyncClient(timeout=None, limits=limits) as client:
            yield _Line(client, asyncio.Semaphore(self.concurrency))

    async def _wait_for_turn(self) -> None:
        if self.requests_per_minute is None:
            return
        now = time.monotonic()
        start = max(now, self._next_start)
        self._next_start = start + 60 / self.requests_per_minute
        if start > now:
            await asyncio.sleep(start - now)

    async def _attempt(self, client: "httpx.AsyncClient", body: Mapping[str, Any]) -> "Reply | _Passing":
        import httpx

        try:
            async with asyncio.timeout(self.timeout_s):
                response = await client.post(self.url, json=body, headers=self._headers())
        except TimeoutError:
            return _Passing(f"no reply within {self.timeout_s:g} s")
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
            raise EndpointError(f"{self.address}: cannot be called ({error}); check the base url") from error
        except httpx.RequestError as error:
            return _Passing(f"{type(error).__name__} ({error})")
        if response.status_code == 200:
            reply = _read(response)
            return reply or _Passing(f"status 200 with a body that is no chat completion: {self._shown(response)}")
        said = self._shown(response, _SAID)
        problem = f"status {response.status_code}: {said[:_EXCERPT]}"
        if may_pass(response.status_code):
            return _Passing(problem, asked_wait_s(response.headers.get("Retry-After", "")))
        cure = _CURES.get(response.status_code, "check the base url and what the server's documentation says of this status")
        cure = cure.format(variable=self.api_key_env, model=self.model)
        raise Refused(f"{self.address}: {problem}; {cure}", response.status_code, said)

    def _key(self) -> str:
        return os.environ.get(self.api_key_env, "").strip()

    def _headers(self) -> dict[str, str]:
        key = self._key()
        if not key.isascii() or not key.isprintable():
            raise EndpointError(f"environment variable {self.api_key_env}: holds characters that no key has; set it again")
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _shown(self, response: "httpx.Response", most: int = _EXCERPT) -> str:
        """The body's beginning on one line; some servers echo the key."""
        text = one_line(response.text)
        if key := self._key():
            text = text.replace(key, "***")
        return text[:most] or "(empty body)"


@dataclass(frozen=True)
class _Line:
    """What one event loop calls through."""

    client: "httpx.AsyncClient"
    slots: asyncio.Semaphore


@dataclass(frozen=True)
class _Passing:
    """A failure that may pass, and for how long the server asks to be left alone."""

    problem: str
    asked_wait_s: float = 0.0


def _check_url(url: str) -> None:
    expected = "an address like https://api.openai.com/v1 or http://127.0.0.1:8000/v1"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) and url.isprintable()
    except ValueError:
        usable = False
    if not usable:
        raise EndpointError(f"endpoint setting base_url: got {url!r}, expected {expected}")


def _read(response: "httpx.Response") -> Reply | None:
    try:
        body = response.json()
    except (ValueError, RecursionError):
        return None
    choices = body.get("choices") if isinstance(body, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict) or not isinstance(message.get("content"), str | None):
        return None
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    text = (message.get("content") or "").encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be sent back
    reason = first.get("finish_reason")
    return Reply(
        text,
        _count(counts.get("prompt_tokens")),
        _count(counts.get("completion_tokens")),
        reason if isinstance(reason, str) else None,
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
