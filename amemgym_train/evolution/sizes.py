"""How large the recipe's model and its adapter are, without loading weights."""

from pathlib import Path
from typing import Any

from amemgym_train.config.recipe import Recipe
from amemgym_train.evolution import ranks

TRAINED = 16  # bytes of an adapter's parameter: itself, its gradient and AdamW's two moments, in float32
SHARED = (0, 8, 12, 16)  # how many of them the processes share, by ZeRO stage: the moments, and the gradient, and all


def model_sizes(recipe: Recipe) -> dict[str, Any]:
    """Parameters, and bytes on each process while it trains; only the name where nothing of the model is on this machine yet."""
    from amemgym_train.policy.references import outline

    if recipe.policy.chat is not None:
        return {"name": recipe.policy.chat.model, "at_hand": False}
    found = outline(recipe.policy.model, recipe.policy.dtype)
    if found is None:
        return {"name": recipe.policy.model, "at_hand": False}
    model, _ = found
    size, (_, stage), processes = model.num_parameters(), ranks.sharing(), ranks.count()
    whole = size * model.dtype.itemsize
    held = whole // processes if stage == 3 else whole
    trained = trained_parameters(recipe, model)
    return {
        "name": recipe.policy.model,
        "at_hand": True,
        "class": type(model).__name__,
        "parameters": size,
        "bytes": held,
        "bytes_playing": whole if recipe.policy.server is None else held,
        "adapter_parameters": trained,
        "adapter_bytes": trained * (TRAINED - SHARED[stage]) + trained * SHARED[stage] // processes,
    }


def trained_parameters(recipe: Recipe, model: Any) -> int:
    """Those of the adapter (and of the critic's own, if it has one) that the recipe trains on ``model``, from an outline."""
    from amemgym_train.training.lora import new_adapter, parameters_of

    if recipe.training.method == "none":
        return 0
    if recipe.policy.adapter:
        trained = parameters_of(recipe.policy.adapter)
    else:
        adapter = new_adapter(model, recipe.policy.lora, recipe.seed)
        trained = sum(weight.numel() for weight in adapter.parameters() if weight.requires_grad)
    return trained * 2 if recipe.training.method == "ppo" and recipe.training.ppo.value_trunk == "adapter" else trained


def saved_bytes(recipe: Recipe, model: dict[str, Any] | None = None) -> int:
    """Of a saved adapter; 0 while it cannot be known, as the model is not on this machine yet. ``model``: its ``model_sizes``."""
    if recipe.training.method == "none" or recipe.policy.chat is not None:
        return 0
    if recipe.policy.adapter:
        return sum(file.stat().st_size for file in Path(recipe.policy.adapter).iterdir() if file.is_file())
    return 4 * (model or model_sizes(recipe)).get("adapter_parameters", 0)
