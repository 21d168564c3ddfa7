"""How near a sheet is to the one that a task expects."""

import json
from typing import Any, NamedTuple

from amemgym_envs.sheet.cells import Cell, content, position, same_cell
from amemgym_envs.sheet.workbook import Sheet
from amemgym_envs.toolkit import ToolError


class Expected(NamedTuple):
    """``notes``: None where they do not count."""

    values: list[list[str]]
    notes: dict[Cell, str] | None = None

    def share(self, sheet: Sheet) -> float:
        """The share of cells that are as expected among those of both: a sheet that is too small or too large is not right."""
        values, notes = sheet.values(), sheet.notes if self.notes is not None else {}
        expected = self.notes or {}
        height, width = max(len(values), len(self.values)), max(_width(values), _width(self.values))
        equal = union = 0
        for row in range(height):
            for col in range(width):
                one, other = _at(values, row, col), _at(self.values, row, col)
                noted = (row + 1, col + 1)
                if one is not None or other is not None:
                    union += 1
                    equal += (one is not None and other is not None and same_cell(one, other)
                              and notes.get(noted, "").strip() == expected.get(noted, "").strip())
        return equal / union if union else 1.0

    def overlap(self, sheet: Sheet) -> float:
        """AgentGym's score: the share of equal cells among those that both have."""
        values = sheet.values()
        height, width = min(len(values), len(self.values)), min(_width(values), _width(self.values))
        equal = sum(same_cell(values[row][col], self.values[row][col]) for row in range(height) for col in range(width))
        return equal / (height * width) if height and width else 0.0


def expected(answer: Any) -> Expected | None:
    """What ``answer`` expects: a grid, one as JSON as in AgentGym's files, or an object with ``values`` and ``notes``. None: it
    is no grid, but a value to answer with."""
    if isinstance(answer, str):
        try:
            answer = json.loads(answer) if answer.lstrip().startswith("[") else None
        except (ValueError, RecursionError):
            return None
    noted = answer.get("notes") if isinstance(answer, dict) else None
    rows = answer.get("values") if isinstance(answer, dict) else answer
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) for row in rows):
        return None
    try:
        width = max(map(len, rows))
        values = [[content(value) for value in row] + [""] * (width - len(row)) for row in rows]
        return Expected(values, None if noted is None else {position(where): text for where, text in noted.items()})
    except ToolError:
        return None


def _width(rows: list[list[str]]) -> int:
    return len(rows[0]) if rows else 0


def _at(rows: list[list[str]], row: int, col: int) -> str | None:
    return rows[row][col] if row < len(rows) and col < len(rows[row]) else None
