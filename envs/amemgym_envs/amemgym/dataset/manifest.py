"""What lies beside a data file: the settings it was made with and a hash of every item."""

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from amemgym_envs.amemgym.dataset.stream import Entry, canonical
from amemgym_envs.amemgym.files import read_json, write_json
from amemgym_envs.amemgym.generator import GeneratorConfig
from amemgym_envs.amemgym.languages import pack_folder


def manifest_path(data: Path) -> Path:
    """data.json and data.json.gz have data.manifest.json."""
    return data.with_name(data.name.removesuffix(".gz").removesuffix(".json") + ".manifest.json")


def pack_digest(language: str) -> str:
    """sha256 over the files of a language pack."""
    folder = pack_folder(language)
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.yaml")):
        digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def settings_of(config: GeneratorConfig) -> dict[str, Any]:
    """The settings as JSON, with the words they stand on."""
    return asdict(config) | {"domains": list(config.domains), "language_sha256": pack_digest(config.language)}


def origin_of(settings: dict[str, Any]) -> str:
    """A hash of what decides over each item; ``num_users`` does not, so that a part may be continued with more users."""
    return hashlib.sha256(canonical({k: v for k, v in settings.items() if k != "num_users"}).encode()).hexdigest()


def write_manifest(data: Path, settings: dict[str, Any], entries: list[Entry]) -> Path:
    path = manifest_path(data)
    write_json(path, {"format": 1, "data": data.name, "settings": settings, "items": [asdict(e) for e in entries]})
    return path


def read_manifest(data: Path) -> dict[str, Any] | None:
    """The manifest of a data file; None when there is none."""
    path = manifest_path(data)
    return read_json(path) if path.is_file() else None
