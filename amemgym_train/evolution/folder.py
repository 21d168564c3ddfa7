"""The folder of a run: who works in it, whose run it is, and what it is called from outside."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from amemgym_train.config.load import UNHASHED
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evaluation.settings import differing
from amemgym_train.files import write_json

ENDING_S = 45  # how long the processes of a run may take to end after the one that started them was killed


@contextmanager
def claimed(folder: Path, instead: str = "another name=... or output=...") -> Iterator[TextIO]:
    """Hold the run folder, so that no second process writes into it. The lock goes with this process, however it ends.

    It is handed to the processes that this one starts by the file that is yielded (``launcher``), and lasts until they have
    ended, too. ``instead``: what the user may choose when it cannot be held.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise UserError(f"{folder}: no folder can be made there ({error}); choose {instead}") from error
    with (folder / ".lock").open("a+") as file:
        deadline = time.monotonic() + ENDING_S
        while not _locked(file):
            holder = _holder(file)
            if not _has_ended(holder) or time.monotonic() > deadline:
                raise UserError(f"{folder}: {_told(holder)} works on this run; wait for it, or choose {instead}")
            time.sleep(0.2)
        file.seek(0)
        file.truncate()
        json.dump({"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}, file)
        file.flush()
        yield file


def holder(folder: Path) -> str | None:
    """Who works on the run in ``folder``, as a phrase; None: nobody. Writes nothing and does not wait."""
    path = folder / ".lock"
    if not path.is_file():
        return None
    with path.open() as file:
        return None if _locked(file, fcntl.LOCK_SH) else _told(_holder(file))


def _locked(file: TextIO, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: TextIO) -> dict[str, Any]:
    """What the holder of the lock wrote about itself; nothing if it has not come to that."""
    file.seek(0)
    try:
        found = json.loads(file.read())
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _has_ended(holder: dict[str, Any]) -> bool:
    """Whether the process that took the lock is gone, and only processes that it had started still hold it."""
    if holder.get("host") != socket.gethostname() or not isinstance(holder.get("pid"), int):
        return False
    try:
        os.kill(holder["pid"], 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _told(holder: dict[str, Any]) -> str:
    if not holder:
        return "another process"
    return f"process {holder.get('pid')} on {holder.get('host')} (since {holder.get('since')})"


def adopt(recipe: Recipe, folder: Path) -> None:
    """Write config.json; once a stage has finished only that of the same recipe, so that one run never mixes two."""
    check_same(recipe, folder)
    write_json(folder / "config.json", recipe.model_dump(mode="json"))


def stored(folder: Path) -> Recipe:
    """The recipe of the run in ``folder``. UserError: its config.json is missing or cannot be read."""
    path = folder / "config.json"
    try:
        return Recipe.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        lost = f"{path} is missing, so it cannot be said whose run this is"
        raise UserError(f"{lost}; choose another name=..., or put it back") from error
    except ValueError as error:
        raise UserError(
            f"{path} is damaged or from another version ({str(error).splitlines()[0]}). Put it back as it was, or choose "
            "another name=..."
        ) from error


def check_same(recipe: Recipe, folder: Path) -> None:
    """UserError when stages have finished in ``folder`` that are not known to be of ``recipe``."""
    if not any(folder.rglob("manifest.json")):
        return
    keys = changed(stored(folder), recipe)
    if keys:
        raise UserError(
            f"{folder} holds a run of another recipe; it differs in {', '.join(keys)}. Put that back, choose another name=..., "
            "go on with the new recipe from where this run is with --fork NAME, or delete the folder to start over"
        )


def changed(old: Recipe, new: Recipe) -> list[str]:
    """The dotted keys in which two recipes differ and that decide what an iteration computes."""
    return differing(*(one.model_dump(mode="json", exclude=UNHASHED) for one in (old, new)))


def link(folder: Path, name: str, target: Path) -> None:
    """Let ``name`` in the run folder lead to ``target``, a folder in there."""
    scratch = folder / f".{name}.partial"
    scratch.unlink(missing_ok=True)
    scratch.symlink_to(target.relative_to(folder), target_is_directory=True)
    scratch.replace(folder / name)
