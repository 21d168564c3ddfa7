"""A chat model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from amemgym_train.config.base import Section
from amemgym_train.config.server import address

if TYPE_CHECKING:
    from amemgym_envs.amemgym.llm import Endpoint
    from amemgym_train.config.recipe import Recipe

EXPECTED = "an address like https://api.openai.com/v1 or http://127.0.0.1:8000/v1"


class ChatConfig(Section):
    """``model`` at ``<base_url>/chat/completions``.

    ``api_key_env`` names the environment variable that holds the key, which is read at each call and kept nowhere; unset means
    that none is sent. ``timeout_s``: for one try. ``retries``: further tries after one that met a lost connection, a timeout, a
    status 408, 409, 429 or 5xx, or a reply that is no chat completion. ``concurrency``: calls in flight. ``requests_per_minute``:
    tries begun, evenly spread. ``cache``: a file that keeps every reply, so that nothing is asked twice. ``price_in`` and
    ``price_out``: per million tokens, in any currency. ``max_tokens_key``: what the model calls the limit of a reply; ``omit``:
    sampling keys that it does not take.
    """

    base_url: str
    model: str = Field(min_length=1)
    api_key_env: str = Field("OPENAI_API_KEY", pattern=r"^[A-Za-z_]\w*$")
    timeout_s: float = Field(120, gt=0)
    retries: int = Field(6, ge=0)
    concurrency: int = Field(32, ge=1)
    requests_per_minute: int | None = Field(None, ge=1)
    cache: str | None = Field(None, min_length=1)
    price_in: float | None = Field(None, ge=0)
    price_out: float | None = Field(None, ge=0)
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    omit: tuple[Literal["temperature", "top_p", "seed", "max_tokens"], ...] = ()

    @field_validator("base_url")
    @classmethod
    def _address(cls, url: str) -> str:
        return address(url, EXPECTED).removesuffix("/chat/completions")

    @model_validator(mode="after")
    def _both_prices(self) -> ChatConfig:
        if (self.price_in is None) != (self.price_out is None):
            raise ValueError("price_in and price_out make a cost together; set the other one too")
        return self

    def endpoint(self, backoff_s: float = 0.5) -> Endpoint:
        from amemgym_envs.amemgym.llm import Endpoint

        return Endpoint(
            self.base_url,
            self.model,
            self.api_key_env,
            concurrency=self.concurrency,
            timeout_s=self.timeout_s,
            max_retries=self.retries,
            price_in=self.price_in,
            price_out=self.price_out,
            backoff_s=backoff_s,
            requests_per_minute=self.requests_per_minute,
        )

    def sampling(self, max_tokens: int, temperature: float, top_p: float, seed: int) -> dict[str, int | float]:
        """The sampling keys of a request. A greedy one has no seed: it would tell apart requests that are the same."""
        keys: dict[str, int | float] = {"max_tokens": max_tokens, "temperature": temperature}
        if temperature > 0:
            keys |= {"seed": seed} | ({"top_p": top_p} if top_p < 1 else {})
        return {self.max_tokens_key if key == "max_tokens" else key: v for key, v in keys.items() if key not in self.omit}


def problems(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Keys that do not go together with a chat endpoint: each with what is wrong with it."""
    if recipe.policy.chat is None:
        return
    if recipe.policy.server is not None:
        yield "policy.server", "policy.chat answers already, and only one of them can; remove one"
    if recipe.policy.adapter is not None:
        yield "policy.adapter", "policy.chat answers, and a chat endpoint takes no adapter; remove one"
    if recipe.sampling.top_k:
        yield "sampling.top_k", "policy.chat answers, and chat endpoints take no top_k; set it to 0"
