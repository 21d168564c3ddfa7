"""A data file that grows item by item: memory stays flat, and a killed run goes on behind its last whole item.

The bytes are those that ``save_scenarios`` writes. While it grows the file has the name ``.NAME.part``; beside it
``.NAME.part.jsonl`` says for each item where it ends, and from which settings it was made.
"""

import fcntl
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from amemgym_envs.amemgym.errors import ScenarioError


@dataclass(frozen=True)
class Entry:
    """What a manifest says of one item. ``sha256`` is that of ``canonical``, ``tokens`` the estimated conversation length."""

    id: str
    sha256: str
    sessions: int
    tokens: int


def canonical(item: Any) -> str:
    """One text per JSON value, whatever its layout and key order."""
    return json.dumps(item, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(item: Any) -> str:
    return hashlib.sha256(canonical(item).encode("utf-8")).hexdigest()


def laid_out(item: Any) -> str:
    """An item as it stands in the list of a data file."""
    return " " + json.dumps(item, indent=1, ensure_ascii=False).replace("\n", "\n ")


class ItemStream:
    """Appends items to a file. ``origin`` tells the settings: a part of other settings is discarded. Use it in a ``with``.

    ``discarded``: how many items such a part had.
    """

    def __init__(self, path: Path, origin: str) -> None:
        self.path = path
        self.entries: list[Entry] = []
        self.discarded = 0
        self._origin = origin
        self._part = path.parent / f".{path.name}.part"
        self._journal = path.parent / f".{path.name}.part.jsonl"
        self._ends: list[int] = []
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> "ItemStream":
        try:
            if self.path.exists() and not self.path.is_file():
                raise ScenarioError(f"{self.path}: no regular file, so it is not replaced; choose another path")
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self._locked()
            ends = self._recover()
            mode = "r+b" if ends else "w+b"
            self._files = [self._part.open(mode), self._journal.open(mode), lock]
            if not ends:
                self._record({"origin": self._origin})
        except OSError as error:
            raise ScenarioError(f"{self.path}: cannot be written ({error.strerror}); check the path and permissions") from error
        self.keep(len(ends))
        return self

    def keep(self, count: int) -> None:
        """Go on behind the first ``count`` items; what follows them is cut off."""
        del self.entries[count:]
        self._ends = self._ends[:count]
        part, journal, _ = self._files
        part.seek(self._ends[-1] if self._ends else 0)
        part.truncate()
        journal.seek(0)
        for _ in range(count + 1):
            journal.readline()
        journal.seek(journal.tell())  # from reading to writing
        journal.truncate()

    def __exit__(self, *exc: object) -> None:
        for file in self._files:
            with suppress(*[OSError] if any(exc) else []):  # what could not be written is tried again, and told already
                file.close()

    def append(self, text: str, entry: Entry) -> None:
        """Add one item, ``text`` being ``laid_out``."""
        self._write(("[\n" if not self.entries else ",\n") + text)
        end = self._files[0].tell()
        self._record({**asdict(entry), "end": end})
        self.entries.append(entry)
        self._ends.append(end)

    def finish(self) -> None:
        """Close the list and give the file its name; the part is gone then."""
        self._write("\n]" if self.entries else "[]")
        self.__exit__()
        self._part.replace(self.path)
        self._journal.unlink()

    def _write(self, text: str) -> None:
        raw = text.encode("utf-8")
        if self.path.suffix == ".gz":
            raw = gzip.compress(raw, mtime=0)  # a gzip file may have many members
        self._put(0, raw)

    def _record(self, line: dict[str, Any]) -> None:
        self._put(1, json.dumps(line).encode() + b"\n")

    def _put(self, file: int, raw: bytes) -> None:
        try:
            self._files[file].write(raw)
            self._files[file].flush()
        except OSError as error:
            kept = f"{len(self.entries)} items are kept; free some space and run the same command again to go on"
            raise ScenarioError(f"{self.path}: cannot be written ({error.strerror}); {kept}") from error

    def _locked(self) -> IO[bytes]:
        """The journal, held so that no other process writes the same file at the same time."""
        file = self._journal.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise ScenarioError(f"{self.path}: another process is writing it; wait for that one, or name another path") from error
        return file

    def _recover(self) -> list[int]:
        """Where the items end that lie whole and unchanged in the part; empty when there is no part of these settings."""
        self.entries, self._ends, self.discarded = [], [], 0
        if not (self._part.is_file() and self._journal.is_file()):
            return []
        lines = list(_whole_lines(self._journal))
        if not lines or lines[0] != {"origin": self._origin}:
            self.discarded = len(lines[1:])
            return []
        with self._part.open("rb") as part:
            for line in lines[1:]:
                start = self._ends[-1] if self._ends else 0
                entry, end = _recorded(line)
                if entry is None or end <= start or not self._holds(part.read(end - start), entry):
                    break  # what follows is generated again
                self.entries.append(entry)
                self._ends.append(end)
        return self._ends

    def _holds(self, raw: bytes, entry: Entry) -> bool:
        """Whether these bytes of the part are the item that the journal says."""
        try:
            text = (gzip.decompress(raw) if self.path.suffix == ".gz" else raw).decode("utf-8")
            item = json.loads(text[len("[\n") :])
        except (ValueError, EOFError, gzip.BadGzipFile, zlib.error):
            return False
        return isinstance(item, dict) and item.get("id") == entry.id and digest(item) == entry.sha256


def _recorded(line: Any) -> tuple[Entry | None, int]:
    """The entry of a journal's line and where its item ends; None for a line that was damaged."""
    kinds = {"id": str, "sha256": str, "sessions": int, "tokens": int, "end": int}
    if not isinstance(line, dict) or {key: type(value) for key, value in line.items()} != kinds:
        return None, 0
    return Entry(**{key: value for key, value in line.items() if key != "end"}), line["end"]


def _whole_lines(path: Path) -> Iterator[Any]:
    """The lines of a journal; a torn last one is left out, and so is what follows a damaged one."""
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            yield json.loads(line)
        except ValueError:
            return
