"""TRL's own settings for each method. No trainer is imported here, which would take seconds that a dry run has not."""

import math
import sys
from pathlib import Path
from typing import Any

from accelerate import PartialState
from trl import DPOConfig, GRPOConfig, SFTConfig

from amemgym_train.config.training import TrainingConfig
from amemgym_train.training.shards import placement


def micro_batches(rows_per_process: int, batch_size: int, minibatches: int = 1) -> int:
    """How many forward passes of ``batch_size`` rows each process makes for one of ``minibatches`` optimiser steps."""
    batches = math.ceil(rows_per_process / batch_size)
    return batches + batches * batch_size * minibatches % 2  # TRL wants pairs of completions in a generation batch


def arguments_of(
    training: TrainingConfig, folder: Path, seed: int, batches: int, longest: int, temperature: float, on_cpu: bool
) -> GRPOConfig:
    """Those of an on-policy method; raises ValueError where they contradict each other. Writes nothing."""
    settings = training.on_policy
    return GRPOConfig(
        output_dir=str(folder),
        max_steps=settings.steps * settings.updates,
        per_device_train_batch_size=training.batch_size,
        gradient_accumulation_steps=batches,
        steps_per_generation=batches * settings.minibatches,
        num_iterations=settings.epochs,
        num_generations=2,
        max_completion_length=longest,
        learning_rate=training.learning_rate,
        lr_scheduler_type=training.scheduler,
        warmup_steps=round(training.warmup_ratio * settings.steps * settings.updates),
        max_grad_norm=training.max_grad_norm,
        weight_decay=0.0,
        activation_checkpointing=training.gradient_checkpointing,
        temperature=temperature,
        epsilon=settings.epsilon,
        epsilon_high=settings.epsilon_high,
        loss_type={"clip": "dapo", "cispo": "cispo"}[settings.surrogate],  # both sum over tokens: the weights do the averaging
        beta=0.0,
        logging_steps=settings.updates,
        save_strategy="steps" if settings.save_steps else "no",
        save_steps=(settings.save_steps or 1) * settings.updates,
        save_total_limit=2,  # the one before stays until the new one is whole
        report_to=[],
        seed=seed,
        data_seed=seed,
        bf16=False,
        disable_tqdm=True,
        # values leave the forward beside its output, where DDP would not look for what was used (a step uses every weight)
        ddp_find_unused_parameters=False if training.method == "ppo" else None,
        **placement(on_cpu),
    )


def steps_of(config: TrainingConfig, rows: int, processes: int) -> int:
    """Optimiser steps on so many rows."""
    return math.ceil(rows / (config.batch_size * config.gradient_accumulation * processes)) * config.epochs


def shared_arguments(config: TrainingConfig, folder: Path, seed: int, rows: int, on_cpu: bool) -> dict[str, Any]:
    """Those of methods that go over ``rows`` examples chosen before they start."""
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


def sft_arguments(config: TrainingConfig, folder: Path, seed: int, rows: int, on_cpu: bool) -> SFTConfig:
    """Raises ValueError where the settings contradict each other. Writes nothing."""
    return SFTConfig(
        **shared_arguments(config, folder, seed, rows, on_cpu),
        dataset_kwargs={"skip_prepare_dataset": True},
    )


def dpo_arguments(config: TrainingConfig, folder: Path, seed: int, pairs: int, on_cpu: bool) -> DPOConfig:
    """Raises ValueError where the settings contradict each other. Writes nothing."""
    return DPOConfig(
        **shared_arguments(config, folder, seed, pairs, on_cpu),
        beta=config.dpo.beta,
        loss_type=[config.dpo.loss],
        label_smoothing=config.dpo.label_smoothing,
    )
