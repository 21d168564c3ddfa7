"""Answers by a chat model behind an OpenAI-compatible endpoint: texts without token ids, to play with and not to train on."""

from functools import cache
from pathlib import Path

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.llm import EndpointError, Journal, Usage, request_key
from amemgym_train.config.chat import ChatConfig
from amemgym_train.errors import UserError
from amemgym_train.policy.base import Completion, Request
from amemgym_train.policy.encoding import stream_seed
from amemgym_train.policy.refusals import failure

KEY = "policy.chat"
_SEEDS = 2**31  # not every server takes a larger one


class ChatPolicy:
    """Answers with the model that ``config`` names; ``version`` is its name, ``usage`` counts what it has cost so far.

    A cached reply is that to the same address, model, messages and sampling; above temperature 0 also to the same seed, episode
    and slot, so that different draws stay different. One event loop may use the policy after the other. ``key``: where the recipe
    names the endpoint, for messages.
    """

    def __init__(self, config: ChatConfig, backoff_s: float = 0.5, key: str = KEY) -> None:
        self.config, self.key = config, key
        self.version = config.model
        self.usage = Usage(config.endpoint(backoff_s))
        self.journal = opened(config, key)

    def enter(self, episode: str) -> None:
        """Nothing: an endpoint waits for nobody."""

    def leave(self, episode: str) -> None:
        """Nothing."""

    async def complete(self, request: Request) -> Completion:
        """Unscorable when the endpoint does not answer in all tries; UserError when it refuses, TooLong for the length.

        Each names the request's episode and slot.
        """
        endpoint, asked = self.usage.endpoint, request.sampling
        seed = stream_seed(request) % _SEEDS
        sampling = self.config.sampling(asked.max_new_tokens, asked.temperature, asked.top_p, seed)
        draw = [request.seed, request.episode, request.slot] if asked.temperature > 0 else []
        key = "" if self.journal is None else request_key(endpoint.address, endpoint.model, request.messages, sampling, draw)
        try:
            reply = await self.usage.reply(request.messages, sampling, self.journal, key)
        except EndpointError as error:
            call = f"episode {request.episode}, {request.slot}"
            raise failure(self.key, call, error, asked.max_new_tokens) from error
        except ScenarioError as error:  # the cache cannot be written
            raise UserError(f"{self.key}.cache: {error}") from error
        return Completion([], [], [], reply.text, "length" if reply.finish_reason == "length" else "stop")


@cache
def chat_policy(config: ChatConfig, key: str = KEY) -> ChatPolicy:
    """The one policy of this process for ``config``, whose usage adds up over everything that is asked."""
    return ChatPolicy(config, key=key)


def opened(config: ChatConfig, key: str) -> Journal | None:
    """The cache of the endpoint under the recipe's ``key``, if it has one. UserError when the file cannot be read."""
    try:
        return None if config.cache is None else Journal(Path(config.cache))
    except ScenarioError as error:
        raise UserError(f"{key}.cache: {error}") from error
