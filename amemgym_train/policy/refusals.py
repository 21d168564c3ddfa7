"""What a failed call to a chat endpoint means for whoever made it."""

import re

from amemgym_envs.amemgym.llm import EndpointError, Exhausted, Refused
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.policy.base import TooLong

_CURES = {  # what the endpoint's own message does not know: the recipe's keys
    400: "; see omit and max_tokens_key there for a sampling key that the model does not take",
    422: "; see omit and max_tokens_key there for a sampling key that the model does not take",
}
# The wordings are those of OpenAI, Anthropic, Google, Mistral, vLLM and llama.cpp.
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|(?:maximum|model's) context length|context (?:window|size)"
    r"|prompt is too long|token count .*exceeds|maximum input length",
    re.IGNORECASE,
)
_NUMBER = r"(\d[\d,]*)"
_TOKENS = (
    rf"\({_NUMBER} in (?:the|your) (?:messages|prompt|input)",
    rf"resulted in {_NUMBER} tokens",
    rf"(?:has|passed|contains|request) \(?{_NUMBER} (?:input )?tokens",
    rf"too long: {_NUMBER} tokens",
    rf"token count \(?{_NUMBER}",
)
_WINDOW = (
    rf"context length(?: is| of)?(?: only)? {_NUMBER}",
    rf"context size \({_NUMBER}",
    rf"> {_NUMBER} maximum",
    rf"tokens allowed \(?{_NUMBER}",
    rf"limit of {_NUMBER} tokens",
    rf"with {_NUMBER} maximum context",
)


def failure(key: str, call: str, error: EndpointError, max_new_tokens: int) -> Unscorable | UserError:
    """The error to raise for ``error``, which ended ``call`` (its episode and slot) to the endpoint of the recipe's ``key``."""
    text = f"{call}: {key} {error}"
    if isinstance(error, Exhausted):
        return Unscorable(text)
    if not isinstance(error, Refused):
        return UserError(text)
    if error.status in (400, 413, 422) and _TOO_LONG.search(error.said):
        return TooLong(text, *lengths(error.said, max_new_tokens))
    return UserError(text + _CURES.get(error.status, ""))


def lengths(said: str, max_new_tokens: int) -> tuple[int | None, int | None]:
    """The tokens of a prompt that is too long, and those that it may have; None for what ``said`` does not tell."""
    tokens, window = (_first(patterns, said) for patterns in (_TOKENS, _WINDOW))
    room = None if window is None else max(window - max_new_tokens, 0)
    if tokens is not None and room is not None and tokens <= room + 1:
        tokens = None  # vLLM stops counting one token behind the limit
    return tokens, room


def _first(patterns: tuple[str, ...], said: str) -> int | None:
    found = (re.search(pattern, said, re.IGNORECASE) for pattern in patterns)
    return next((int(match.group(1).replace(",", "")) for match in found if match), None)
