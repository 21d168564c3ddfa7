"""Stages that finish whole or not at all.

A stage writes into a scratch folder beside its iteration's files. When it is done, each file or folder in there is renamed
into place, and only then is the stage entered, with hashes, in ``manifest.json``. A run that is killed anywhere and started
again redoes the stage that was cut short and takes over every stage whose entry still matches its inputs and its files.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError, out_of_room
from amemgym_train.evolution import ranks
from amemgym_train.files import write_json

Work = Callable[[Path], dict[str, Any] | None]
Start = Callable[["Stages", str, dict[str, Any], Work], None]
ENTRY = {"inputs", "outputs", "result", "seconds"}  # of one stage in manifest.json
PRUNED = "pruned"  # of an entry: outputs that were removed since
FORMAT = 2  # of manifest.json, named in it beside the stages


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
    fields = isinstance(value, dict) and set(value) - {PRUNED} == ENTRY
    return fields and all(isinstance(value[name], dict) for name in ("inputs", "outputs", "result"))


def entries_of(path: Path) -> dict[str, dict[str, Any]]:
    """The finished stages that a manifest.json names; none where there is no such file. UserError: it cannot be read."""
    if not path.is_file():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(entries, dict):
            raise ValueError(f"expected an entry of {', '.join(sorted(ENTRY))} for each stage")
        found = entries.pop("format", None)
        if found != FORMAT:
            raise UserError(
                f"{path} was written by another version of amemgym-train (format {found or 1}, this version has {FORMAT}). Go on "
                "with that version, choose another name=..., or delete the file, and its stages are done again"
            )
        if not all(map(is_entry, entries.values())):
            raise ValueError(f"expected an entry of {', '.join(sorted(ENTRY))} for each stage")
        return entries
    except ValueError as error:  # broken JSON and broken UTF-8 are of this kind too
        raise UserError(f"{path} is damaged ({error}); delete it, and its stages are done again") from error


def write_entries(path: Path, entries: dict[str, dict[str, Any]]) -> None:
    write_json(path, {"format": FORMAT, **entries})


def kept(out: Path) -> Path:
    """Where the stage that writes to ``out`` keeps pieces of its work, to go on from after a kill.

    The folder is there while the stage is not finished, and empty when the stage begins with other inputs.
    """
    return out.with_name(out.name.removesuffix(".partial") + ".kept")


class Stages:
    """The stages of one folder. ``label`` names it to the user; ``seconds`` collects every stage's time, spent now or before.

    ``start(stages, name, inputs, work)`` has a stage performed that is not finished (None: here and now).
    """

    def __init__(self, folder: Path, label: str, seconds: dict[str, float], start: Start | None = None) -> None:
        self.folder = folder
        self.label = label
        self.seconds = seconds
        self.start = start or Stages.perform
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "manifest.json"

    def run(self, name: str, inputs: dict[str, Any], work: Work) -> dict[str, Any]:
        """The result of stage ``name``: from the manifest if it finished with the same inputs, else of ``work`` now.

        ``work`` gets an empty folder to write to and returns JSON values; under a distributed launch every process calls it, and
        the main process's result counts. UserError: no room to save the stage, or a damaged manifest.
        """
        inputs = json.loads(json.dumps(inputs))  # as the manifest will give them back
        entry = entries_of(self.path).get(name)
        stale = None if entry is None else self._stale(entry, inputs)
        ranks.wait()  # no process may begin to write while another still reads
        if entry is None or stale:
            if stale and ranks.is_main():
                print(f"{self.label}: {name} is done again, {stale}", flush=True)
            self.start(self, name, inputs, work)
            entry = entries_of(self.path)[name]
        elif ranks.is_main():
            shutil.rmtree(kept(self._scratch(name)), ignore_errors=True)  # of a process that was killed when it had finished
        self.seconds[name] = self.seconds.get(name, 0.0) + entry["seconds"]
        return entry["result"]

    def perform(self, name: str, inputs: dict[str, Any], work: Work) -> None:
        """Do ``work`` in this process, or these, and enter it as stage ``name``."""
        scratch = self._scratch(name)
        if ranks.is_main():
            print(f"{self.label}: {name}", flush=True)
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
            _open_kept(kept(scratch), inputs)
        ranks.wait()
        start = time.perf_counter()
        try:
            result = work(scratch)
            ranks.wait()
            if ranks.is_main():
                outputs = self._publish(scratch)
                seconds = round(time.perf_counter() - start, 3)
                entry = {"inputs": inputs, "outputs": outputs, "result": result or {}, "seconds": seconds}
                write_entries(self.path, {**entries_of(self.path), name: entry})
                shutil.rmtree(kept(scratch), ignore_errors=True)
        except Exception as error:
            if not out_of_room(error):
                raise
            shutil.rmtree(scratch, ignore_errors=True)
            raise UserError(
                f"{self.label}: no space left, stage {name} could not be saved in {self.folder} ({error.__cause__ or error}). "
                "All finished stages are kept: free some space and run the same command again"
            ) from error
        ranks.wait()

    def outputs(self, name: str) -> dict[str, str]:
        """Digests of what the finished stage ``name`` made, by file or folder."""
        return entries_of(self.path)[name]["outputs"]

    def prune(self, names: Iterable[str]) -> None:
        """Remove those of ``names`` that stages made, and let the manifest say so: the stages stay finished."""
        entries, doomed = entries_of(self.path), set(names)
        for entry in entries.values():
            gone = sorted(doomed & set(entry["outputs"]) | set(entry.get(PRUNED, ())))
            if gone:
                entry[PRUNED] = gone
        write_entries(self.path, entries)  # first: a kill in between leaves files that nobody misses
        for name in doomed:
            target = self.folder / name
            shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)

    def _scratch(self, name: str) -> Path:
        return self.folder / f".{name}.partial"

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

    def _stale(self, entry: dict[str, Any], inputs: dict[str, Any]) -> str | None:
        """Why a finished stage cannot be taken over; None if it can."""
        then = entry["inputs"]
        other = sorted(key for key in then.keys() | inputs.keys() if then.get(key) != inputs.get(key))
        if other:
            return f"as what it starts from has changed: {', '.join(other)}"
        there = {name: value for name, value in entry["outputs"].items() if name not in entry.get(PRUNED, ())}
        lost = [name for name, value in there.items() if not (path := self.folder / name).exists() or digest(path) != value]
        return f"as {self.folder / lost[0]} is not what it had saved" if lost else None


def _open_kept(folder: Path, inputs: dict[str, Any]) -> None:
    """Make ``folder``, and empty it if what is in there was begun with other inputs."""
    named = folder / "inputs.json"
    try:
        same = json.loads(named.read_text(encoding="utf-8")) == inputs
    except (OSError, ValueError):
        same = False
    if not same:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_json(named, inputs)
