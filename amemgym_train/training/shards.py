"""Models that the processes hold in parts (DeepSpeed ZeRO, FSDP2): how that comes about, and how they become whole again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from accelerate import Accelerator
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin, parse_flag_from_env
from torch import Tensor
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from torch.nn import Module


@contextmanager
def unsharded(model: Module) -> Iterator[None]:
    """FSDP2's weights whole in every process while this lasts; every process must enter and leave.

    No forward pass in here waits for another process, so each may make as many as its episodes need. Other models stay as they
    are.
    """
    parts = [module for module in model.modules() if isinstance(module, FSDPModule)]
    if not parts:
        yield
        return
    for part in parts:
        part.unshard()
    model.set_reshard_after_forward(False)
    try:
        yield
    finally:
        model.set_reshard_after_forward(AcceleratorState().fsdp_plugin.reshard_after_forward)
        model.reset_iter_state()  # drops what is whole, and forgets the passes made in between


def whole(weight: Tensor) -> Tensor:
    """``weight``, collected from all processes where each has a part of it."""
    return weight.full_tensor() if isinstance(weight, DTensor) else weight


def placement(on_cpu: bool) -> dict[str, Any]:
    """Settings of a trainer that say where it computes."""
    deepspeed = parse_flag_from_env("ACCELERATE_USE_DEEPSPEED")  # see evolution.ranks
    return {"use_cpu": on_cpu and not deepspeed, "ddp_backend": "gloo" if on_cpu and deepspeed else None}


def shard_on_cpu() -> None:
    """Let accelerate shard by FSDP on a CPU, as torch can over gloo: it knows FSDP with accelerators only.

    Told of it in CPU processes, it falls back to plain data parallel without a word. Call this after a trainer's arguments are
    made, which begin accelerate's state anew.
    """
    if not parse_flag_from_env("ACCELERATE_USE_FSDP") or PartialState().distributed_type is not DistributedType.MULTI_CPU:
        return
    state = Accelerator().state
    state.distributed_type = PartialState().distributed_type = DistributedType.FSDP
    state.fsdp_plugin = FullyShardedDataParallelPlugin()
