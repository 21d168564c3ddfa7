"""Personas from a file, parquet or JSONL, under the column names of Nemotron-Personas; only the row asked for is read.

Columns: https://huggingface.co/datasets/nvidia/Nemotron-Personas (``persona``, ``sex``, ``age``, ``marital_status``, ...).
"""

import json
import re
from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path
from typing import Any

from amemgym_envs.amemgym.errors import ScenarioError

NEEDED = ("persona", "sex", "age", "marital_status", "education_level", "occupation")
_LISTS = ("hobbies_and_interests", "skills_and_expertise")
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
        texts = [str(columns[key]) for key in columns if key.endswith("persona") and columns[key]]
        named = [match.group(1) for match in map(_NAME.match, [str(columns.get("name") or ""), *texts]) if match]
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
        return profile | {key: _listed(columns.get(f"{key}_list")) or columns.get(key) for key in _LISTS}


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
        group = next(i for i, start in enumerate(self._starts[1:]) if row < start)
        if self._group is None or self._group[0] != group:
            self._group = group, self._file.read_row_group(group)
        return self._group[1].slice(row - self._starts[group], 1).to_pylist()[0]


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


def _listed(text: Any) -> str:
    """["a", "b"], or a text that shows such a list, as "a, b"; empty for anything else."""
    if isinstance(text, list):
        return ", ".join(map(str, text))
    quoted = re.findall(r"'((?:[^'\\]|\\.|'(?=\w))*)'|\"([^\"]*)\"", text) if isinstance(text, str) else []
    return ", ".join(single or double for single, double in quoted)
