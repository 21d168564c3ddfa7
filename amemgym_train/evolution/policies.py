"""Who answers in a stage: a model in this process, or the recipe's vLLM servers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from amemgym_train.config.recipe import Recipe
from amemgym_train.evolution import ranks
from amemgym_train.policy.base import Policy

if TYPE_CHECKING:
    from amemgym_train.policy.local import LocalPolicy
    from amemgym_train.policy.server import ServerPolicy


@contextmanager
def answering(recipe: Recipe, adapter: str | Path | None, version: str | None = None) -> Iterator[Policy]:
    """The recipe's model with the adapter saved in ``adapter``; a server forgets the adapter afterwards.

    UserError: the adapter or the model cannot be read, or a server cannot do what the recipe needs.
    """
    if recipe.policy.server is None:
        yield local_policy(recipe, adapter, version)
        return
    policy = server_policy(recipe, adapter, version)
    yield policy  # not released when a stage fails: another process may still be answering with it
    ranks.wait()
    policy.release()


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
