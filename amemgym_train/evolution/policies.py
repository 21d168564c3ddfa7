"""Who answers in a stage: a model in this process, the recipe's vLLM servers, or a chat endpoint."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evaluation.users import speaker
from amemgym_train.evolution import ranks
from amemgym_train.policy.base import Policy
from amemgym_train.policy.chat import chat_policy
from amemgym_train.reflection.reflectors import REFLECTOR

if TYPE_CHECKING:
    from amemgym_envs.amemgym.llm import Usage
    from amemgym_envs.amemgym.llm.simulator import Speaker
    from amemgym_train.policy.local import LocalPolicy
    from amemgym_train.policy.server import ServerPolicy


@contextmanager
def answering(recipe: Recipe, adapter: str | Path | None, version: str | None = None) -> Iterator[Policy]:
    """The recipe's model with the adapter saved in ``adapter``; a server forgets the adapter afterwards.

    What chat models have cost by then is told on standard error.

    UserError: the adapter or the model cannot be read, or a server cannot do what the recipe needs.
    """
    try:
        if recipe.policy.chat is not None:
            if adapter is not None:
                raise UserError(f"policy.chat answers, and a chat endpoint takes no adapter; leave {adapter} out")
            yield chat_policy(recipe.policy.chat)
        elif recipe.policy.server is not None:
            policy = server_policy(recipe, adapter, version)
            yield policy  # not released when a stage fails: another process may still be answering with it
            ranks.wait()
            policy.release()
        else:
            yield local_policy(recipe, adapter, version)
    finally:
        for key, chat in _chats(recipe).items():
            print(f"{key}: {chat.line()}", file=sys.stderr)


def totals(recipe: Recipe) -> dict[str, Any]:
    """What the recipe's chat models have cost so far in this process, as JSON values; nothing for a recipe without one."""
    names = {"policy.chat": "usage", "scenarios.user": "user_simulator", REFLECTOR: "reflector"}
    return {names[key]: chat.to_dict() for key, chat in _chats(recipe).items()}


def check_trains(recipe: Recipe) -> None:
    """UserError when what answers cannot learn what the recipe wants it to."""
    if recipe.policy.chat is not None and recipe.training.method != "none":
        raise UserError(
            f"policy.chat: {recipe.policy.chat.model} gives no token ids and takes no adapter, so nothing can be trained on its "
            "replies. Score it with: amemgym-train evaluate, evolve its prompts alone with training.method=none, or set "
            "policy.chat=null"
        )


def _chats(recipe: Recipe) -> "dict[str, Usage | Speaker]":
    """By their keys in the recipe."""
    chat, user = recipe.policy.chat, recipe.scenarios.user
    found: dict[str, Usage | Speaker] = {} if chat is None else {"policy.chat": chat_policy(chat).usage}
    if user is not None:
        found["scenarios.user"] = speaker(user)
    reflector = recipe.reflection.reflector.chat
    if reflector is not None and recipe.reflection.asks:
        found[REFLECTOR] = chat_policy(reflector, REFLECTOR).usage
    return found


def local_policy(recipe: Recipe, adapter: str | Path | None, version: str | None = None) -> "LocalPolicy":
    """The recipe's model in this process."""
    from amemgym_train.policy.local import LocalPolicy
    from amemgym_train.policy.references import load
    from amemgym_train.training.lora import check_adapter, load_adapter

    if adapter is not None:
        check_adapter(adapter)
    model, tokenizer = load(recipe.policy.model, recipe.policy.dtype, ranks.device())
    if adapter is not None:
        model = load_adapter(model, adapter)
    return LocalPolicy(model, tokenizer, version or named(adapter), recipe.policy.max_batch_size)


def server_policy(recipe: Recipe, adapter: str | Path | None, version: str | None = None) -> "ServerPolicy":
    """The recipe's servers, asked whether they serve its model, and adapters where it has or trains some."""
    from amemgym_train.policy.adapters import adapter_of
    from amemgym_train.policy.references import load_tokenizer, resolve
    from amemgym_train.policy.server import ServerPolicy

    tokenizer, folder = load_tokenizer(recipe.policy.model), recipe.run_dir
    rank = recipe.policy.lora.r if adapter is None else adapter_of("asked", adapter).rank
    policy = ServerPolicy(tokenizer, recipe.policy.server, resolve(recipe.policy.model), version or named(adapter), adapter)
    evolving = folder.is_dir()  # else a command that only plays, and needs no adapters if it was given none
    policy.check(rank=rank if adapter or evolving else 0, folder=folder if evolving else None)
    return policy


def named(adapter: str | Path | None) -> str:
    """The version of weights that have no better name."""
    return str(adapter) if adapter else "base"
