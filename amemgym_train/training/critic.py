"""The critic: a value head on the hidden states of the policy that it judges, so that one forward gives both."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from amemgym_train.config.on_policy import PPOSettings
from amemgym_train.errors import UserError

FILE = "value_head.safetensors"  # beside the adapter; PEFT does not look at it
PREFIX = "value_head."
KL_COEF = "kl_coef"


class ValueHead(torch.nn.Linear):
    """Last hidden states (..., H) to values (...), in float32 whatever the policy computes in.

    It starts at 0: advantages are then the rewards themselves, and the critic's loss leaves the trunk alone until the head has
    found a direction. ``detached``: its loss never reaches the trunk. ``kl_coef``: the coefficient that training steers, which is
    kept with the head.
    """

    def __init__(self, size: int, detached: bool = False, kl_coef: float = 0.0) -> None:
        super().__init__(size, 1, dtype=torch.float32)
        self.detached, self.kl_coef = detached, kl_coef
        torch.nn.init.zeros_(self.weight)
        torch.nn.init.zeros_(self.bias)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        with torch.autocast(hidden.device.type, enabled=False):
            return super().forward((hidden.detach() if self.detached else hidden).float())[..., 0]


def attach(model: PeftModel, settings: PPOSettings) -> ValueHead:
    """A new head as a submodule of ``model``, where whatever wraps the model finds its weights."""
    size, kl_coef = model.config.get_text_config().hidden_size, settings.kl_coef if settings.kl != "none" else 0.0
    model.value_head = ValueHead(size, settings.value_trunk == "detached", kl_coef).to(model.device)
    return model.value_head


@contextmanager
def heard(backbone: torch.nn.Module, head: ValueHead, width: int) -> Iterator[list[torch.Tensor]]:
    """Holds, after a forward of ``backbone`` on padded rows, the values (B, ``width``) of the states before their last tokens."""
    values: list[torch.Tensor] = []

    def judge(module: torch.nn.Module, arguments: Any, output: Any) -> None:
        values.append(head(output.last_hidden_state[:, -width - 1 : -1]))  # a token is drawn in the state before it

    hook = backbone.register_forward_hook(judge)
    try:
        yield values
    finally:
        hook.remove()


def save_head(weights: dict[str, torch.Tensor], folder: Path, kl_coef: float) -> None:
    """Write a head into ``folder``, and with it the coefficient that ``training.ppo.kl_target`` has steered so far.

    ``weights``: those of ``lora.whole_weights``, of which the head's are taken.
    """
    own = {name.removeprefix(PREFIX): weight.cpu().contiguous() for name, weight in weights.items() if name.startswith(PREFIX)}
    save_file(own, folder / FILE, metadata={KL_COEF: repr(kl_coef)})


def load_head(head: ValueHead, folder: Path) -> None:
    """Fill ``head``, and its coefficient, from ``folder``. UserError when it is another model's, or damaged."""
    path = folder / FILE
    try:
        with safe_open(path, "pt") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
            coefficient = float(file.metadata()[KL_COEF])
        head.load_state_dict(weights)
        head.kl_coef = coefficient
    except (SafetensorError, OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} does not load as the value head of this model ({str(error).splitlines()[0]}). Delete it to start with a new "
            "critic, or name the folder of the adapter that it belongs to"
        ) from error
