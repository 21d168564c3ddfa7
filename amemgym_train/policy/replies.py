"""What a vLLM server drew, read from its reply and checked: token ids, one log-probability each, why it ended."""

import math
from typing import Any

from amemgym_train.errors import UserError
from amemgym_train.policy.wire import Passing, Server

NEEDED = "expected what vLLM 0.31 gives"


def drawn(server: Server, reply: dict[str, Any], limit: int) -> tuple[list[int], list[float], str]:
    """Token ids (an end token included when drawn), log-probabilities, and stop | length.

    Passing: the reply holds no completion, or one that the server broke off. UserError: a completion that cannot be used, since
    its ids, at most ``limit``, or its log-probabilities are missing, do not match, or are none.
    """
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise Passing(f"a reply without a completion, with the keys {', '.join(map(str, reply)) or '(none)'}")
    reason = choice.get("finish_reason")
    if reason not in ("stop", "length"):  # "abort" when the server shuts down
        raise Passing(f"a completion that ended by {reason!r}")
    ids, logprobs = choice.get("token_ids"), choice.get("logprobs")
    values = logprobs.get("token_logprobs") if isinstance(logprobs, dict) else None
    if not isinstance(ids, list) or not all(type(i) is int and i >= 0 for i in ids):
        raise _unusable(server, f"gives a completion without token_ids (got {_brief(ids)})")
    if not isinstance(values, list) or not all(type(value) in (int, float) and math.isfinite(value) for value in values):
        raise _unusable(server, f"gives a completion without token_logprobs (got {_brief(values)})")
    if not 0 < len(ids) == len(values) <= limit:
        raise _unusable(
            server, f"gives {len(ids)} token_ids and {len(values)} token_logprobs where at most {limit} tokens were asked for"
        )
    return ids, [float(value) for value in values], reason


def _unusable(server: Server, what: str) -> UserError:
    return UserError(f"policy.server {server.url}: {what}; {NEEDED}. Start it with: {server.start_command()}")


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
