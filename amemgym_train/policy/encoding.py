"""What every engine must agree on, so that a call is the same wherever it is answered: prompt ids, end tokens, random stream."""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from amemgym_train.errors import UserError
from amemgym_train.policy.base import Messages, Request, TooLong

if TYPE_CHECKING:
    from transformers import GenerationConfig, PreTrainedTokenizerBase


def encode(tokenizer: "PreTrainedTokenizerBase", messages: Messages) -> list[int]:
    """Prompt ids of a conversation, the assistant's turn opened."""
    return encode_all(tokenizer, [messages])[0]


def encode_all(tokenizer: "PreTrainedTokenizerBase", conversations: Sequence[Messages]) -> list[list[int]]:
    """Prompt ids of each conversation: of all at once, and of equal ones (a group's first calls) once."""
    keys = [tuple((message["role"], message["content"]) for message in messages) for messages in conversations]
    distinct = dict(zip(keys, conversations, strict=True))
    options = {"add_generation_prompt": True, "tokenize": True, "return_dict": False}
    ids = dict(zip(distinct, tokenizer.apply_chat_template(list(distinct.values()), **options), strict=True))
    return [list(ids[key]) for key in keys]


def check_length(request: Request, tokens: int, window: int | None) -> None:
    """TooLong when a prompt of ``tokens`` and the longest reply to it do not fit ``window`` (None: nothing is known of one)."""
    new = request.sampling.max_new_tokens
    if window is not None and tokens + new > window:
        raise TooLong(
            f"episode {request.episode}, {request.slot}: a prompt of {tokens} tokens and up to {new} new ones do not fit the "
            f"model's window of {window} (of a vLLM server: --max-model-len), and nothing of the past is left to leave out. Use "
            "a model with a longer one",
            tokens,
            window - new,
        )


def most_tokens(messages: Messages) -> int:
    """No fewer than a prompt of ``messages`` has: a token of text is a byte at least, and a template spends few on a message."""
    return sum(len(message["content"].encode("utf-8", "replace")) + 64 for message in messages)


def end_ids(tokenizer: "PreTrainedTokenizerBase", generation: "GenerationConfig") -> set[int]:
    """The tokens that end a reply: the model's own and the tokenizer's."""
    eos = generation.eos_token_id
    ids = set(eos) if isinstance(eos, list) else {eos}
    return (ids | {tokenizer.eos_token_id}) - {None}


def generation_of(model: str) -> "GenerationConfig":
    """The generation settings that a model's folder or hub id comes with. UserError when it cannot be read."""
    from transformers import AutoConfig, GenerationConfig

    try:
        return GenerationConfig.from_pretrained(model)
    except OSError:  # saved without them; then ``from_pretrained`` of the model makes them up in this way
        try:
            return GenerationConfig.from_model_config(AutoConfig.from_pretrained(model))
        except (OSError, ValueError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise UserError(f"policy.model: cannot read the configuration of {model!r} ({reason})") from error


def stream_seed(request: Request) -> int:
    """The seed of a request's random stream (56 bits): a hash of its seed, episode and slot."""
    key = f"{request.seed}\n{request.episode}\n{request.slot}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:7], "big")
