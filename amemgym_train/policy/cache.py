"""The user's cache of models that are made on first use."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    """``$AMEMGYM_TRAIN_CACHE``, or ``amemgym-train`` below ``$XDG_CACHE_HOME`` (``~/.cache``)."""
    own = os.environ.get("AMEMGYM_TRAIN_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "amemgym-train"


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """The cache's folder ``name``. Where there is none, ``make`` fills a scratch folder that then takes the name."""
    target = cache_folder() / name
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=target.parent))
    try:
        make(scratch)
        scratch.rename(target)
    except OSError:
        if not target.is_dir():  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target
