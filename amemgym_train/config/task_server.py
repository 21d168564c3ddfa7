"""Servers that environments with a goal run on, in place of this process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from amemgym_train.config.base import Section
from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from amemgym_envs.core import TextEnv

Url = Annotated[str, Field(pattern=r"^https?://[^\s/]+")]


class TaskServerConfig(Section):
    """``urls`` of servers of the same environment; episodes are dealt to them in turn. ``protocol``: ``native`` (``amemgym-train
    serve``), or ``agentgym`` for a server of AgentGym's, whose tasks are numbers.

    ``timeout_s``: of one request. ``token_env`` names the environment variable that holds a native server's token.
    """

    urls: Annotated[list[Url], Field(min_length=1)]
    protocol: Literal["native", "agentgym"] = "native"
    timeout_s: float = Field(60, gt=0)
    token_env: str | None = Field(None, pattern=r"^[A-Za-z_]\w*$")

    def client(self, environment: str, number: int, max_steps: int | None) -> TextEnv:
        """The environment on the server that the ``number``-th episode is dealt to. UserError: the token is not there.
        ValueError: it is not an environment of that protocol."""
        from amemgym_envs.client import AgentGymEnv, RemoteEnv

        url = self.urls[number % len(self.urls)]
        if self.protocol == "agentgym":
            return AgentGymEnv(url, environment, max_steps=max_steps, timeout=self.timeout_s)
        token = None
        if self.token_env is not None:
            token = os.environ.get(self.token_env)
            if not token:
                raise UserError(f"tasks.server.token_env: {self.token_env} is not set; export it with the server's token")
        return RemoteEnv(url, environment, token=token, timeout=self.timeout_s)
