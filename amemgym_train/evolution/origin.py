"""With what a run was made: versions, the toolkit's commit, the command."""

import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import amemgym_train

PACKAGES = ("torch", "transformers", "trl", "peft", "accelerate", "deepspeed", "datasets", "gymnasium", "vllm", "wandb")


def versions() -> dict[str, Any]:
    """JSON values: ``toolkit``, its git ``commit`` (None without one), ``python``, installed ``packages``, ``command``."""
    return {
        "toolkit": amemgym_train.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }


def commit() -> str | None:
    """That of the repository that the toolkit is run from, marked where files differ from it."""
    folder = Path(amemgym_train.__file__).resolve().parents[1]
    if not (folder / ".git").exists():  # installed, perhaps below somebody else's repository
        return None
    try:
        words = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--match="]
        asked = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() or None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
