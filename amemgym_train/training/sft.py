"""Supervised fine-tuning of a LoRA adapter on rows, through TRL's SFTTrainer.

Rows carry the ids that the engine drew, so nothing is tokenised here; the loss sees completion tokens only.
"""

import math
import sys
from pathlib import Path
from typing import Any

from accelerate import PartialState
from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PrinterCallback
from transformers.integrations.deepspeed import unset_hf_deepspeed_config
from trl import SFTConfig, SFTTrainer

from amemgym_train.config.training import TrainingConfig
from amemgym_train.rollout.records import Row
from amemgym_train.training.shards import placement, shard_on_cpu


def dataset(rows: list[Row]) -> Dataset:
    """Columns ``input_ids`` and ``labels`` (-100 wherever the mask is 0)."""
    return Dataset.from_dict(
        {
            "input_ids": [row.ids for row in rows],
            "labels": [[i if m else -100 for i, m in zip(row.ids, row.mask, strict=True)] for row in rows],
        }
    )


def train_sft(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: list[Row],
    config: TrainingConfig,
    folder: Path,
    seed: int,
) -> dict[str, Any]:
    """Train ``model`` in place; ``folder`` is the trainer's scratch. Returns loss, steps, seconds, and the trainer's ``log``."""
    arguments = arguments_of(config, folder, seed, len(rows), model.device.type == "cpu")
    shard_on_cpu()
    trainer = SFTTrainer(model=model, args=arguments, train_dataset=dataset(rows), processing_class=tokenizer)
    trainer.remove_callback(PrinterCallback)  # its log goes to a file
    result = trainer.train()
    unset_hf_deepspeed_config()  # else the next model that this process loads would come in parts
    return {
        "distributed": trainer.accelerator.distributed_type.value,
        "loss": result.training_loss,
        "steps": result.global_step,
        "seconds": result.metrics["train_runtime"],
        "rows": len(rows),
        "tokens": sum(len(row.ids) for row in rows) * config.epochs,
        "log": trainer.state.log_history,
    }


def steps_of(config: TrainingConfig, rows: int, processes: int) -> int:
    """Optimiser steps on so many rows."""
    return math.ceil(rows / (config.batch_size * config.gradient_accumulation * processes)) * config.epochs


def arguments_of(config: TrainingConfig, folder: Path, seed: int, rows: int, on_cpu: bool) -> SFTConfig:
    """TRL's own settings; raises ValueError where they contradict each other. Writes nothing."""
    return SFTConfig(
        **shared_arguments(config, folder, seed, rows, on_cpu),
        train_sampling_strategy="group_by_length",
        dataset_kwargs={"skip_prepare_dataset": True},
    )


def shared_arguments(config: TrainingConfig, folder: Path, seed: int, rows: int, on_cpu: bool) -> dict[str, Any]:
    """Settings of every trainer that goes over ``rows`` examples chosen before."""
    return {
        "output_dir": str(folder),
        "per_device_train_batch_size": config.batch_size,
        "gradient_accumulation_steps": config.gradient_accumulation,
        "num_train_epochs": config.epochs,
        "learning_rate": config.learning_rate,
        "lr_scheduler_type": config.scheduler,
        "warmup_steps": round(config.warmup_ratio * steps_of(config, rows, PartialState().num_processes)),
        "max_grad_norm": config.max_grad_norm,
        "weight_decay": 0.0,
        "activation_checkpointing": config.gradient_checkpointing,
        "logging_steps": config.logging_steps,
        "save_strategy": "no",
        "report_to": [],
        "seed": seed,
        "data_seed": seed,
        "bf16": False,
        "max_length": None,
        "disable_tqdm": not sys.stderr.isatty(),
        **placement(on_cpu),
    }
