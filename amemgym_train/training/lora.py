"""LoRA adapters: a new one on a base model, a saved one for more training or for answering. The format is PEFT's own."""

import math
import warnings
from pathlib import Path

import torch
from peft import LoraConfig as PeftLora
from peft import PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors import SafetensorError, safe_open
from transformers import PreTrainedModel

from amemgym_train.config.policy import LoraConfig
from amemgym_train.errors import UserError
from amemgym_train.training.shards import whole

WEIGHTS = "adapter_model.safetensors"

# PEFT 0.21 asks transformers 5.24 for this by its old name on every load; nothing a user could do about it.
warnings.filterwarnings("ignore", message="`is_gradient_checkpointing`", category=FutureWarning)


def new_adapter(model: PreTrainedModel, config: LoraConfig, seed: int) -> PeftModel:
    """``model`` with a fresh adapter, its weights in float32 whatever the base holds: small updates vanish in bfloat16.

    UserError: ``target_modules`` names a layer that the model lacks.
    """
    torch.manual_seed(seed)
    peft = PeftLora(
        r=config.r,
        lora_alpha=config.alpha,
        lora_dropout=config.dropout,
        target_modules=config.target_modules,
        task_type="CAUSAL_LM",
    )
    try:
        return get_peft_model(model, peft)
    except ValueError as error:
        raise UserError(f"policy.lora: {_first_line(error)}") from error


def start_adapter(model: PreTrainedModel, folder: Path | None, config: LoraConfig, seed: int) -> PeftModel:
    """``model`` with the adapter that training begins with: the one saved in ``folder``, or a new one."""
    return load_adapter(model, folder, trainable=True) if folder else new_adapter(model, config, seed)


def check_adapter(folder: str | Path) -> None:
    """UserError when ``folder`` is not that of a saved adapter; cheap, so that it can come before a model is loaded."""
    for name in ("adapter_config.json", WEIGHTS):
        if not (Path(folder) / name).is_file():
            raise UserError(f"adapter {folder}: no file {name} there; expected the folder of a saved LoRA adapter")
    shapes_of(folder)


def parameters_of(folder: str | Path) -> int:
    """The number of parameters of the adapter saved in ``folder``, which is not loaded."""
    return sum(map(math.prod, shapes_of(folder).values()))


def shapes_of(folder: str | Path) -> dict[str, list[int]]:
    """The shapes of the adapter saved in ``folder``, by weight. UserError when the file is damaged, as when a part is missing."""
    try:
        with safe_open(Path(folder) / WEIGHTS, "pt") as weights:
            return {name: weights.get_slice(name).get_shape() for name in weights.keys()}
    except SafetensorError as error:
        raise UserError(f"adapter {folder} cannot be read ({_first_line(error)}); save or copy it again") from error


def load_adapter(model: PreTrainedModel, folder: str | Path, trainable: bool = False) -> PeftModel:
    """``model`` with the adapter saved in ``folder``. UserError when there is none or it does not fit the model."""
    check_adapter(folder)
    try:
        loaded = PeftModel.from_pretrained(model, str(folder), is_trainable=trainable)
    except (RuntimeError, ValueError, TypeError, KeyError, OSError, SafetensorError) as error:
        raise UserError(
            f"adapter {folder} does not load onto this model ({_first_line(error)}). It fits only the model it was trained on, "
            "which its adapter_config.json names as base_model_name_or_path"
        ) from error
    different = set(shapes_of(folder)) ^ set(get_peft_model_state_dict(loaded, save_embedding_layers=False))
    if different:  # PEFT loads what fits and passes over the rest
        raise UserError(f"adapter {folder} belongs to another model: {len(different)} weights differ, such as {min(different)}")
    return loaded


def save_adapter(model: PeftModel, folder: Path, weights: dict[str, torch.Tensor] | None = None) -> None:
    """Save the adapter in PEFT's format; equal adapters give equal bytes. ``weights``: those of ``whole_weights``."""
    for config in model.peft_config.values():
        if isinstance(config.target_modules, set):  # else they are saved in the order of the set, another in every process
            config.target_modules = sorted(config.target_modules)
    model.save_pretrained(folder, state_dict=weights, save_embedding_layers=False, selected_adapters=["default"])


def whole_weights(model: PeftModel) -> dict[str, torch.Tensor]:
    """The adapter's weights by name: ZeRO-3 and FSDP2 leave a part of each in every process. Every process must call this."""
    trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    parts = [weight for weight in trained.values() if hasattr(weight, "ds_id")]
    if parts:
        import deepspeed

        with deepspeed.zero.GatheredParameters(parts):
            return {name: weight.detach().clone() for name, weight in trained.items()}
    return {name: whole(weight.detach()) for name, weight in trained.items()}


def _first_line(error: Exception) -> str:
    """The first line that says something: a heading such as "Error(s) in loading ...:" goes with the line below it."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return " ".join(line.strip() for line in lines[: 2 if lines[0].endswith(":") else 1]).rstrip(".")
