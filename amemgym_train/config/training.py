"""How a played batch of episodes becomes an adapter."""

from typing import Annotated, Literal

from pydantic import Field

from amemgym_train.config.base import Section

Trained = Literal["write", "read", "answer"]


class GRPOSettings(Section):
    """``grpo``: on-policy steps. Each plays its own episodes (scenarios.train.num_users x rollout.group_size) and updates once.

    ``surrogate``: clip (PPO's, with ``epsilon`` and ``epsilon_high``) or cispo; ``beta``: weight of the KL term towards the model
    without its adapter. ``max_logprob_gap``: mean difference in log-probability per token between the sampler and the trainer
    above which the run stops. ``save_steps``: steps between checkpoints (0: none). ``share_prefixes``: what rows of a micro-batch
    begin with is computed once (``training.prefix``), where the model's attention allows it.
    """

    steps: int = Field(8, ge=1)
    surrogate: Literal["clip", "cispo"] = "clip"
    epsilon: float = Field(0.2, gt=0)
    epsilon_high: float | None = Field(None, gt=0)
    beta: float = Field(0.0, ge=0)
    max_logprob_gap: float = Field(0.1, gt=0)
    save_steps: int = Field(1, ge=0)
    share_prefixes: bool = True


class TrainingConfig(Section):
    """``rft``: supervised fine-tuning on the best completions of each group (rejection sampling).

    ``batch_size`` rows per process and forward pass, times ``gradient_accumulation`` per optimiser step.
    ``keep_per_slot``: completions kept at most of a group's calls at one slot; ``max_rows``: rows in all (None: no bound).
    ``known_answers_only`` keeps an answer only when the probe shows that the agent knew the states it needs.
    ``warmup_ratio``: share of the steps during which the learning rate rises.
    """

    method: Literal["rft", "grpo"] = "rft"
    grpo: GRPOSettings = GRPOSettings()
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
