"""The recipe's model and the adapter it starts from. Weights are not loaded."""

import json
from pathlib import Path
from shlex import quote

from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.finding import Finding, green, red, yellow
from amemgym_train.errors import UserError

NAME = "model"
HUB_S = 10  # how long the hub may take to answer


def model(recipe: Recipe) -> list[Finding]:
    """The model can be read from this machine, or be fetched from the hub."""
    from amemgym_train.policy.references import BUILT_IN, at_hand, outline

    if recipe.policy.chat is not None:
        return [green(NAME, f"none here: policy.chat answers ({recipe.policy.chat.model})")]
    name = recipe.policy.model
    try:
        folder = at_hand(name)
        if folder is None:
            return [yellow(NAME, f"{name} is built on first use")] if name in BUILT_IN else [_of_hub(name)]
        found, tokenizer = outline(name, recipe.policy.dtype)
    except UserError as error:
        return [red(NAME, *_told(error))]
    lost = _lacking(Path(folder)) if _weights_are_needed(recipe) else None
    if lost:
        fetch = f"hf download {quote(name)}" if not Path(name).is_dir() else "policy.model=FOLDER"
        return [red(NAME, f"{folder} {lost}, so the weights are missing", fetch)]
    words = f"{type(found).__name__} of {found.num_parameters():,} parameters, {len(tokenizer):,} tokens"
    return [green(NAME, f"{name}: {words}, {recipe.policy.dtype}")]


def adapter(recipe: Recipe) -> list[Finding]:
    """The adapter that the run starts from is one, or a new one fits the model."""
    if recipe.policy.adapter is None:
        return [_new_adapter(recipe)]
    from amemgym_train.training.lora import check_adapter, parameters_of

    try:
        check_adapter(recipe.policy.adapter)
        size = parameters_of(recipe.policy.adapter)
    except UserError as error:
        return [red("adapter", str(error), "policy.adapter=FOLDER, such as runs/ANOTHER/best/adapter, or policy.adapter=null")]
    return [green("adapter", f"{recipe.policy.adapter}: {size:,} parameters")]


def _new_adapter(recipe: Recipe) -> Finding:
    if recipe.training.method == "none" or recipe.policy.chat is not None:
        return green("adapter", "none, and none is trained")
    from amemgym_train.evolution.sizes import model_sizes

    try:
        size = model_sizes(recipe).get("adapter_parameters")
    except UserError as error:
        return red("adapter", str(error), "policy.lora.target_modules=all-linear")
    return green("adapter", f"a new one of rank {recipe.policy.lora.r}" + (f", {size:,} parameters trained" if size else ""))


def _lacking(folder: Path) -> str | None:
    """What a folder of weights lacks, after an interrupted copy or download for instance."""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return None if any(folder.glob("*.safetensors")) else "holds no *.safetensors"
    named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    missing = sorted(name for name in named if not (folder / name).is_file())
    return f"lacks {', '.join(missing)} of {len(named)} files of weights" if missing else None


def _weights_are_needed(recipe: Recipe) -> bool:
    return recipe.policy.server is None or recipe.training.method != "none"


def _told(error: UserError) -> tuple[str, str]:
    """What is wrong with a model, and the command that mends it where the error names one."""
    message, run, command = str(error).rpartition("Run: ")
    return (message.rstrip(), command) if run else (str(error), "policy.model=NAME, a folder, a hub id, smollm2 or quickstart")


def _of_hub(name: str) -> Finding:
    """What is known of a hub id whose files are not on this machine."""
    from huggingface_hub import HfApi, constants

    if constants.HF_HUB_OFFLINE:
        missing = f"{name} is not in this machine's cache, and HF_HUB_OFFLINE is set"
        return red(NAME, missing, f"env -u HF_HUB_OFFLINE hf download {quote(name)}")
    try:
        found = HfApi().model_info(name, timeout=HUB_S, files_metadata=True)
    except Exception as error:  # the hub's own, httpx's and the system's: whatever stands between here and there
        reason = str(error).strip().splitlines() or [type(error).__name__]
        lost = f"{name} is not on this machine, and the hub does not give it ({reason[-1]})"
        return red(NAME, lost, f"hf download {quote(name)}")
    size = sum(file.size or 0 for file in found.siblings or [] if file.rfilename.endswith(".safetensors"))
    return yellow(NAME, f"{name} is fetched on first use, {size / 1e9:.1f} GB of weights", f"hf download {quote(name)}")
