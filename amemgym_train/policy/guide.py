"""Policies that need no model, in environments with a goal: one that knows the solution, and one that draws actions."""

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from amemgym_train.agents.actions import Style, written
from amemgym_train.errors import UserError
from amemgym_train.policy.base import Request
from amemgym_train.policy.oracle import ScriptedPolicy

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from amemgym_envs.tasks import TaskEnv


class GuidePolicy(ScriptedPolicy):
    """Replies with what the environment's own expert does next (``oracle``), or with a ``random`` action of its grammar.

    ``environment()``: the one that the episode is played in. A draw depends on the seeds and on its request's episode and slot.
    UserError: the environment has no expert, or draws no actions.
    """

    def __init__(
        self,
        environment: "Callable[[], TaskEnv]",
        name: str,
        style: Style,
        seed: int = 0,
        tokenizer: "PreTrainedTokenizerBase | None" = None,
    ) -> None:
        super().__init__(tokenizer)
        self.environment, self.version, self.style, self.seed = environment, name, style, seed

    def reply(self, request: Request) -> str:
        environment = self.environment()
        try:
            action = environment.expert() if self.version == "oracle" else environment.random_action(self._draw(request))
        except NotImplementedError as error:
            raise UserError(f"evaluation.controls: {self.version} cannot play ({error}); leave it out") from error
        return written(action, self.style)

    def _draw(self, request: Request) -> np.random.Generator:
        key = f"{self.seed}/{request.seed}/{request.episode}/{request.slot}"
        return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"))
