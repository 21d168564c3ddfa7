"""Checkpoints of a training that several processes write together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments


class Whole(TrainerCallback):
    """Marks a checkpoint once every process has written its part: a kill in the middle leaves one without the mark."""

    NAME = "whole"

    def __init__(self, wait: Callable[[], None]) -> None:
        self.wait = wait

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self.wait()
        if state.is_world_process_zero:
            (Path(args.output_dir) / f"checkpoint-{state.global_step}" / self.NAME).touch()


def last_checkpoint(folder: Path) -> str | None:
    """The last one in ``folder`` that is whole."""
    found = [path for path in folder.glob("checkpoint-*") if (path / Whole.NAME).is_file()]
    return str(max(found, key=lambda path: int(path.name.rpartition("-")[2]))) if found else None
