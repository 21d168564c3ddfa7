"""How a played batch of episodes becomes an adapter."""

from typing import Annotated, Literal

from pydantic import Field

from amemgym_train.config.base import Section
from amemgym_train.config.on_policy import GRPOSettings, OnPolicySettings, PPOSettings

Trained = Literal["write", "read", "answer", "act"]
GROUPED = ("grpo", "dr_grpo", "rloo", "reinforce_pp")  # a call's baseline is what the others of its group earned


class DPOSettings(Section):
    """``dpo``: a pair is two replies to one prompt whose rewards differ by ``margin`` at least.

    ``beta``: how dearly leaving the policy that played is paid for; ``loss``: of a pair, by TRL's names (IPO, arXiv 2310.12036,
    holds back where pairs are sure); ``label_smoothing``: the share of pairs that may be the wrong way round.
    """

    margin: float = Field(0.5, gt=0)
    beta: float = Field(0.1, gt=0)
    loss: Literal["sigmoid", "ipo", "hinge"] = "sigmoid"
    label_smoothing: float = Field(0.0, ge=0, lt=0.5)


class TrainingConfig(Section):
    """``rft``: supervised fine-tuning on the best completions of each group (rejection sampling); ``dpo``: the best against the
    worst; ``grpo``, ``dr_grpo``, ``rloo``, ``reinforce_pp`` (all with the section ``grpo``) and ``ppo``: on-policy steps;
    ``none``: no weights are trained, prompts evolve alone (``reflection.prompts``).

    ``batch_size`` rows (dpo: pairs) per process and forward pass, times ``gradient_accumulation`` per optimiser step.
    ``keep_per_slot``: completions (dpo: pairs) kept at most of a group's calls at one slot; ``max_rows``: how many in all (None:
    no bound).
    ``known_answers_only`` keeps an answer only when the probe shows that the agent knew the states it needs.
    ``warmup_ratio``: share of the steps during which the learning rate rises. ``save_steps``: optimiser steps of rft and dpo
    between checkpoints, from which a killed training goes on (0: none); on-policy methods have their own.
    """

    method: Literal["rft", "dpo", "grpo", "dr_grpo", "rloo", "reinforce_pp", "ppo", "none"] = "rft"
    grpo: GRPOSettings = GRPOSettings()
    ppo: PPOSettings = PPOSettings()
    dpo: DPOSettings = DPOSettings()
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
    save_steps: int = Field(50, ge=0)

    @property
    def selects(self) -> bool:
        """Whether a rollout is played first, and what is trained on chosen from it."""
        return self.method in ("rft", "dpo")

    @property
    def on_policy(self) -> OnPolicySettings | None:
        """The section of the method, where it plays its own episodes while it trains."""
        return None if self.section is None else getattr(self, self.section)

    @property
    def section(self) -> Literal["grpo", "ppo"] | None:
        """Where the keys of an on-policy method are."""
        return "grpo" if self.method in GROUPED else "ppo" if self.method == "ppo" else None
