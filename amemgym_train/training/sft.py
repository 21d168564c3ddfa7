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
from trl import SFTConfig, SFTTrainer

from amemgym_train.config.training import TrainingConfig
from amemgym_train.rollout.records import Row


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
    rows_per_step = config.batch_size * config.gradient_accumulation * PartialState().num_processes
    steps = math.ceil(len(rows) / rows_per_step) * config.epochs
    arguments = SFTConfig(
        output_dir=str(folder),
        per_device_train_batch_size=config.batch_size,
        gradient_accumulation_steps=config.gradient_accumulation,
        num_train_epochs=config.epochs,
        learning_rate=config.learning_rate,
        lr_scheduler_type=config.scheduler,
        warmup_steps=round(config.warmup_ratio * steps),
        max_grad_norm=config.max_grad_norm,
        weight_decay=0.0,
        activation_checkpointing=config.gradient_checkpointing,
        train_sampling_strategy="group_by_length",
        logging_steps=config.logging_steps,
        save_strategy="no",
        report_to=[],
        seed=seed,
        data_seed=seed,
        bf16=False,
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
        use_cpu=model.device.type == "cpu",
        disable_tqdm=not sys.stderr.isatty(),
    )
    trainer = SFTTrainer(model=model, args=arguments, train_dataset=dataset(rows), processing_class=tokenizer)
    trainer.remove_callback(PrinterCallback)  # its log goes to a file
    result = trainer.train()
    return {
        "loss": result.training_loss,
        "steps": result.global_step,
        "seconds": result.metrics["train_runtime"],
        "rows": len(rows),
        "tokens": sum(len(row.ids) for row in rows) * config.epochs,
        "log": trainer.state.log_history,
    }
