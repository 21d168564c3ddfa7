"""Positions in A1 notation, and what a cell may hold."""

import re
from typing import Any

from amemgym_envs.toolkit import ToolError

MOST_ROWS, MOST_COLS = 100, 26
LONGEST = 200  # characters of a cell
POSITION = re.compile(r"\s*\$?([A-Za-z])\$?([1-9][0-9]{0,2})\s*")
NUMBER = re.compile(r"\s*[-+]?(?:[0-9]{1,15}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})\s*")

Cell = tuple[int, int]  # row and column, from 1


def position(text: str) -> Cell:
    """The cell at ``text``, such as "B3". ToolError: no such cell can be."""
    match = POSITION.fullmatch(text)
    row, col = (int(match[2]), ord(match[1].upper()) - ord("A") + 1) if match else (0, 0)
    if not 1 <= row <= MOST_ROWS:
        raise ToolError(f"{text[:40]!r} is no position; write one in A1 notation, from A1 to {written(MOST_ROWS, MOST_COLS)}")
    return row, col


def written(row: int, col: int) -> str:
    """A1 notation of the cell."""
    return f"{chr(ord('A') + col - 1)}{row}"


def area(start: str, end: str) -> tuple[Cell, Cell]:
    """The first and the last cell of the rectangle between two positions. ToolError: ``end`` is above or left of ``start``."""
    (top, left), (bottom, right) = position(start), position(end)
    if bottom < top or right < left:
        raise ToolError(f"{end.strip()} is above or left of {start.strip()}; give the upper left corner first")
    return (top, left), (bottom, right)


def cells_of(first: Cell, last: Cell) -> list[Cell]:
    """All cells of the rectangle, row by row."""
    return [(row, col) for row in range(first[0], last[0] + 1) for col in range(first[1], last[1] + 1)]


def number(text: str) -> float | None:
    """The number that ``text`` writes; None: it writes none."""
    return float(text) if NUMBER.fullmatch(text) else None


def plain(value: float) -> str:
    """How a cell shows a number: no more than six decimals, none where it is whole."""
    rounded = round(value, 6)
    return str(int(rounded)) if rounded == int(rounded) and abs(rounded) < 1e15 else repr(rounded)


def content(value: Any) -> str:
    """What a cell holds when ``value`` is entered. ToolError: it is no single value, or too long."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return plain(value)
    if not isinstance(value, str):
        raise ToolError("a cell holds one string or number, not a list or an object")
    if len(value) > LONGEST:
        raise ToolError(f"a cell holds at most {LONGEST} characters, not {len(value)}")
    return value


def same_cell(one: str, other: str) -> bool:
    """Whether two cells show the same: the same number, or the same text without regard to outer spaces."""
    first, second = number(one), number(other)
    if first is None or second is None:
        return one.strip() == other.strip()
    return abs(first - second) <= 1e-6 * max(1.0, abs(first))
