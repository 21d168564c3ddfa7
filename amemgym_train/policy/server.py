"""Answers by vLLM servers, in token ids: nothing that they drew is ever encoded again.

A call goes to the server that its group hashes to, so that a group's calls, which begin alike, meet in one prefix cache whatever
the timing. The draw's seed is that of ``LocalPolicy``; but what a server computes depends, in the last digits, on which calls it
has at the same time, and so a run through servers is no replay of another to the letter.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from amemgym_envs.amemgym.llm.transport import PerLoop
from amemgym_train.config.server import ServerConfig
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.policy import adapters, server_check
from amemgym_train.policy.base import Completion, Request
from amemgym_train.policy.encoding import check_length, encode, end_ids, generation_of, stream_seed
from amemgym_train.policy.replies import drawn
from amemgym_train.policy.wire import Passing, Refused, Server

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class ServerPolicy:
    """Answers with ``model`` (a folder or hub id, as ``references.resolve`` gives) and the adapter saved in ``adapter``.

    ``version`` names these weights. An adapter is loaded into a server when the first call needs it there, by ``use`` at once.
    Its folder must stay as it is while it is in use: a server that was restarted, or has too many adapters, reads it again.
    """

    def __init__(
        self,
        tokenizer: "PreTrainedTokenizerBase",
        config: ServerConfig,
        model: str,
        version: str = "base",
        adapter: str | Path | None = None,
        backoff_s: float = 1.0,
    ) -> None:
        self.tokenizer = tokenizer
        self.config = config
        self.version = version
        self.servers = [Server(url, model, config, backoff_s) for url in config.urls]
        self._adapter = None if adapter is None else adapters.adapter_of(version, adapter)
        self._end_ids = sorted(end_ids(tokenizer, generation_of(model)))
        self._sessions = PerLoop(self._live)

    def enter(self, episode: str) -> None:
        """Nothing: a server batches what it has, and waits for nobody."""

    def leave(self, episode: str) -> None:
        """Nothing."""

    def check(self, window: int = 0, rank: int = 0, folder: str | Path | None = None) -> None:
        """UserError, with the command to start it, unless every server can do all that is needed of it.

        ``window``: most tokens of a prompt and its reply; ``rank``: that of the adapters to come (0: none), which will lie under
        ``folder``. Every server is asked once: one that is still starting does not pass.
        """
        hello = encode(self.tokenizer, [{"role": "user", "content": "Hello!"}])
        for server in self.servers:
            server.window, server.rank = window, rank
            try:
                server_check.identify(server, tries=1)
                server_check.check_window(server)
                server_check.check_logprobs(server, hello, tries=1)
                if rank:
                    adapters.check_lora(server, folder, tries=1)
            except Passing as passing:
                raise server_check.unreachable(server, passing) from passing

    def use(self, version: str, folder: str | Path | None) -> None:
        """Answer with the adapter saved in ``folder`` (None: with the model alone) from now on; the one before is unloaded.

        Call it between rollouts. UserError, and nothing changes, when a server does not take it.
        """
        adapter = None if folder is None else adapters.adapter_of(version, folder)
        for server in self.servers if adapter is not None else ():
            try:
                adapters.load(server, adapter, server.tries)
            except Passing as passing:
                raise server_check.unreachable(server, passing) from passing
        before, self._adapter, self.version = self._adapter, adapter, version
        if before is not None and (adapter is None or adapter.name != before.name):
            self._unload(before)

    def release(self) -> None:
        """Unload the adapter in use; a call that needs it loads it again."""
        if self._adapter is not None:
            self._unload(self._adapter)

    async def complete(self, request: Request) -> Completion:
        """Unscorable when the server cannot be reached in all tries; UserError when it refuses, TooLong for the length."""
        server, session = self.server_of(request.episode), await self._sessions.get()
        prompt = encode(self.tokenizer, request.messages)
        check_length(request, len(prompt), server.max_model_len)
        async with session.slots[server.url]:
            ids, logprobs, reason = await self._answer(server, session, request, prompt)
        text = self.tokenizer.decode(ids, skip_special_tokens=True)
        return Completion(prompt, ids, logprobs, text, finish_reason=reason)

    def server_of(self, episode: str) -> Server:
        """The server of an episode (``environment/task/seed``), the same for all seeds."""
        digest = hashlib.sha256(episode.rpartition("/")[0].encode()).digest()
        return self.servers[int.from_bytes(digest[:8], "big") % len(self.servers)]

    async def _answer(
        self, server: Server, session: "_Session", request: Request, prompt: list[int]
    ) -> tuple[list[int], list[float], str]:
        body, adapter = self._body(request, prompt), self._adapter
        tried, restored = 0, False
        while True:
            seen = session.restored[server.url]
            name = adapter.name if adapter else server.base or server.model
            try:
                try:
                    reply = await server.complete(session.client, body | {"model": name})
                    return drawn(server, reply, request.sampling.max_new_tokens)
                except Refused as refused:
                    if refused.status == 400 and server.max_model_len is None:  # it was not asked yet
                        await asyncio.to_thread(server_check.identify, server, tries=1)
                        check_length(request, len(prompt), server.max_model_len)
                    if refused.status != 404 or restored:
                        raise _refusal(server, request, refused) from refused
                # a server that was restarted knows no adapter, and one not met before may call its model otherwise
                await self._restore(server, session, adapter, seen)
                restored = True
            except Passing as passing:
                tried, restored = tried + 1, False
                if tried == server.tries:
                    raise Unscorable(f"{server.url}: {passing}, the last of {tried} tries") from passing
                await asyncio.sleep(server.wait_s(tried - 1, passing))

    async def _restore(self, server: Server, session: "_Session", adapter: adapters.Adapter | None, seen: int) -> None:
        """Have ``server`` hold ``adapter`` again, unless another call has seen to it since ``seen``."""

        def restore() -> None:
            server_check.identify(server, tries=1)
            if adapter is not None:
                adapters.check_unchanged(adapter)
                adapters.load(server, adapter, tries=1)

        async with session.locks[server.url]:
            if session.restored[server.url] == seen:
                await asyncio.to_thread(restore)
                session.restored[server.url] += 1

    def _body(self, request: Request, prompt: list[int]) -> dict[str, Any]:
        """All but the model. What is left out would be taken from the model's own generation_config.json."""
        sampling = request.sampling
        return {
            "prompt": prompt,
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k or -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "seed": stream_seed(request),
            "stop_token_ids": self._end_ids,
            "logprobs": 0,  # of the drawn token alone
            "return_token_ids": True,
        }

    def _unload(self, adapter: adapters.Adapter) -> None:
        for server in self.servers:
            try:
                adapters.unload(server, adapter.name, tries=1)
            except Passing:  # one that is down has forgotten it
                continue

    async def _live(self) -> AsyncGenerator["_Session", None]:
        session = _Session(self.config)
        try:
            yield session
        finally:
            await session.client.aclose()


class _Session:
    """What belongs to one event loop. ``restored`` counts how often each server was given back what it had lost."""

    def __init__(self, config: ServerConfig) -> None:
        self.client = httpx.AsyncClient(timeout=None, limits=httpx.Limits(max_connections=None, max_keepalive_connections=None))
        self.slots = {url: asyncio.Semaphore(config.max_requests) for url in config.urls}
        self.locks = {url: asyncio.Lock() for url in config.urls}
        self.restored = dict.fromkeys(config.urls, 0)


def _refusal(server: Server, request: Request, refused: Refused) -> UserError:
    cure = {
        401: "Put a valid key into the environment variable that policy.server.api_key_env names",
        403: "The key that policy.server.api_key_env names may not use this model",
        404: "Another run may have unloaded its adapter, or policy.server.urls is wrong",
    }.get(refused.status, "A prompt that is too long needs a server with a larger --max-model-len, or the awi agent")
    return UserError(f"episode {request.episode}, {request.slot}: policy.server {server.url} refuses it ({refused}). {cure}")
