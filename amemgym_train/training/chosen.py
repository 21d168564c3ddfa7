"""What trainers share that go over examples chosen before they start: rows to imitate, or pairs."""

import math
import sys
from pathlib import Path
from typing import Any

from accelerate import PartialState
from transformers import PrinterCallback, Trainer
from transformers.integrations.deepspeed import unset_hf_deepspeed_config

from amemgym_train.config.training import TrainingConfig
from amemgym_train.training.checkpoints import Whole, last_checkpoint
from amemgym_train.training.log import mean_loss, steady
from amemgym_train.training.shards import placement


def trained(trainer: Trainer, config: TrainingConfig) -> dict[str, Any]:
    """Train to the end, from the last checkpoint in the trainer's folder on, if any.

    Returns where it ran, loss, steps, seconds, and the ``log``, a dict per ``logging_steps``.
    """
    trainer.remove_callback(PrinterCallback)  # its log goes to a file
    trainer.add_callback(Whole(trainer.accelerator.wait_for_everyone))
    result = trainer.train(resume_from_checkpoint=last_checkpoint(Path(trainer.args.output_dir)))
    unset_hf_deepspeed_config()  # else the next model that this process loads would come in parts
    log = trainer.state.log_history
    return {
        "distributed": trainer.accelerator.distributed_type.value,
        "loss": mean_loss(log),
        "steps": result.global_step,
        "seconds": result.metrics["train_runtime"],
        "log": steady(log, config.logging_steps),
    }


def steps_of(config: TrainingConfig, rows: int, processes: int) -> int:
    """Optimiser steps on so many rows."""
    return math.ceil(rows / (config.batch_size * config.gradient_accumulation * processes)) * config.epochs


def shared_arguments(config: TrainingConfig, folder: Path, seed: int, rows: int, on_cpu: bool) -> dict[str, Any]:
    """TRL's settings for ``rows`` examples."""
    saves = 0 < config.save_steps < steps_of(config, rows, PartialState().num_processes)
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
        "logging_steps": 1,  # a process that goes on from a checkpoint does not know the loss since the last entry
        "save_strategy": "steps" if saves else "no",
        "save_steps": config.save_steps or 1,
        "save_total_limit": 2,  # the one before stays until the new one is whole
        "report_to": [],
        "seed": seed,
        "data_seed": seed,
        "bf16": False,
        "max_length": None,
        "disable_tqdm": not sys.stderr.isatty(),
        **placement(on_cpu),
    }
