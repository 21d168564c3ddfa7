"""What lies beside a data file: the settings it was made with and a hash of every item."""

import hashlib
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from amemgym_envs.amemgym.dataset.stream import Entry, canonical
from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.files import read_json, write_json
from amemgym_envs.amemgym.generator import GeneratorConfig
from amemgym_envs.amemgym.generator.people import people
from amemgym_envs.amemgym.languages import pack_folder


def manifest_path(data: Path) -> Path:
    """data.json has data.manifest.json, data.json.gz has data.gz.manifest.json."""
    compressed = ".gz" if data.suffix == ".gz" else ""
    return data.with_name(data.name.removesuffix(".gz").removesuffix(".json") + compressed + ".manifest.json")


def pack_digest(language: str) -> str:
    """sha256 over the files of a language pack."""
    folder = pack_folder(language)
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.yaml")):
        digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def personas_digest(path: str) -> str:
    """sha256 of a file of personas; ScenarioError where there is none."""
    with people(path).path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def settings_of(config: GeneratorConfig) -> dict[str, Any]:
    """The settings as JSON, with hashes of the words and of the persona file that they stand on."""
    hashes = {"language_sha256": pack_digest(config.language)}
    if config.personas:
        hashes["personas_sha256"] = personas_digest(config.personas)
    return asdict(config) | {"domains": list(config.domains)} | hashes


def origin_of(settings: dict[str, Any]) -> str:
    """A hash of what decides over each item; ``num_users`` does not, so that a part may be continued with more users."""
    return hashlib.sha256(canonical({k: v for k, v in settings.items() if k != "num_users"}).encode()).hexdigest()


def write_manifest(data: Path, settings: dict[str, Any], entries: list[Entry]) -> Path:
    path = manifest_path(data)
    about = {"format": 1, **_version(), "data": data.name, "bytes": data.stat().st_size}
    write_json(path, about | {"settings": settings, "items": [asdict(e) for e in entries]})
    return path


def finished(config: GeneratorConfig, data: Path) -> list[Entry] | None:
    """The entries of a data file that is there already: of these settings, whole by its manifest, and as long as it was then.

    None where ``build`` has something to do.
    """
    try:
        manifest = read_manifest(data)
    except ScenarioError:  # a new one will be written
        return None
    if not isinstance(manifest, dict) or not data.is_file() or manifest.get("bytes") != data.stat().st_size:
        return None
    if canonical(manifest.get("settings")) != canonical(settings_of(config)):
        return None
    try:
        entries = [Entry(**entry) for entry in manifest["items"]]
    except (KeyError, TypeError):
        return None
    return entries if len(entries) == config.num_users else None


def _version() -> dict[str, str]:
    """Of the package that is installed; a checkout that is not installed has none."""
    try:
        return {"version": version("amemgym-train")}
    except PackageNotFoundError:
        return {}


def read_manifest(data: Path) -> dict[str, Any] | None:
    """The manifest of a data file; None when there is none."""
    path = manifest_path(data)
    return read_json(path) if path.is_file() else None
