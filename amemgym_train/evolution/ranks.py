"""The processes of a run: one on a laptop, several under ``accelerate launch``. Everything here does nothing special for one."""

import os
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from amemgym_train.errors import UserError

Item = TypeVar("Item")


@cache
def _state():
    import torch
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    if parse_flag_from_env("ACCELERATE_USE_DEEPSPEED"):
        # Told to use the CPU, accelerate passes DeepSpeed over for plain data parallel: leave it to find no GPU.
        os.environ.pop("ACCELERATE_USE_CPU", None)
        return PartialState(backend=None if torch.cuda.is_available() else "gloo")
    # The launcher of several processes does not pass use_cpu on; without it and a GPU each would take itself for the only one.
    return PartialState(cpu=parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.cuda.is_available())


def count() -> int:
    """How many processes there are. One alone is known by its environment, without torch."""
    return 1 if int(os.environ.get("WORLD_SIZE", 1)) == 1 else _state().num_processes


def rank() -> int:
    return 0 if count() == 1 else _state().process_index


def is_main() -> bool:
    return rank() == 0


def device() -> str:
    """Where this process computes: its GPU where it has one, unless the launch asks for the CPU."""
    return str(_state().device) if _state().device.type == "cuda" else "cpu"


def alone(command: str) -> None:
    """UserError unless this is the only process: ``command`` would score or store each process's share by itself."""
    if count() > 1:
        raise UserError(f"{command} runs in one process; start it without accelerate launch")


def wait() -> None:
    """Return when every process has come here."""
    if count() > 1:
        _state().wait_for_everyone()


def share(items: Sequence[Item]) -> list[Item]:
    """This process's part of ``items``, dealt in turn; each item goes to exactly one process."""
    return list(items[rank() :: count()])


def sharing() -> tuple[str, int]:
    """How the launch makes the processes share a model: its name, and what is shared as a ZeRO stage.

    0 nothing, 1 the optimiser's states, 2 gradients as well, 3 weights as well (as FSDP2 does).
    """
    from accelerate.utils import parse_flag_from_env

    if parse_flag_from_env("ACCELERATE_USE_DEEPSPEED"):
        stage = int(os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", 2))
        return f"DeepSpeed ZeRO-{stage}", stage
    if parse_flag_from_env("ACCELERATE_USE_FSDP"):
        return "FSDP2", 3
    return "data parallel", 0
