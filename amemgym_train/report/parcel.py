"""What ``push`` sends: the best adapter of a run as others can load it, its card, its recipe, and the manifest it came from."""

import json
from pathlib import Path

from amemgym_train.errors import UserError
from amemgym_train.evolution.manifest import digest
from amemgym_train.report.card import card
from amemgym_train.report.origin import Base, base_of, masked, recipe_yaml
from amemgym_train.report.record import Iteration, Record

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
TOKENIZER = ("tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "chat_template.*")
Parcel = dict[str, Path | bytes]  # name in the repository: the file of the run, or what is made for it


def parcel(record: Record, repo: str, hub_base: str | None = None) -> Parcel:
    """The files to send, by name. ``hub_base``: the hub id of a base model that the recipe names by a local folder.

    UserError: no adapter passed its gate, a file is not the one that its stage saved, or nobody else could find the base model.
    """
    best = record.best
    if not record.config or best is None or not best.made("adapter"):
        why = "its config.json cannot be read" if not record.config else "no iteration with an adapter has passed its gate"
        raise UserError(f"{record.folder}: nothing to push, {why}; see amemgym-train report {record.folder}")
    folder = _checked(best, "adapter")
    base = _findable(record, hub_base)
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    settings = config | {"base_model_name_or_path": base.hub or base.name}
    told = (folder / CONFIG).read_bytes() if settings == config else (json.dumps(settings, indent=2) + "\n").encode()
    words: Parcel = {}
    if best.made("prompts"):
        words = {f"prompts/{path.name}": path for path in sorted(_checked(best, "prompts").iterdir()) if path.is_file()}
    tokenizer = {path.name: path for pattern in TOKENIZER for path in sorted(folder.glob(pattern)) if path.is_file()}
    return {
        "README.md": (card(record, repo, base) or "").encode(),
        CONFIG: told,
        WEIGHTS: folder / WEIGHTS,
        **tokenizer,
        **words,
        "recipe.yaml": recipe_yaml(record).encode(),
        "manifest.json": best.folder / "manifest.json",
    }


def _checked(best: Iteration, name: str) -> Path:
    """The folder ``name`` of the iteration. UserError: it is not what the manifest says."""
    [expected] = [entry["outputs"][name] for entry in best.entries.values() if name in entry["outputs"]]
    path = best.folder / name
    found = digest(path) if path.is_dir() else "nothing"
    if found != expected or (name == "adapter" and not all((path / one).is_file() for one in (WEIGHTS, CONFIG))):
        raise UserError(
            f"{path} is not what its stage saved: got SHA-256 {found}, expected {expected} as in "
            f"{best.folder / 'manifest.json'}. Nothing was sent. "
            "Put the files back, or run evolve again, which does that stage again"
        )
    return path


def _findable(record: Record, hub_base: str | None) -> Base:
    base = base_of(record)
    if hub_base is not None:
        return Base(hub_base, hub_base)
    if base.hub is None and base.name != "quickstart":  # which the toolkit builds anywhere
        raise UserError(
            f"policy.model is a folder of this machine ({masked(base.name)}), where nobody else finds the base model of this "
            "adapter. Nothing was sent. Name it with --base OWNER/NAME"
        )
    return base
