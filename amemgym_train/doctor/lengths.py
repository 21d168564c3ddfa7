"""Whether calls fit: right replies into ``agent.max_new_tokens``, and prompts with their replies into the model's window."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.calls import Call, longest_call, longest_replies, right_calls
from amemgym_train.doctor.finding import Finding, green, red, yellow

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NAME = "lengths"
SHOWN = 60  # characters of a reply


def lengths(recipe: Recipe) -> list[Finding]:
    """Measured on an episode in which everything is right: a reply that is cut off there can hardly be learned.

    A window is that of the model in this process; those of servers are theirs to say.
    """
    if recipe.policy.chat is not None:
        return [green(NAME, "the chat endpoint counts tokens in its own way")]
    from amemgym_train.policy.references import outline

    found, calls = outline(recipe.policy.model, recipe.policy.dtype), right_calls(recipe)
    if found is None:
        return [yellow(NAME, "not checked because the model is not on this machine yet")]
    model, tokenizer = found
    room = None if recipe.policy.server else getattr(model.config, "max_position_embeddings", None)
    problems = [*_cut(recipe, longest_replies(calls, tokenizer)), *_over(recipe, calls, tokenizer, room)]
    return problems or [green(NAME, _told(recipe, calls, tokenizer, room))]


def _cut(recipe: Recipe, replies: dict[str, tuple[int, str]]) -> Iterator[Finding]:
    for operation, (tokens, text) in replies.items():
        limit = getattr(recipe.agent.max_new_tokens, operation)
        if tokens > limit:
            key, shown = f"agent.max_new_tokens.{operation}", text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
            cut = f"a right {operation} has {tokens} tokens ({shown}), {key} is {limit}: it would be cut off"
            yield yellow(NAME, cut, f"{key}={tokens}")


def _over(recipe: Recipe, calls: list[Call], tokenizer: "PreTrainedTokenizerBase", room: int | None) -> Iterator[Finding]:
    """The native agent leaves out the oldest messages, as its design is; the others would lose what they are to note."""
    most = longest_call(recipe, calls, tokenizer)
    if room is not None and most > room:
        over = f"the longest call needs {most} tokens, {recipe.policy.model} has a window of {room}: what is oldest is left out"
        level = yellow if recipe.agent.name == "native" else red
        yield level(NAME, over, "policy.model=NAME of one with a longer window, or fewer agent.update_bsz and agent.local_length")


def _told(recipe: Recipe, calls: list[Call], tokenizer: "PreTrainedTokenizerBase", room: int | None) -> str:
    limits, replies = recipe.agent.max_new_tokens, longest_replies(calls, tokenizer)
    shares = ", ".join(f"{operation} {tokens} of {getattr(limits, operation)}" for operation, (tokens, _) in replies.items())
    window = "" if room is None else f", the window has {room}"
    return f"right replies take, in tokens: {shares}; the longest call needs {longest_call(recipe, calls, tokenizer)}{window}"
