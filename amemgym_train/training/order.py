"""Rows of like length together, in an order that a training that was stopped in the middle of a pass goes on with.

transformers draws the order of each pass from torch's global generator, whose state it restores after the draw only: a resumed
pass would be over other rows than the one that was broken off.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_pt_utils import LengthGroupedSampler, get_length_grouped_indices

NAME = "order-{:03d}.bin"  # in a checkpoint, by process


class Order(LengthGroupedSampler):
    """``began``: the generator's state at the beginning of the latest pass; ``resumed``: that of the pass to go on with."""

    began: torch.Tensor | None = None
    resumed: torch.Tensor | None = None

    def __iter__(self) -> Iterator[int]:
        if self.resumed is None:
            self.began = torch.get_rng_state()
            return super().__iter__()
        self.began, self.resumed = self.resumed, None
        generator = torch.Generator()
        generator.set_state(self.began)
        return iter(get_length_grouped_indices(self.lengths, self.batch_size, generator=generator))

    def resume(self, checkpoint: str | None, process: int) -> None:
        """Begin with the pass in whose middle ``checkpoint`` was made, if it was."""
        path = Path(checkpoint, NAME.format(process)) if checkpoint else None
        if path is not None and path.is_file():
            self.resumed = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)


class KeepsOrder(TrainerCallback):
    """Saves the state in which the pass at hand began with each checkpoint in its middle."""

    def __init__(self, order: Order) -> None:
        self.order = order

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if state.global_step % (state.max_steps // int(args.num_train_epochs)):
            folder = Path(args.output_dir, f"checkpoint-{state.global_step}")
            (folder / NAME.format(args.process_index)).write_bytes(self.order.began.numpy().tobytes())
