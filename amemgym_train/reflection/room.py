"""What a recipe and what answers allow a rewritten prompt: above all room in the window for what a call fills into it."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from amemgym_train.agents.templates import Prompt
from amemgym_train.config.reflection import PromptsConfig
from amemgym_train.policy.base import Policy
from amemgym_train.policy.encoding import encode
from amemgym_train.reflection.edits import Bounds
from amemgym_train.reflection.leaks import Secrets

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario

SHARE = 0.5  # of the window, at most, for what is the same in every call


def bounds_of(config: PromptsConfig, scenarios: "Iterable[Scenario]", policy: Policy) -> Bounds:
    """``scenarios``: the users whose secrets a prompt may not hold."""
    return Bounds(config.max_chars, Secrets(scenarios), config.leaks == "reject", partial(leaves_room, policy))


def leaves_room(policy: Policy, prompt: Prompt) -> bool:
    """True, too, where nothing is known of the window of what answers: servers and chat endpoints say it when they are asked."""
    model, tokenizer = getattr(policy, "model", None), getattr(policy, "tokenizer", None)
    window = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    if window is None or tokenizer is None:
        return True
    return len(encode(tokenizer, prompt.messages())) <= SHARE * window
