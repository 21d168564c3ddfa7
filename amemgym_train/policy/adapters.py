"""LoRA adapters on a vLLM server, loaded and unloaded while it runs."""

import hashlib
import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from amemgym_train.errors import UserError
from amemgym_train.policy.wire import Refused, Server

CONFIG = "adapter_config.json"
FILES = (CONFIG, "adapter_model.safetensors")


@dataclass(frozen=True)
class Adapter:
    """A saved adapter; ``name`` is what servers call it.

    The name changes with the folder and with every byte in it: vLLM finds the cached beginnings of prompts by an adapter's name,
    so that other weights under an old name would be answered for by stale ones.
    """

    version: str
    name: str
    folder: Path
    rank: int


def adapter_of(version: str, folder: str | Path) -> Adapter:
    """The adapter saved in ``folder``. UserError when there is none."""
    place = Path(folder).resolve()
    hashed = hashlib.sha256(str(place).encode())
    for name in FILES:
        if not (place / name).is_file():
            raise UserError(f"adapter {folder}: no file {name} there; expected the folder of a saved LoRA adapter")
        with (place / name).open("rb") as file:
            hashed.update(hashlib.file_digest(file, "sha256").digest())
    try:
        config = json.loads((place / CONFIG).read_text(encoding="utf-8"))
        rank = max([config["r"], *config.get("rank_pattern", {}).values()])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"adapter {folder}: {CONFIG} names no rank r ({type(error).__name__}); save the adapter again") from error
    return Adapter(version, f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', version)}-{hashed.hexdigest()[:12]}", place, rank)


def check_unchanged(adapter: Adapter) -> None:
    """UserError when the files of ``adapter`` are no longer those that its name stands for."""
    if adapter_of(adapter.version, adapter.folder).name != adapter.name:
        raise UserError(f"adapter {adapter.folder}: changed while {adapter.version} was in use; run the same command again")


def load(server: Server, adapter: Adapter, tries: int) -> None:
    """Have ``server`` hold ``adapter``, whether or not it does already. UserError when it does not take it."""
    server.rank = max(server.rank, adapter.rank)
    try:
        server.post("/v1/load_lora_adapter", {"lora_name": adapter.name, "lora_path": str(adapter.folder)}, tries)
    except Refused as refused:
        if "already been loaded" not in str(refused):
            raise UserError(_reason(server, adapter, refused)) from refused


def unload(server: Server, name: str, tries: int) -> None:
    """Have ``server`` forget the adapter ``name``, if it holds it."""
    try:
        server.post("/v1/unload_lora_adapter", {"lora_name": name}, tries)
    except Refused as refused:
        if refused.status != 404:
            raise UserError(f"policy.server {server.url}: cannot unload the adapter {name} ({refused})") from refused


def check_lora(server: Server, folder: str | Path | None, tries: int) -> None:
    """UserError when ``server`` could not load an adapter of its ``rank`` from under ``folder`` (None: among temporary files).

    It is offered one without weights: vLLM looks at the rank first, so its complaint says how far it came.
    """
    with tempfile.TemporaryDirectory(prefix=".lora-check-", dir=folder) as made:
        probe = Adapter("check", "amemgym-train-check", Path(made).resolve(), server.rank)
        keys = {"peft_type": "LORA", "r": server.rank, "lora_alpha": 1, "target_modules": ["q_proj"], "bias": "none"}
        (probe.folder / CONFIG).write_text(json.dumps(keys))
        (probe.folder / FILES[1]).write_bytes(b"")
        probe.folder.chmod(0o755)  # the server may run as someone else
        try:
            server.post("/v1/load_lora_adapter", {"lora_name": probe.name, "lora_path": str(probe.folder)}, tries)
        except Refused as refused:
            if _cause(refused) is not None:
                raise UserError(_reason(server, probe, refused)) from refused
            return
        unload(server, probe.name, tries)


def _cause(refused: Refused) -> str | None:
    """Why a server takes no adapter, or not this one, from wherever it lies; None when something else is wrong with it."""
    message = str(refused)
    if "max_lora_rank" in message:
        return "rank"
    if "not enabled" in message:
        return "disabled"
    if "No adapter found" in message:
        return "unseen"
    return "no route" if refused.status in (404, 405) else None


def _reason(server: Server, adapter: Adapter, refused: Refused) -> str:
    start = f"Start it again with: {server.start_command()}"
    where = f"policy.server {server.url}"
    match _cause(refused):
        case "rank":
            limit = re.search(r"max_lora_rank\D*(\d+)", str(refused))
            allowed = f"its --max-lora-rank is {limit.group(1)}" if limit else "its --max-lora-rank is less"
            return f"{where}: got an adapter of rank {adapter.rank} (policy.lora.r), but {allowed}. {start}"
        case "disabled":
            return f"{where}: runs without LoRA, an adapter of rank {adapter.rank} needs it. {start}"
        case "no route":
            return f"{where}: does not load adapters while it runs ({refused}). {start}"
        case "unseen":
            return (
                f"{where}: finds no adapter in {adapter.folder}, though this process does. Server and run need one file system, "
                "and the run's folder the same path on both"
            )
    return f"{where}: does not take the adapter {adapter.folder} ({refused}). Does it belong to {server.model}?"
