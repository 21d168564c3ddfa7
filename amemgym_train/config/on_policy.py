"""How on-policy methods turn the episodes that they play into updates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from amemgym_train.config.base import Section

if TYPE_CHECKING:
    from amemgym_train.config.recipe import Recipe


class OnPolicySettings(Section):
    """A step plays its own episodes (scenarios.train.num_users x rollout.group_size) with the weights as they are by then.

    It goes ``epochs`` times over their calls, in ``minibatches`` updates each. ``epsilon``, ``epsilon_high`` (None: the same):
    how far a token's probability may move down and up in a step's updates before it stops to count. ``max_logprob_gap``: mean
    difference in log-probability per token between the sampler and the trainer above which the run stops. ``save_steps``: steps
    between checkpoints (0: none). ``share_prefixes``: what rows of a micro-batch begin with is computed once
    (``training.prefix``), where the model's attention allows it.
    """

    steps: int = Field(8, ge=1)
    epochs: int = Field(1, ge=1)
    minibatches: int = Field(1, ge=1)
    epsilon: float = Field(0.2, gt=0)
    epsilon_high: float | None = Field(None, gt=0)
    max_logprob_gap: float = Field(0.1, gt=0)
    save_steps: int = Field(1, ge=0)
    share_prefixes: bool = True

    @property
    def updates(self) -> int:
        """Optimiser steps that follow each step's episodes."""
        return self.epochs * self.minibatches


class GRPOSettings(OnPolicySettings):
    """``grpo``, ``dr_grpo``, ``rloo``, ``reinforce_pp``: a step updates once, unless ``epochs`` or ``minibatches`` say otherwise.

    ``surrogate``: clip (PPO's, with ``epsilon`` and ``epsilon_high``) or cispo; ``beta``: weight of the KL term towards the model
    without its adapter.
    """

    surrogate: Literal["clip", "cispo"] = "clip"
    beta: float = Field(0.0, ge=0)


class PPOSettings(OnPolicySettings):
    """``ppo``: a critic says what a call is worth.

    ``gamma_turn``, ``lambda_turn``: discount and trace of advantages over the turns of an episode (``credit.gae``). With 1 a call
    is paid for all that follows it, as credit.scheme outcome needs; with 0 for itself alone, and operation, which pays a call for
    what it could cause, needs no more. ``level``: turn, one value and one advantage per call, or token, values and advantages
    inside a call as well, by ``gamma_token`` and ``lambda_token``. ``whiten``: advantages of a step to mean 0 and deviation 1.

    ``value_coef``: weight of the critic's loss; ``value_clip``: how far a value may move in a step's updates before it stops to
    count (None: any far), both in deviations of the returns; ``value_learning_rate``: that of the critic's own
    weights; ``value_trunk``: whether the critic's loss trains the policy's adapter, too (shared), the head alone (detached), or
    a second adapter that is the critic's own (adapter).

    ``kl``: towards the model without its adapter, off the rewards (reward), or as a term of the loss (loss), times ``kl_coef``.
    ``kl_target``: the mean of that KL per token, in nats, to which ``kl_coef`` is steered from step to step. ``max_kl``: the mean
    KL per token from the policy that played a step at which that step's further updates are left out.
    """

    surrogate: ClassVar[str] = "clip"
    epochs: int = Field(2, ge=1)
    minibatches: int = Field(2, ge=1)
    gamma_turn: float = Field(1.0, ge=0, le=1)
    lambda_turn: float = Field(0.95, ge=0, le=1)
    level: Literal["turn", "token"] = "turn"
    gamma_token: float = Field(1.0, ge=0, le=1)
    lambda_token: float = Field(0.95, ge=0, le=1)
    whiten: bool = True
    value_coef: float = Field(0.5, gt=0)
    value_clip: float | None = Field(0.2, gt=0)
    value_learning_rate: float = Field(1e-3, gt=0)
    value_trunk: Literal["shared", "detached", "adapter"] = "shared"
    kl: Literal["none", "reward", "loss"] = "none"
    kl_coef: float = Field(0.05, gt=0)
    kl_target: float | None = Field(None, gt=0)
    max_kl: float | None = Field(None, gt=0)


def problems(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Keys that PPO does not look at though the recipe changes them, or cannot do with: each with what is wrong with it."""
    if recipe.training.method != "ppo":
        return
    if recipe.sampling.temperature == 0:
        yield "sampling.temperature", "0 is greedy, and a policy that never varies learns nothing from itself; set it above 0"
    settings = recipe.training.ppo
    if settings.value_trunk == "adapter" and recipe.training.gradient_checkpointing:
        yield (
            "training.gradient_checkpointing",
            "computes a forward again in the backward, by when the critic's adapter is not the active one; set it to false, or "
            "training.ppo.value_trunk to shared or detached",
        )
    if settings.gamma_turn == 0:
        if recipe.credit.scheme == "outcome":
            yield "training.ppo.gamma_turn", "0 leaves what credit.scheme outcome pays at the last call; set it above 0"
        for name in _changed(settings, "lambda_turn"):
            yield f"training.ppo.{name}", "has no effect with training.ppo.gamma_turn 0; remove it, or set gamma_turn above 0"
    if settings.level == "turn":
        for name in _changed(settings, "gamma_token", "lambda_token"):
            yield f"training.ppo.{name}", "has no effect with training.ppo.level turn; remove it, or set the level to token"
    if settings.kl == "none":
        for name in _changed(settings, "kl_coef", "kl_target"):
            yield f"training.ppo.{name}", "has no effect with training.ppo.kl none; remove it, or set kl to reward or loss"


def _changed(section: Section, *names: str) -> list[str]:
    return [name for name in names if getattr(section, name) != type(section).model_fields[name].default]
