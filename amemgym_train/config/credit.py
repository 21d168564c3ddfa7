"""How rewards are given to single LLM calls, and how they become advantages and weights of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, field_validator

from amemgym_train.config.base import Section
from amemgym_train.config.training import Trained
from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from amemgym_train.config.recipe import Recipe

BUILT_IN = ("outcome", "operation", "blend", "return")
NAMED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


class CreditConfig(Section):
    """``scheme``: "operation" pays a call for what it could cause, "outcome" pays every call with the episode's accuracy, "blend"
    sums the two (``operation_share`` of the first). In environments with a goal "outcome" is the episode's score, and "return"
    what its rewards sum up to from a call's step on, those of later steps times ``discount`` each.
    "package.module:function" names a function of one's own, see ``credit.rewards``.

    ``format_penalty``: off a write that cannot be read; ``retention_penalty``: off a write for each known state that it lost.
    ``operations``: the kinds of calls that are paid, and so trained. ``loss``: how an episode's weight is spread over its tokens,
    see ``credit.rows``; where a recipe does not say it, training.method dr_grpo makes it dr_grpo. ``scale_by_std`` (grpo): divide
    by the spread of a slot, as the GRPO paper does. Off by default: it favours slots that are nearly always or nearly never right
    (Dr. GRPO, arXiv 2503.20783), and where the calls of a slot differ by a small penalty only it would blow that up to the size
    of right against wrong.
    """

    scheme: str = "operation"
    operation_share: float = Field(0.5, gt=0, lt=1)
    discount: float = Field(1.0, ge=0, le=1)
    format_penalty: float = Field(0.2, ge=0)
    retention_penalty: float = Field(0.2, ge=0)
    operations: Annotated[list[Trained], Field(min_length=1)] = ["write", "read", "answer"]
    loss: Literal["grpo", "dapo", "dr_grpo"] = "grpo"
    scale_by_std: bool = False

    @field_validator("scheme")
    @classmethod
    def _named(cls, scheme: str) -> str:
        if scheme not in BUILT_IN and not NAMED.fullmatch(scheme):
            raise ValueError(
                f'got "{scheme}", expected {", ".join(BUILT_IN)}, or a function of your own as package.module:function'
            )
        return scheme


def problems(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Keys of ``credit`` that do not go together, or not with the rest of the recipe: each with what is wrong with it."""
    from amemgym_train.credit.rewards import resolve

    credit = recipe.credit
    if len(set(credit.operations)) < len(credit.operations):
        yield "credit.operations", f"{', '.join(credit.operations)} names one twice"
    yield from _without_effect(credit)
    try:
        resolve(credit)
    except UserError as error:
        yield "credit.scheme", str(error).removeprefix("credit.scheme: ")
    method = recipe.training.method
    if credit.scale_by_std and method not in ("rft", "grpo"):
        yield "credit.scale_by_std", f"only grpo divides by a slot's spread, training.method is {method}; set it to false"
    if method == "rft":  # takes no rewards
        return
    if set(credit.operations) == {"write"} and not recipe.agent.makes_writes:
        never = f"the {recipe.agent.name} agent never makes a write call"
        yield "credit.operations", f"{never}; add read or answer, or set agent.name to awi"
    if recipe.rollout.group_size < 2 and method != "ppo":  # whose baseline is a critic
        why = "pairs the replies of" if method == "dpo" else "compares"
        yield "rollout.group_size", f"{method} {why} the episodes of a group, and one alone teaches nothing; set it to 2 or more"


def _without_effect(credit: CreditConfig) -> Iterator[tuple[str, str]]:
    """A key that was changed but that nothing looks at: a function of one's own may look at all of them."""
    changed = {name for name, field in CreditConfig.model_fields.items() if getattr(credit, name) != field.default}
    others = " and ".join(credit.operations)
    penalties = sorted(changed & {"format_penalty", "retention_penalty"})
    if credit.scheme in BUILT_IN and credit.scheme != "blend" and "operation_share" in changed:
        yield "credit.operation_share", f"has no effect with credit.scheme {credit.scheme}; remove it, or set the scheme to blend"
    if credit.scheme in BUILT_IN and credit.scheme != "return" and "discount" in changed:
        yield "credit.discount", f"has no effect with credit.scheme {credit.scheme}; remove it, or set the scheme to return"
    if credit.scheme in ("outcome", "return"):
        for name in penalties:
            yield f"credit.{name}", f"has no effect with credit.scheme {credit.scheme}; remove it, or set operation or blend"
    elif credit.scheme in BUILT_IN and "write" not in credit.operations:
        for name in penalties:
            yield f"credit.{name}", f"is taken off writes, but credit.operations has only {others}; remove it, or add write"
