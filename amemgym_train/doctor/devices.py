"""What this machine computes with, and whether the launch fits it."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from amemgym_train.config.evolution import LaunchConfig
from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.finding import Finding, green, red, yellow
from amemgym_train.errors import UserError

CPU_FILE = "evolution.launch.file=accelerate_configs/cpu_ddp.yaml"


def devices(recipe: Recipe) -> list[Finding]:
    """The visible GPUs, or the cores."""
    import torch

    names = [torch.cuda.get_device_name(index) for index in range(visible())]
    if names:
        return [green("devices", f"{len(names)} visible: {', '.join(names)}")]
    masked = os.environ.get("CUDA_VISIBLE_DEVICES")
    told = f" (CUDA_VISIBLE_DEVICES is {masked!r})" if masked is not None else ""
    return [green("devices", f"no GPU visible{told}: computes on {cores()} CPU cores")]


def launch(recipe: Recipe) -> list[Finding]:
    """The processes of this launch, or of those that the recipe's launcher starts, against what is here for them."""
    launch = recipe.evolution.launch
    if recipe.evolution.launcher == "inline":
        how = "to check a launch, add evolution.launcher=accelerate evolution.launch.file=FILE"
        return [green("launch", f"stages run in the process, or processes, that evolve is started as ({how})")]
    name = launch.file or "accelerate's default"
    try:
        said = said_of(launch)
    except UserError as error:
        return [red("launch", str(error), CPU_FILE)]
    if said.get("distributed_type") == "DEEPSPEED" and find_spec("deepspeed") is None:
        return [red("launch", f"{name} needs deepspeed", "pip install 'amemgym-train[deepspeed]'")]
    try:
        here, machines = processes(launch, said)
    except ValueError as error:
        return [red("launch", f"{name} and evolution.launch.arguments: {error}", _with_processes(1))]
    if machines > 1 and launch.port is None:
        lost = f"{name} is for {machines} machines, which need one port to meet at"
        return [red("launch", lost, "evolution.launch.port=29500")]
    on_cpu = bool(said.get("use_cpu")) or "--cpu" in launch.arguments
    return [_fits(here, on_cpu, name)]


def said_of(launch: LaunchConfig) -> dict[str, Any]:
    """What the launch file says; without one accelerate's own, or what it does without that. UserError: no launch file."""
    from accelerate.commands.config.config_args import default_config_file

    from amemgym_train.evolution.launcher import launch_file

    if launch.file is not None:
        return launch_file(launch)
    if Path(default_config_file).is_file():
        return launch_file(launch.model_copy(update={"file": default_config_file}))
    return {"num_processes": visible() or 1}


def processes(launch: LaunchConfig, said: dict[str, Any]) -> tuple[int, int]:
    """How many processes a launch starts on each machine, and on how many. ``said``: by its file. ValueError: no such number."""
    keys = ("num_processes", "num_machines")
    numbers = {key: int(_argument(launch.arguments, f"--{key}") or said.get(key) or 1) for key in keys}
    if min(numbers.values()) < 1:
        raise ValueError(f"{numbers}, expected at least 1 of each")
    if numbers["num_processes"] % numbers["num_machines"]:
        raise ValueError(f"{numbers['num_processes']} processes do not spread evenly over {numbers['num_machines']} machines")
    return numbers["num_processes"] // numbers["num_machines"], numbers["num_machines"]


def visible() -> int:
    """GPUs that this process may use."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fits(here: int, on_cpu: bool, name: str) -> Finding:
    started = f"{name} starts {here} {'CPU ' if on_cpu else ''}process{'' if here == 1 else 'es'} here"
    if on_cpu:
        if here > cores():
            crowded = f"{started}, and there are {cores()} cores: they will wait for each other"
            return yellow("launch", crowded, _with_processes(cores()))
        return green("launch", f"{started}, {cores()} cores are there")
    if not visible():
        if here == 1:
            return yellow("launch", f"{started}, and no GPU is visible: it computes on the CPU")
        return red("launch", f"{started}, one for each GPU, and none is visible", CPU_FILE)
    if here > visible():
        return red("launch", f"{started}, one for each GPU, and {visible()} are visible", _with_processes(visible()))
    if here < visible():
        return yellow("launch", f"{started}, and {visible()} GPUs are visible: the others stay idle", _with_processes(visible()))
    return green("launch", f"{started}, one for each GPU")


def _with_processes(count: int) -> str:
    return f"evolution.launch.arguments='[--num_processes, \"{count}\"]'"


def _argument(words: list[str], name: str) -> str | None:
    """The last value of an option, given as two words or with an equals sign."""
    found = None
    for place, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option.replace("-", "_") == name.replace("-", "_"):
            found = value if equals else (words[place + 1] if place + 1 < len(words) else None)
    return found
