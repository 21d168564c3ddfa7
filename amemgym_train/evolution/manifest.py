"""Stages that finish whole or not at all.

A stage writes into a scratch folder beside its iteration's files. When it is done, each file or folder in there is renamed
into place, and only then is the stage entered, with hashes, in ``manifest.json``. A run that is killed anywhere and started
again redoes the stage that was cut short and takes over every stage whose entry still matches its inputs and its files.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError, out_of_room
from amemgym_train.evolution import ranks
from amemgym_train.files import write_json

Work = Callable[[Path], dict[str, Any] | None]
ENTRY = {"inputs", "outputs", "result", "seconds"}  # of one stage in manifest.json


def digest(path: Path) -> str:
    """SHA-256 of a file, or of a folder's file names and contents."""
    hashed = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        hashed.update(file.relative_to(path.parent).as_posix().encode())
        with file.open("rb") as stream:
            hashed.update(hashlib.file_digest(stream, "sha256").digest())
    return hashed.hexdigest()


def is_entry(value: Any) -> bool:
    """Whether a value of manifest.json has the shape of a stage's entry."""
    fields = isinstance(value, dict) and set(value) == ENTRY
    return fields and all(isinstance(value[name], dict) for name in ("inputs", "outputs", "result"))


def entries_of(path: Path) -> dict[str, dict[str, Any]]:
    """The finished stages that a manifest.json names; none where there is no such file."""
    if not path.is_file():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(entries, dict) or not all(map(is_entry, entries.values())):
            raise ValueError(f"expected an entry of {', '.join(sorted(ENTRY))} for each stage")
        return entries
    except ValueError as error:  # broken JSON and broken UTF-8 are of this kind too
        raise UserError(f"{path} is damaged ({error}); delete it, and its stages are done again") from error


class Stages:
    """The stages of one folder. ``label`` names it to the user; ``seconds`` collects every stage's time, spent now or before."""

    def __init__(self, folder: Path, label: str, seconds: dict[str, float]) -> None:
        self.folder = folder
        self.label = label
        self.seconds = seconds
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "manifest.json"

    def run(self, name: str, inputs: dict[str, Any], work: Work) -> dict[str, Any]:
        """The result of stage ``name``: from the manifest if it finished with the same inputs, else of ``work`` now.

        ``work`` gets an empty folder to write to and returns JSON values; under a distributed launch every process calls it, and
        the main process's result counts. UserError: no room to save the stage, or a damaged manifest.
        """
        entry = entries_of(self.path).get(name)
        done = entry is not None and entry["inputs"] == inputs and self._intact(entry["outputs"])
        ranks.wait()  # no process may begin to write while another still reads
        if not done:
            self._work(name, inputs, work)
            entry = entries_of(self.path)[name]
        self.seconds[name] = self.seconds.get(name, 0.0) + entry["seconds"]
        return entry["result"]

    def _work(self, name: str, inputs: dict[str, Any], work: Work) -> None:
        scratch = self.folder / f".{name}.partial"
        if ranks.is_main():
            print(f"{self.label}: {name}", flush=True)
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
        ranks.wait()
        start = time.perf_counter()
        try:
            result = work(scratch)
            ranks.wait()
            if ranks.is_main():
                outputs = self._publish(scratch)
                seconds = round(time.perf_counter() - start, 3)
                entry = {"inputs": inputs, "outputs": outputs, "result": result or {}, "seconds": seconds}
                write_json(self.path, {**entries_of(self.path), name: entry})
        except Exception as error:
            if not out_of_room(error):
                raise
            shutil.rmtree(scratch, ignore_errors=True)
            raise UserError(
                f"{self.label}: no space left, stage {name} could not be saved in {self.folder} ({error.__cause__ or error}). "
                "All finished stages are kept: free some space and run the same command again"
            ) from error
        ranks.wait()

    def _publish(self, scratch: Path) -> dict[str, str]:
        outputs = {}
        for source in sorted(scratch.iterdir()):
            target = self.folder / source.name
            if target.is_dir():
                shutil.rmtree(target)
            source.replace(target)
            outputs[source.name] = digest(target)
        scratch.rmdir()
        return outputs

    def _intact(self, outputs: dict[str, str]) -> bool:
        return all((self.folder / name).exists() and digest(self.folder / name) == value for name, value in outputs.items())
