"""Model references: a hub id, a local folder, ``smollm2`` or ``quickstart``.

``resolve`` turns a reference into a folder (or hub id) that ``from_pretrained`` takes. Nothing is fetched unless the user names a hub id.
"""

import os
from pathlib import Path

from amemgym_train.errors import UserError


def cache_folder() -> Path:
    """The user's cache: ``$AMEMGYM_TRAIN_CACHE``, or ``amemgym-train`` below ``$XDG_CACHE_HOME`` (``~/.cache``)."""
    own = os.environ.get("AMEMGYM_TRAIN_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "amemgym-train"


def resolve(reference: str) -> str:
    """The folder or hub id behind ``reference``; builds ``smollm2`` and ``quickstart`` on first use."""
    if reference == "smollm2":
        from amemgym_train.policy.smollm2 import converted_folder

        return str(converted_folder())
    if reference == "quickstart":
        from amemgym_train.policy.tiny.build import built_folder

        return str(built_folder())
    folder = Path(reference).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise UserError(f"policy.model: folder {reference} holds no config.json, so it is no saved transformers model")
        return str(folder)
    if reference.startswith((".", "/", "~")) or reference.count("/") != 1:
        raise UserError(
            f"policy.model: {reference!r} is neither an existing folder, nor a hub id (owner/name), nor one of smollm2, quickstart"
        )
    return reference


def load(reference: str, dtype: str = "float32"):
    """Model and tokenizer of a reference, on the GPU where there is one.

    Raises UserError when the model cannot be found or read.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = resolve(reference)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source)
        model = AutoModelForCausalLM.from_pretrained(source, dtype=getattr(torch, dtype))
    except (OSError, ValueError) as error:
        raise UserError(
            f"policy.model: cannot load {reference!r} ({str(error).splitlines()[0]}). Check the name; a hub id needs network access "
            "and HF_HUB_OFFLINE unset, a folder needs config.json, tokenizer files and *.safetensors"
        ) from error
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    if tokenizer.chat_template is None:
        raise UserError(f"policy.model: {reference!r} has no chat template; use an instruction-tuned model")
    return model.to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer
