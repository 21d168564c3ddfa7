"""DPO (arXiv 2305.18290) through TRL's DPOTrainer, on pairs whose ids are those that were drawn.

loss = -log sigmoid(beta * (log p(chosen) / q(chosen) - log p(rejected) / q(rejected))), eq. 7; p is the adapter as it is trained,
q as it was when training began. TRL keeps q as a second, frozen adapter on the same weights.
"""

from pathlib import Path
from statistics import fmean
from typing import Any

from datasets import Dataset
from peft import PeftModel
from transformers import PreTrainedTokenizerBase
from trl import DPOTrainer

from amemgym_train.config.training import TrainingConfig
from amemgym_train.training.arguments import dpo_arguments
from amemgym_train.training.chosen import trained
from amemgym_train.training.pairs import Pair
from amemgym_train.training.shards import shard_on_cpu

REFERENCE = "ref"  # TRL's name of the second adapter


class PairDPO(DPOTrainer):
    """TRL's, for pairs that need no tokenizer."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any) -> Dataset:
        return dataset


def train_dpo(
    model: PeftModel,
    tokenizer: PreTrainedTokenizerBase,
    pairs: list[Pair],
    config: TrainingConfig,
    folder: Path,
    seed: int,
) -> dict[str, Any]:
    """Train ``model`` in place; ``folder`` has its checkpoints.

    Returns loss, steps, seconds and the trainer's ``log``; ``margin``: mean of the pairs'; ``preferred``: the last share of pairs
    whose chosen reply gained more than the rejected one.
    """
    arguments = dpo_arguments(config, folder, seed, len(pairs), model.device.type == "cpu")
    shard_on_cpu()
    data = Dataset.from_list([pair.ids() for pair in pairs])
    trainer = PairDPO(model=model, args=arguments, train_dataset=data, processing_class=tokenizer)
    metrics = trained(trainer, config) | {"pairs": len(pairs), "margin": fmean(pair.margin for pair in pairs)}
    if REFERENCE in model.peft_config:
        model.delete_adapter(REFERENCE)
    told = [entry["rewards/accuracies"] for entry in metrics["log"] if "rewards/accuracies" in entry]
    return metrics | ({"preferred": told[-1]} if told else {})
