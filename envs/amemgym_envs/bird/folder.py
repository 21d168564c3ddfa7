"""A folder in BIRD's layout: question files in JSON and databases in <db_id>/<db_id>.sqlite."""

import json
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any

from amemgym_envs.bird.database import Database, from_file
from amemgym_envs.bird.guard import Limits
from amemgym_envs.bird.question import Question

SPLITS = ("train", "validation", "test")


class Folder:
    """``questions``: a file within ``folder``, whose questions are the test split, or {split: file}.

    A database is looked for beside its question file: in <db_id>/, or in *_databases/<db_id>/, as BIRD's archives unpack.
    A task is called "<split>-<question_id>"; where a file has no ids, the place in it, from 0, stands for them. ValueError: a
    file that is missing or outside the folder, a question without database or SQL, an id twice.
    """

    def __init__(self, folder: str | Path, questions: str | Mapping[str, str], limits: Limits) -> None:
        self.root, self.limits = Path(folder).resolve(), limits
        if not self.root.is_dir():
            raise ValueError(f"BIRD: folder {str(folder)!r} does not exist")
        files = {"test": questions} if isinstance(questions, str) else dict(questions)
        if unknown := [split for split in files if split not in SPLITS]:
            raise ValueError(f"BIRD: questions are for the split {unknown[0]!r}, expected one of {', '.join(SPLITS)}")
        self._paths: dict[tuple[Path, str], Path] = {}
        self._open: dict[Path, Database] = {}
        self._lock = Lock()
        self._questions: dict[str, tuple[Question, Path]] = {}
        self.splits: dict[str, list[str]] = {split: [] for split in SPLITS}
        for split, file in files.items():
            self._read(split, file)

    def question(self, task: str) -> Question:
        return self._questions[task][0]

    def database(self, task: str) -> Database:
        path = self._questions[task][1]
        with self._lock:
            if path not in self._open:
                self._open[path] = Database(path.stem, partial(from_file, path), self.limits)
            return self._open[path]

    @cached_property
    def order(self) -> list[str]:
        """All tasks in the order of the files: AgentGym numbers those of train.json first, then those of dev.json."""
        return list(self._questions)

    def _read(self, split: str, file: str) -> None:
        path = self._confined(self.root / file, f"question file {file!r}")
        if not path.is_file():
            raise ValueError(f"BIRD: question file {file!r} is not in {self.root}")
        try:
            records = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"BIRD: {file} is no JSON: {error}") from None
        if not isinstance(records, list):
            raise ValueError(f"BIRD: {file} holds a {type(records).__name__}, expected a list of questions")
        for place, record in enumerate(records):
            where = f"BIRD: {file}, question {place}"
            question = _question(record, where)
            task = f"{split}-{record.get('question_id', place)}"
            if task in self._questions:
                raise ValueError(f"{where}: the id {task} is there twice")
            self._questions[task] = question, self._database(path.parent, question.database, where)
            self.splits[split].append(task)

    def _database(self, beside: Path, name: str, where: str) -> Path:
        if (beside, name) not in self._paths:
            if not name or name in (".", "..") or any(sign in name for sign in "/\\\0:"):
                raise ValueError(f"{where}: db_id is {name!r}, which is no name of a folder")
            inside = Path(name, f"{name}.sqlite")
            nested = sorted(beside.glob(f"*_databases/{_literal(inside)}"))
            found = [path for path in (beside / inside, *nested) if path.is_file()]
            if not found:
                raise ValueError(f"{where}: the database {name!r} is missing; expected {inside} in {beside} or its *_databases")
            self._paths[beside, name] = self._confined(found[0], f"database {name!r}")
        return self._paths[beside, name]

    def _confined(self, path: Path, what: str) -> Path:
        path = path.resolve()
        if not path.is_relative_to(self.root):
            raise ValueError(f"BIRD: the {what} lies outside {self.root}")
        return path


def _literal(path: Path) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path.as_posix())


def _question(record: Any, where: str) -> Question:
    if not isinstance(record, dict):
        raise ValueError(f"{where} is a {type(record).__name__}, expected an object")
    for key in ("db_id", "question", "SQL"):
        if not isinstance(record.get(key), str) or not record[key].strip():
            raise ValueError(f"{where}: {key} is {record.get(key)!r}, expected text")
    evidence, difficulty = record.get("evidence") or "", record.get("difficulty") or ""
    return Question(record["db_id"], record["question"].strip(), str(evidence).strip(), record["SQL"].strip(), str(difficulty))
