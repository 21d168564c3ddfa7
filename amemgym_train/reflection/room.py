"""Whether a prompt leaves a model's window enough room for what a call fills into it."""

from amemgym_train.agents.templates import Prompt
from amemgym_train.policy.base import Policy
from amemgym_train.policy.encoding import encode

SHARE = 0.5  # of the window, at most, for what is the same in every call


def leaves_room(policy: Policy, prompt: Prompt) -> bool:
    """True, too, where nothing is known of the window of what answers: servers and chat endpoints say it when they are asked."""
    model, tokenizer = getattr(policy, "model", None), getattr(policy, "tokenizer", None)
    window = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    if window is None or tokenizer is None:
        return True
    return len(encode(tokenizer, prompt.messages())) <= SHARE * window
