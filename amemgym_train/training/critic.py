"""The critic: a value head on the hidden states of the policy that it judges, so that one forward gives both.

Or on those of an adapter of its own (``value_trunk: adapter``): nothing that it learns moves the policy, for a forward more.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from peft.tuners.tuners_utils import BaseTunerLayer
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from amemgym_train.config.on_policy import PPOSettings
from amemgym_train.errors import UserError

FILE = "value_head.safetensors"  # beside the adapter; PEFT does not look at it
PREFIX = "value_head."
ADAPTER = "critic"  # PEFT's name of the second adapter
STATE = "state"


@dataclass
class HeadState:
    """What is kept with a head's weights.

    ``mean``, ``scale``: of the returns that it met first, the origin and unit of its values (``scale`` None: it met none yet);
    ``kl_coef``: the coefficient that ``training.ppo.kl_target`` has steered so far.
    """

    kl_coef: float = 0.0
    mean: float = 0.0
    scale: float | None = None

    @property
    def unit(self) -> float:
        return self.scale or 1.0


class ValueHead(torch.nn.Linear):
    """Last hidden states (..., H) to values (...): mean + unit * (weight . hidden + bias), in float32.

    The head learns in a unit of its own, at one rate whether an episode earns 1 or 20. Its weights start at 0: the critic's loss
    then leaves the trunk alone until the head has found a direction. ``detached``: that loss never reaches the trunk.
    """

    def __init__(self, size: int, detached: bool = False, state: HeadState | None = None) -> None:
        super().__init__(size, 1, dtype=torch.float32)
        self.detached, self.state = detached, state or HeadState()
        torch.nn.init.zeros_(self.weight)
        torch.nn.init.zeros_(self.bias)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        with torch.autocast(hidden.device.type, enabled=False):
            found = super().forward((hidden.detach() if self.detached else hidden).float())[..., 0]
        return self.state.mean + self.state.unit * found


def attach(model: PeftModel, settings: PPOSettings) -> ValueHead:
    """A new head as a submodule of ``model``, where whatever wraps the model finds its weights."""
    size, state = model.config.get_text_config().hidden_size, HeadState(settings.kl_coef)
    if settings.value_trunk == "adapter" and ADAPTER not in model.peft_config:
        _copy_adapter(model)
    model.value_head = ValueHead(size, settings.value_trunk == "detached", state).to(model.device)
    return model.value_head


def of_critic(name: str) -> bool:
    """Whether the critic's optimiser settings are for the weight of this name."""
    return PREFIX in name or f".{ADAPTER}." in name


def keep_training(model: torch.nn.Module) -> None:
    """PEFT takes an adapter that is not active for one that is not trained, whenever it switches or loads any."""
    for name, weight in model.named_parameters():
        if f".{ADAPTER}." in name:
            weight.requires_grad_(True)


@contextmanager
def judging(model: torch.nn.Module) -> Iterator[None]:
    """Has the critic's adapter answer, where there is one."""
    layers = [layer for layer in model.modules() if isinstance(layer, BaseTunerLayer)]
    before = [layer.active_adapters for layer in layers]
    own = any(ADAPTER in getattr(layer, "lora_A", ()) for layer in layers)
    try:
        for layer in layers if own else ():
            layer._active_adapter = [ADAPTER]  # ``set_adapter`` would turn off the gradients of the policy's
        yield
    finally:
        for layer, names in zip(layers, before, strict=True):
            layer._active_adapter = names


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


def save_head(weights: dict[str, torch.Tensor], folder: Path, state: HeadState) -> None:
    """Write a critic into ``folder``. ``weights``: those of ``lora.whole_weights``, of which the critic's are taken."""
    own = {name.removeprefix(PREFIX): weight.cpu().contiguous() for name, weight in weights.items() if of_critic(name)}
    save_file(own, folder / FILE, metadata={STATE: json.dumps(asdict(state))})  # one entry: several come in any order


def load_head(model: PeftModel, folder: Path) -> None:
    """Fill ``model``'s head, its state and the critic's adapter from ``folder``. UserError when they are another model's, or
    damaged."""
    path = folder / FILE
    try:
        with safe_open(path, "pt") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
            state = HeadState(**json.loads(file.metadata()[STATE]))
        adapter = {name: weight for name, weight in model.named_parameters() if f".{ADAPTER}." in name}
        own = {name: weights.pop(name) for name in list(weights) if f".{ADAPTER}." in name}
        if own.keys() != adapter.keys():
            raise ValueError(f"it has {len(own)} weights of an adapter, training.ppo.value_trunk asks for {len(adapter)}")
        model.value_head.load_state_dict(weights)
        with torch.no_grad():
            for name, weight in adapter.items():
                weight.copy_(own[name])
        model.value_head.state = state
    except (SafetensorError, OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} does not load as the value head of this model ({str(error).splitlines()[0]}). Delete it to start with a new "
            "critic, or name the folder of the adapter that it belongs to"
        ) from error


def _copy_adapter(model: PeftModel) -> None:
    """A second adapter that begins as the first one is."""
    model.add_adapter(ADAPTER, model.peft_config["default"])
    weights = dict(model.named_parameters())
    with torch.no_grad():
        for name, weight in weights.items():
            if f".{ADAPTER}." in name:
                weight.copy_(weights[name.replace(f".{ADAPTER}.", ".default.")])
    keep_training(model)
