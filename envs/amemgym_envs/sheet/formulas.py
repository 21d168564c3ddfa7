"""Formulas of one operator over cells, areas and numbers, such as =SUM(B2:B7) or =MINUS(C2,D2): computed, never evaluated."""

import re
from collections.abc import Callable
from math import fsum, isfinite, prod

from amemgym_envs.sheet.cells import MOST_COLS, MOST_ROWS, Cell, cells_of, number, plain, written

OPERATORS = ("SUM", "AVERAGE", "COUNT", "MAX", "MIN", "MINUS", "PRODUCT")
DEPTH = 100  # formulas that take their numbers from formulas, and so on; a sheet has no more
MOST_READS = 100_000  # cells that the formulas of one sheet may look at, each time that one looks; a tenth of a second
FORMULA = re.compile(r"\s*=\s*([A-Za-z]+)\s*\(([^()]*)\)\s*")
REFERENCE = re.compile(r"\$?([A-Za-z])\$?([1-9][0-9]{0,2})(?::\$?([A-Za-z])\$?([1-9][0-9]{0,2}))?")
LOST = "#REF!"  # the cell is gone, or the formula needs its own result
Rows = list[list[str]]
Place = Callable[[int], int | None]  # where a row or column has moved; None: it is gone


class FormulaError(Exception):
    """The message is what the cell shows."""


def is_formula(text: str) -> bool:
    return text.lstrip().startswith("=")


def compute(operator: str, numbers: list[float]) -> float:
    """FormulaError: not defined for these numbers. COUNT of numbers, not of cells."""
    if operator == "MINUS":
        if len(numbers) != 2:
            raise FormulaError("#VALUE!")
        return numbers[0] - numbers[1]
    if operator == "AVERAGE" and not numbers:
        raise FormulaError("#DIV/0!")
    try:
        value = {
            "SUM": fsum,
            "AVERAGE": lambda values: fsum(values) / len(values),
            "COUNT": len,
            "MAX": lambda values: max(values, default=0),
            "MIN": lambda values: min(values, default=0),
            "PRODUCT": lambda values: prod(values) if values else 0,
        }[operator](numbers)
    except OverflowError:
        raise FormulaError("#NUM!") from None
    if not isfinite(value):
        raise FormulaError("#NUM!")
    return float(value)


class Calculation:
    """What every cell of ``rows`` shows. Each formula is computed once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.known: dict[Cell, str] = {}
        self.reads = 0

    def grid(self) -> Rows:
        return [[self.shown((row, col)) for col in range(1, len(line) + 1)] for row, line in enumerate(self.rows, 1)]

    def shown(self, cell: Cell, depth: int = 0) -> str:
        row, col = cell
        text = self.rows[row - 1][col - 1] if row <= len(self.rows) and col <= len(self.rows[row - 1]) else ""
        if not is_formula(text):
            return text
        if cell not in self.known:
            self.known[cell] = LOST  # what is shown to a formula that this one needs
            try:
                self.known[cell] = plain(self.value(text, depth + 1))
            except FormulaError as error:
                self.known[cell] = str(error)
        return self.known[cell]

    def value(self, text: str, depth: int = 0) -> float:
        """The result of the formula ``text``. FormulaError: it has none."""
        match = FORMULA.fullmatch(text)
        if match is None or match[1].upper() not in OPERATORS:
            raise FormulaError("#ERROR!")
        if depth > DEPTH:
            raise FormulaError(LOST)
        return compute(match[1].upper(), [value for part in match[2].split(",") for value in self.numbers(part.strip(), depth)])

    def numbers(self, part: str, depth: int) -> list[float]:
        """The numbers that one argument of a formula stands for; cells that hold text are passed over."""
        if (given := number(part)) is not None:
            return [given]
        cells = referred(part)
        self.reads += len(cells)
        if self.reads > MOST_READS:
            raise FormulaError("#LIMIT!")
        shown = [self.shown(cell, depth) for cell in cells]
        wrong = next((text for text in shown if text.startswith("#") and text.endswith(("!", "?"))), None)
        if wrong is not None:
            raise FormulaError(wrong)
        return [value for text in shown if (value := number(text)) is not None]


def referred(part: str) -> list[Cell]:
    match = REFERENCE.fullmatch(part)
    if match is None:
        raise FormulaError(LOST if part == LOST else "#ERROR!")
    first = int(match[2]), _col(match[1])
    last = (int(match[4]), _col(match[3])) if match[3] else first
    if max(first[0], last[0]) > MOST_ROWS or max(first[1], last[1]) > MOST_COLS:
        raise FormulaError(LOST)
    return cells_of((min(first[0], last[0]), min(first[1], last[1])), (max(first[0], last[0]), max(first[1], last[1])))


def moved(text: str, row: Place, col: Place) -> str:
    """The formula ``text`` after rows and columns have moved; an area shrinks to what is left of it."""

    def move(match: re.Match[str]) -> str:
        first = int(match[2]), _col(match[1])
        last = (int(match[4]), _col(match[3])) if match[3] else first
        rows, cols = _span(first[0], last[0], row), _span(first[1], last[1], col)
        if rows is None or cols is None or max(rows) > MOST_ROWS or max(cols) > MOST_COLS:
            return LOST
        start, end = written(rows[0], cols[0]), written(rows[1], cols[1])
        return f"{start}:{end}" if match[3] else start

    return REFERENCE.sub(move, text) if FORMULA.fullmatch(text) else text


def _span(first: int, last: int, place: Place) -> tuple[int, int] | None:
    left = [new for old in range(min(first, last), max(first, last) + 1) if (new := place(old)) is not None]
    return (left[0], left[-1]) if left else None


def _col(letter: str) -> int:
    return ord(letter.upper()) - ord("A") + 1
