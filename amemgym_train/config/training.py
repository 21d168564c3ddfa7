"""How a played batch of episodes becomes an adapter."""

from typing import Annotated, Literal

from pydantic import Field

from amemgym_train.config.base import Section
from amemgym_train.config.on_policy import GRPOSettings, OnPolicySettings, PPOSettings

Trained = Literal["write", "read", "answer"]


class TrainingConfig(Section):
    """``rft``: supervised fine-tuning on the best completions of each group (rejection sampling); ``grpo`` and ``ppo``: on-policy
    steps, with the sections of those names.

    ``batch_size`` rows per process and forward pass, times ``gradient_accumulation`` per optimiser step.
    ``keep_per_slot``: completions kept at most of a group's calls at one slot; ``max_rows``: rows in all (None: no bound).
    ``known_answers_only`` keeps an answer only when the probe shows that the agent knew the states it needs.
    ``warmup_ratio``: share of the steps during which the learning rate rises.
    """

    method: Literal["rft", "grpo", "ppo"] = "rft"
    grpo: GRPOSettings = GRPOSettings()
    ppo: PPOSettings = PPOSettings()
    learning_rate: float = Field(2e-4, gt=0)
    epochs: int = Field(1, ge=1)
    batch_size: int = Field(8, ge=1)
    gradient_accumulation: int = Field(1, ge=1)
    max_rows: int | None = Field(None, ge=1)
    keep_per_slot: int = Field(1, ge=1)
    known_answers_only: bool = False
    operations: Annotated[list[Trained], Field(min_length=1)] = ["write", "read", "answer"]
    warmup_ratio: float = Field(0.05, ge=0, lt=1)
    max_grad_norm: float = Field(1.0, gt=0)
    gradient_checkpointing: bool = False
    scheduler: Literal["linear", "cosine", "constant_with_warmup"] = "linear"
    logging_steps: int = Field(10, ge=1)

    @property
    def on_policy(self) -> OnPolicySettings | None:
        """The section of the method, where it plays its own episodes while it trains."""
        return {"grpo": self.grpo, "ppo": self.ppo}.get(self.method)
