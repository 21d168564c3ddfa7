"""The vLLM servers that answer in place of a model in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from amemgym_train.config.base import Section

if TYPE_CHECKING:
    from amemgym_train.config.recipe import Recipe

EXPECTED = "an address like http://127.0.0.1:8000"


class ServerConfig(Section):
    """One or several servers of the same model; ``urls`` are kept without a trailing slash or /v1.

    ``timeout_s``: for one call, its time in the server's queue included. ``retries``: further tries after a call that met a lost
    connection, a timeout, or a status 429 or 5xx; with 8 a server may be away for about two and a half minutes. ``max_requests``:
    calls in flight per url and process. ``api_key_env`` names the environment variable that holds the key, which is read at each
    call and kept nowhere.
    """

    urls: Annotated[list[str], Field(min_length=1)]
    timeout_s: float = Field(600, gt=0)
    retries: int = Field(8, ge=0)
    max_requests: int = Field(128, ge=1)
    api_key_env: str | None = Field(None, pattern=r"^[A-Za-z_]\w*$")

    @field_validator("urls")
    @classmethod
    def _addresses(cls, urls: list[str]) -> list[str]:
        bare = [_bare(url) for url in urls]
        twice = sorted({url for url in bare if bare.count(url) > 1})
        if twice:
            raise ValueError(f"names {twice[0]} twice; give each server once")
        return bare


def _bare(url: str) -> str:
    return address(url, EXPECTED).removesuffix("/v1").rstrip("/")


def address(url: str, expected: str) -> str:
    """``url`` without a trailing slash. ValueError when it is none, or holds what must not be written down."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) and url.isprintable()
    except ValueError:
        usable = False
    if not usable or " " in url or parts.query or parts.fragment:
        raise ValueError(f'got "{url}", expected {expected}')
    if parts.username is not None or parts.password is not None:  # it would be written into the run's config.json
        raise ValueError("holds a user name or a password; remove it, and name the variable with the key in api_key_env")
    return url.rstrip("/")


def problems(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Keys that do not go together with a server: each with what is wrong with it."""
    sampling = recipe.sampling
    if recipe.policy.server is None or not recipe.training.on_policy:
        return
    for name, whole in (("top_k", 0), ("top_p", 1)):
        if getattr(sampling, name) != whole:
            yield (
                f"sampling.{name}",
                f"a vLLM server gives the log-probabilities after this cut, {recipe.training.method} needs those before it; "
                f"set it to {whole}",
            )
