"""Data files of many users: written as a stream, with a manifest of what is in them."""

from amemgym_envs.amemgym.dataset.build import build, save
from amemgym_envs.amemgym.dataset.manifest import finished, manifest_path, read_manifest, settings_of

__all__ = ["build", "finished", "manifest_path", "read_manifest", "save", "settings_of"]
