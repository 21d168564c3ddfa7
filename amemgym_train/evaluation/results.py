"""Result folders of the public AMemGym code: which runs a folder holds, and their files with every cell checked.

Layout: <results>/<agent>/<user id>/{overall,diagnosis}_results.json, a list [period][question] of objects, and
<results>/upperbound/<user id>.json, a list [question][choice]; each file plain or gzipped (.json.gz).
"""

import gzip
import json
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError

UPPER = "upperbound"
ANSWERS, PROBES = "overall_results", "diagnosis_results"
ENDINGS = (".json", ".json.gz")


@dataclass(frozen=True)
class Run:
    """One agent's results for one user."""

    agent: str
    user: str
    folder: Path

    @property
    def upper_places(self) -> list[Path]:
        """The folders where the upper bound of the user may be: beside the agent's folder, or in it."""
        agent = self.folder.parent
        return [agent.parent / UPPER, agent / UPPER]


@dataclass(frozen=True)
class ResultFile:
    """A table of replies of one user; ``axes`` names its two dimensions."""

    path: Path
    user: str
    axes: tuple[str, str]
    rows: list[list[dict[str, Any]]]

    def reply(self, row: int, column: int) -> str:
        """The raw text of one reply; UserError if it is not text."""
        text = self.rows[row][column].get("raw_response")
        if not isinstance(text, str):
            raise UserError(f"{self.place(row, column)}: field raw_response is {text!r}; expected the text of the reply")
        return text

    def check(self, row: int, column: int, field: str, expected: Any) -> None:
        """UserError if the stored ``field`` is there and differs: then the results were made with another data file."""
        found = self.rows[row][column].get(field, expected)
        if found != expected:
            raise UserError(
                f"{self.place(row, column)}: field {field} is {found!r}, the data file says {expected!r}; "
                "give the data file that these results were made with"
            )

    def place(self, row: int, column: int) -> str:
        return f"{self.path}: user {self.user}, {self.axes[0]} {row}, {self.axes[1]} {column}"


def find_runs(results: Path, users: Collection[str]) -> list[Run]:
    """The runs in ``results``: the folder of all agents, of one, or of one user. A run is known by its name (an id) or files."""
    if not results.is_dir():
        raise UserError(f"{results} is not a folder; give the folder of the results (<agent>/<user id>/{ANSWERS}.json)")
    runs = [
        Run(folder.parent.name, folder.name, folder)
        for folder in _folders(results.resolve(), depth=2)
        if folder.name in users or find_file(folder, ANSWERS) or find_file(folder, PROBES)
    ]
    if not runs:
        raise UserError(f"{results}: no results found; expected <agent>/<user id>/{ANSWERS}.json (or .json.gz) in it")
    for run in runs:
        if run.user not in users:
            raise UserError(f"{run.folder}: user id {run.user} is not in the data file; its ids: {', '.join(sorted(users))}")
    return runs


def find_file(folder: Path, stem: str) -> Path | None:
    return next((path for ending in ENDINGS if (path := folder / f"{stem}{ending}").is_file()), None)


def open_run_file(run: Run, stem: str, sizes: Sequence[int]) -> ResultFile:
    """Read ``stem`` of a run: [period][question], ``sizes`` questions for each period. UserError if it is missing or unfit."""
    path = find_file(run.folder, stem)
    if path is None:
        raise UserError(
            f"{run.folder}: user {run.user} of agent {run.agent} has no {stem}.json or {stem}.json.gz; "
            "finish that evaluation, or leave the user's folder out"
        )
    return _read(path, run.user, ("period", "question"), sizes)


def open_upper(run: Run, sizes: Sequence[int]) -> ResultFile | None:
    """Read the upper bound of the run's user: [question][choice], ``sizes`` choices for each question. None without a file."""
    paths = [path for place in run.upper_places if (path := find_file(place, run.user))]
    return _read(paths[0], run.user, ("question", "choice"), sizes) if paths else None


def _folders(root: Path, depth: int) -> Iterator[Path]:
    yield root
    if depth:
        for child in sorted(root.iterdir()):
            if child.is_dir() and child.name != UPPER:
                yield from _folders(child, depth - 1)


def _read(path: Path, user: str, axes: tuple[str, str], sizes: Sequence[int]) -> ResultFile:
    rows = _load(path, user)
    _fits(rows, len(sizes), f"{path}: user {user}", axes[0])
    for index, (row, size) in enumerate(zip(rows, sizes, strict=True)):
        _fits(row, size, f"{path}: user {user}, {axes[0]} {index}", axes[1])
        for column, item in enumerate(row):
            if not isinstance(item, dict):
                raise UserError(f"{path}: user {user}, {axes[0]} {index}, {axes[1]} {column} is {item!r}; expected an object")
    return ResultFile(path, user, axes, rows)


def _fits(found: Any, size: int, place: str, axis: str) -> None:
    if not isinstance(found, list) or len(found) != size:
        got = f"{len(found)} {axis}s" if isinstance(found, list) else f"a {type(found).__name__}"
        raise UserError(
            f"{place}: got {got}, expected {size} {axis}s; finish that evaluation, or give the data file it was made with"
        )


def _load(path: Path, user: str) -> Any:
    try:
        raw = path.read_bytes()
        return json.loads((gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8"))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"{path}: user {user}: broken JSON at {place} ({error.msg}); copy the file again") from error
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise UserError(f"{path}: user {user}: cannot be read ({error}); copy the file again") from error
