"""Tables that tasks are about, drawn from a generator, and the workbooks that they stand in."""

from dataclasses import dataclass
from random import Random
from typing import Any

from amemgym_envs.sheet.cells import content, written
from amemgym_envs.sheet.words import THEMES, Column, Theme
from amemgym_envs.toolkit import Call
from amemgym_envs.toolkit.questions import Question

FEWEST, MOST = 5, 8  # rows below the header
PRICE, AMOUNT = 2, 3  # the columns whose product means something, from 0


@dataclass(frozen=True)
class Table:
    """``rows``: values below the header. ``computed``: each row also has, as its last cell, a formula for the product of its
    price and its amount."""

    theme: Theme
    rows: tuple[tuple[Any, ...], ...]
    computed: bool = False

    @property
    def sheet(self) -> str:
        return self.theme.sheet

    @property
    def header(self) -> list[Any]:
        return [column.name for column in self.theme.columns] + [self.theme.product] * self.computed

    @property
    def width(self) -> int:
        return len(self.header)

    @property
    def height(self) -> int:
        return len(self.rows) + 1

    def entered(self) -> list[list[Any]]:
        """Header and rows as they were typed in."""
        return [self.header] + [[*row, *[f"=PRODUCT(C{at},D{at})"] * self.computed] for at, row in enumerate(self.rows, 2)]

    def values(self) -> list[list[Any]]:
        """Header and rows as they are shown."""
        return [self.header] + [self.line(row) for row in self.rows]

    def line(self, row: tuple[Any, ...]) -> list[Any]:
        return [*row, *[row[PRICE] * row[AMOUNT]] * self.computed]

    def position(self, row: int, col: int) -> str:
        """A1 notation of column ``col`` of the data row ``row``, both from 0."""
        return written(row + 2, col + 1)

    def numbers(self, col: int) -> list[int]:
        return [row[col] for row in self.rows]

    def replaced(self, rows: list[tuple[Any, ...]]) -> "Table":
        return Table(self.theme, tuple(rows), self.computed)

    def name(self, row: int) -> str:
        """How a goal speaks of a row."""
        return f"the {self.theme.row} '{self.rows[row][0]}'"

    def columns(self) -> list[tuple[int, Column]]:
        """The columns of numbers that were typed in, with their indices."""
        return [(at, column) for at, column in enumerate(self.theme.columns) if column.numeric]


def a_table(rng: Random, theme: Theme | None = None) -> Table:
    theme = theme or rng.choice(THEMES)
    count = rng.randint(FEWEST, MOST)
    names = rng.sample(theme.columns[0].values, count)
    numbers = [rng.sample(range(column.values[0], column.values[1] + 1), count) if column.values[1] - column.values[0] >= count
               else [rng.randint(*column.values) for _ in range(count)] for column in theme.columns[2:]]
    groups = [rng.choice(theme.columns[1].values) for _ in range(count)]
    return Table(theme, tuple(zip(names, groups, *numbers, strict=True)), rng.random() < 0.4)


def a_number_column(table: Table, rng: Random) -> tuple[int, str]:
    """Index and name of a column of numbers."""
    at, column = rng.choice(table.columns())
    return at, column.name


def asked(table: Table, rng: Random, goal: str, answer: Any, calls: list[Call], notes: dict[str, str] | None = None) -> Question:
    """A question about ``table``, which stands in a workbook with one or two other sheets. It begins with opening and reading."""
    others = [a_table(rng, theme) for theme in rng.sample([theme for theme in THEMES if theme != table.theme], rng.randint(1, 2))]
    tables = sorted([table, *others], key=lambda one: one.sheet)
    init: dict[str, Any] = {"sheet": table.sheet, "sheets": {one.sheet: one.entered() for one in tables}}
    if notes:
        init["notes"] = {table.sheet: notes}
    opening = [Call("open_sheet", {"name": table.sheet}), Call("get_all_values", {})]
    return Question(f"In the sheet '{table.sheet}': {goal}", answer, opening + calls, init)


def grid(rows: list[list[Any]]) -> list[list[str]]:
    """What a sheet with these values shows, filled up to a rectangle."""
    width = max(map(len, rows))
    return [[content(value) for value in row] + [""] * (width - len(row)) for row in rows]
