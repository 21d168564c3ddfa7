"""Personas from a file, parquet or JSONL, under the column names of Nemotron-Personas; only the row asked for is read.

Columns: https://huggingface.co/datasets/nvidia/Nemotron-Personas (``persona``, ``sex``, ``age``, ``marital_status``, ...).
"""

import json
import math
import re
from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path
from typing import Any

from amemgym_envs.amemgym.errors import ScenarioError

NEEDED = ("persona", "sex", "age", "marital_status", "education_level", "occupation")
_LISTS = ("hobbies_and_interests", "skills_and_expertise")
_TEXTS = ("name", "persona", "sex", "marital_status", "education_level", "occupation", "bachelors_field", *_LISTS)
_NAME = re.compile(r"((?:[^\W\d_a-z][\w'’.-]*\s+){1,3}[^\W\d_a-z][\w'’-]+)")  # capitalised words at the start of a text


class People(ABC):
    """The personas of one file, by row."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def read(self, row: int) -> dict[str, Any]:
        """The row's columns as they are."""

    def row(self, row: int) -> dict[str, Any]:
        """The row as keys of a user profile; a name is one of its own column or opens its texts, else it is missing."""
        columns = self.read(row)
        if missing := [name for name in NEEDED if name not in columns]:
            raise ScenarioError(f"{self.path}, row {row}: no {', '.join(missing)}; expected the columns {', '.join(NEEDED)}")
        columns |= {key: text for key in _LISTS if (text := _listed(columns.get(f"{key}_list")))}
        self._check(row, columns)
        texts = [str(columns[key]) for key in columns if key.endswith("persona") and columns[key]]
        named = [name for name in map(_named, texts) if name]
        field = columns.get("bachelors_field")
        education = f"{columns['education_level']} ({field})" if field else columns["education_level"]
        profile = {
            "name": columns.get("name") or (named[0] if named else None),
            "age": columns["age"],
            "gender": columns["sex"],
            "marital_status": columns["marital_status"],
            "education_level": education,
            "occupation": columns["occupation"],
            "complementary_info": columns["persona"],
        }
        return profile | {key: columns.get(key) for key in _LISTS}

    def _check(self, row: int, columns: dict[str, Any]) -> None:
        """ScenarioError for a value that a profile cannot hold. A missing number is none."""
        for key in _TEXTS:
            if not isinstance(columns.get(key), str | None):
                raise ScenarioError(f"{self.path}, row {row}: {key} is {columns[key]!r}, expected a text")
        age = columns["age"]
        if isinstance(age, float) and math.isnan(age):
            columns["age"] = None
        elif isinstance(age, bool) or not isinstance(age, int | float | str | None) or age in (math.inf, -math.inf):
            raise ScenarioError(f"{self.path}, row {row}: age is {age!r}, expected a number")
        try:
            "".join(str(columns.get(key)) for key in (*_TEXTS, "age")).encode("utf-8")
        except UnicodeEncodeError as error:
            raise ScenarioError(f"{self.path}, row {row}: half of a character in its texts ({error}); mend that row") from error


class ParquetPeople(People):
    """Row groups are decoded when a row of theirs is asked for."""

    def __init__(self, path: Path) -> None:
        import pyarrow
        from pyarrow import parquet

        super().__init__(path)
        try:
            self._file = parquet.ParquetFile(path)
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise ScenarioError(f"{path}: no readable parquet file ({error}); download it again") from error
        self._starts = [0]
        for group in range(self._file.num_row_groups):
            self._starts.append(self._starts[-1] + self._file.metadata.row_group(group).num_rows)
        self._group: tuple[int, Any] | None = None

    def __len__(self) -> int:
        return self._starts[-1]

    def read(self, row: int) -> dict[str, Any]:
        import pyarrow

        group = next(i for i, start in enumerate(self._starts[1:]) if row < start)
        try:
            if self._group is None or self._group[0] != group:
                self._group = group, self._file.read_row_group(group)
            return self._group[1].slice(row - self._starts[group], 1).to_pylist()[0]
        except (OSError, pyarrow.ArrowException, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split())
            raise ScenarioError(f"{self.path}, row {row}: cannot be read ({reason}); download the file again") from error


class JsonlPeople(People):
    """Only the places of the lines are kept in memory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._places: list[int] = []
        place = 0
        with path.open("rb") as file:
            for line in file:
                if line.strip():
                    self._places.append(place)
                place += len(line)

    def __len__(self) -> int:
        return len(self._places)

    def read(self, row: int) -> dict[str, Any]:
        with self.path.open("rb") as file:
            file.seek(self._places[row])
            line = file.readline()
        try:
            columns = json.loads(line)
        except ValueError as error:
            raise ScenarioError(f"{self.path}, row {row}: no valid JSON ({error}); expected one object per line") from error
        if not isinstance(columns, dict):
            raise ScenarioError(f"{self.path}, row {row}: got a {type(columns).__name__}, expected an object")
        return columns


@cache
def people(path: str) -> People:
    """Open a file of personas once per process; ScenarioError for one that is absent, empty, or of another kind."""
    kinds: dict[str, type[People]] = {".parquet": ParquetPeople, ".jsonl": JsonlPeople}
    file = Path(path)
    if file.suffix not in kinds or not file.is_file():
        raise ScenarioError(f"personas: {path} is no file that ends in {' or '.join(kinds)}; check the path")
    found = kinds[file.suffix](file)
    if not len(found):
        raise ScenarioError(f"personas: {path} has no rows")
    return found


def _named(text: str) -> str | None:
    """The name that opens a text: at least two of its capitalised words have two letters or more ("A Careful ..." is none)."""
    match = _NAME.match(text)
    words = match.group(1).split() if match else []
    known = [word for word in words if sum(map(str.isalpha, word)) > 1]
    return match.group(1) if match and len(known) > 1 and not any(word[0].islower() for word in words) else None


def _listed(text: Any) -> str:
    """["a", "b"], or a text that shows such a list, as "a, b"; empty for anything else."""
    if isinstance(text, list):
        return ", ".join(map(str, text))
    quoted = re.findall(r"'((?:[^'\\]|\\.|'(?=\w))*)'|\"([^\"]*)\"", text) if isinstance(text, str) else []
    return ", ".join(single or double for single, double in quoted)
