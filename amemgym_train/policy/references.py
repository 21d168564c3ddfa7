"""Model references: a hub id, a local folder, ``smollm2`` or ``quickstart``.

``resolve`` turns a reference into a folder (or hub id) that ``from_pretrained`` takes. Nothing is fetched unless the user names a
hub id.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


BUILT_IN = ("smollm2", "quickstart")


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
    owner, _, name = reference.partition("/")
    if reference.startswith((".", "~")) or not owner or not name or "/" in name:
        raise UserError(
            f"policy.model: {reference!r} is no folder, no hub id (owner/name), and neither smollm2 nor quickstart"
        )
    return reference


def at_hand(reference: str) -> str | None:
    """The folder behind ``reference`` if it is on this machine by now, else None: nothing is built or fetched.

    Raises UserError where ``resolve`` would.
    """
    if reference not in BUILT_IN:
        source = resolve(reference)
        return source if Path(source).is_dir() else _downloaded(source)
    from amemgym_train.policy.cache import cache_folder

    if reference == "smollm2":
        from amemgym_train.policy.smollm2 import FOLDER, gguf_folder

        folder = cache_folder() / FOLDER
        if not folder.is_dir():
            gguf_folder()  # tells what to install
    else:
        from amemgym_train.policy.tiny.build import Build, fingerprint

        folder = cache_folder() / f"quickstart-{fingerprint(Build())}"
    return str(folder) if folder.is_dir() else None


def _downloaded(hub_id: str) -> str | None:
    """The folder of a hub id's files in the hub's own cache."""
    from huggingface_hub import try_to_load_from_cache

    found = [try_to_load_from_cache(hub_id, name) for name in ("config.json", "tokenizer_config.json")]
    return str(Path(found[0]).parent) if all(isinstance(path, str) for path in found) else None


def outline(reference: str, dtype: str = "float32") -> "tuple[PreTrainedModel, PreTrainedTokenizerBase] | None":
    """The model without its weights, on torch's meta device, and the tokenizer; None where they are not ``at_hand``."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    source = at_hand(reference)
    if source is None:
        return None
    with readable(reference, source):
        tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
        config = AutoConfig.from_pretrained(source, local_files_only=True)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    return model, _checked(tokenizer, reference)


def load(reference: str, dtype: str = "float32", device: str = "cpu") -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """Model and tokenizer of a reference, the model on ``device``.

    Raises UserError when the model cannot be found or read.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # a stage loads the model in a second or two; the bar would be most of what a user sees
    source = resolve(reference)
    with readable(reference, source):
        tokenizer = AutoTokenizer.from_pretrained(source)
        model, info = AutoModelForCausalLM.from_pretrained(source, dtype=getattr(torch, dtype), output_loading_info=True)
    if info["missing_keys"]:  # transformers would answer with random weights in their place
        missing = sorted(info["missing_keys"])
        raise UserError(f"policy.model: {len(missing)} weights are missing in {reference!r}, such as {missing[0]}; save it again")
    return model.to(device), _checked(tokenizer, reference)


def load_tokenizer(reference: str) -> "PreTrainedTokenizerBase":
    """The tokenizer of a reference, for a model that answers elsewhere. UserError when it cannot be found or read."""
    from transformers import AutoTokenizer

    source = resolve(reference)
    with readable(reference, source):
        tokenizer = AutoTokenizer.from_pretrained(source)
    return _checked(tokenizer, reference)


@contextmanager
def readable(reference: str, source: str) -> Iterator[None]:
    """UserError for what transformers raises on a model that it cannot read."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, RuntimeError, TypeError, KeyError, SafetensorError) as error:  # as damaged files may lead to
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        if reference in BUILT_IN:
            raise UserError(f"policy.model: the cached {reference} is damaged ({reason}). Delete {source}, run again") from error
        raise UserError(
            f"policy.model: cannot load {reference!r} ({reason}). Check the name; a hub id needs network access and "
            "HF_HUB_OFFLINE unset, a folder needs config.json, tokenizer files and *.safetensors"
        ) from error


def _checked(tokenizer: "PreTrainedTokenizerBase", reference: str) -> "PreTrainedTokenizerBase":
    """``tokenizer`` with a token to pad with. UserError: it cannot hold a conversation."""
    if tokenizer.chat_template is None or tokenizer.eos_token_id is None:
        raise UserError(f"policy.model: {reference!r} lacks a chat template or an end token; use an instruction-tuned model")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer
