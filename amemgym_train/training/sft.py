"""Supervised fine-tuning of a LoRA adapter on rows, through TRL's SFTTrainer.

Rows carry the ids that the engine drew, so nothing is tokenised here; the loss sees completion tokens only.
"""

from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from trl import SFTTrainer

from amemgym_train.config.training import TrainingConfig
from amemgym_train.rollout.records import Row
from amemgym_train.training.arguments import sft_arguments
from amemgym_train.training.checkpoints import last_checkpoint
from amemgym_train.training.chosen import trained
from amemgym_train.training.order import KeepsOrder, Order
from amemgym_train.training.shards import shard_on_cpu


def dataset(rows: list[Row]) -> Dataset:
    """Columns ``input_ids`` and ``labels`` (-100 wherever the mask is 0)."""
    return Dataset.from_dict(
        {
            "input_ids": [row.ids for row in rows],
            "labels": [[i if m else -100 for i, m in zip(row.ids, row.mask, strict=True)] for row in rows],
        }
    )


class RowSFT(SFTTrainer):
    """TRL's, with rows in the given ``order``."""

    def __init__(self, *args: Any, order: Order, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.order = order
        self.add_callback(KeepsOrder(order))

    def _get_train_sampler(self, *_: Any) -> Order:
        return self.order


def train_sft(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: list[Row],
    config: TrainingConfig,
    folder: Path,
    seed: int,
) -> dict[str, Any]:
    """Train ``model`` in place; ``folder`` has its checkpoints. Returns loss, steps, seconds, and the ``log``."""
    arguments = sft_arguments(config, folder, seed, len(rows), model.device.type == "cpu")
    shard_on_cpu()
    order = Order(config.batch_size * config.gradient_accumulation, lengths=[len(row.ids) for row in rows])
    order.resume(last_checkpoint(folder), arguments.process_index)
    trainer = RowSFT(model, arguments, train_dataset=dataset(rows), processing_class=tokenizer, order=order)
    return trained(trainer, config) | {"rows": len(rows), "tokens": sum(len(row.ids) for row in rows) * config.epochs}
