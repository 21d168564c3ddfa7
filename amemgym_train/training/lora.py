"""LoRA adapters: a new one on a base model, a saved one for more training or for answering. The format is PEFT's own."""

from pathlib import Path

import torch
from peft import LoraConfig as PeftLora
from peft import PeftModel, get_peft_model
from transformers import PreTrainedModel

from amemgym_train.config.policy import LoraConfig
from amemgym_train.errors import UserError


def new_adapter(model: PreTrainedModel, config: LoraConfig, seed: int) -> PeftModel:
    """``model`` with a fresh adapter, its weights in float32 whatever the base holds: small updates vanish in bfloat16."""
    torch.manual_seed(seed)
    peft = PeftLora(
        r=config.r,
        lora_alpha=config.alpha,
        lora_dropout=config.dropout,
        target_modules=config.target_modules,
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, peft)


def load_adapter(model: PreTrainedModel, folder: str | Path, trainable: bool = False) -> PeftModel:
    """``model`` with the adapter saved in ``folder``. UserError when there is none or it does not fit the model."""
    folder = Path(folder)
    if not (folder / "adapter_config.json").is_file():
        raise UserError(f"{folder} holds no adapter_config.json; expected the folder of a saved LoRA adapter")
    try:
        return PeftModel.from_pretrained(model, str(folder), is_trainable=trainable)
    except (RuntimeError, ValueError, OSError) as error:
        raise UserError(f"adapter {folder} does not load onto this model: {str(error).splitlines()[0]}") from error
