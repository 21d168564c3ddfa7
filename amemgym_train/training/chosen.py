"""What trainers share that go over examples chosen before they start: rows to imitate, or pairs."""

from pathlib import Path
from typing import Any

from transformers import PrinterCallback, Trainer
from transformers.integrations.deepspeed import unset_hf_deepspeed_config

from amemgym_train.config.training import TrainingConfig
from amemgym_train.training.checkpoints import Whole, last_checkpoint
from amemgym_train.training.log import mean_loss, steady


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
