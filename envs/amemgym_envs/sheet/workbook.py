"""A workbook: sheets of cells with formulas, notes, merged areas and frozen headers, and all that can be done to them."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from amemgym_envs.sheet.cells import MOST_COLS, MOST_ROWS, Cell, cells_of, content, number, position
from amemgym_envs.sheet.formulas import Calculation, Place, Rows, is_formula, moved
from amemgym_envs.toolkit import ToolError

MOST_FORMULAS, MOST_NOTES, MOST_MERGES, MOST_CHARACTERS = 100, 50, 20, 20_000
Area = tuple[Cell, Cell]


class Sheet:
    """``rows``: what was entered, as a rectangle of texts. Sheets are not changed: every operation returns a new one, or raises
    ToolError, so that a failed one leaves nothing behind."""

    def __init__(self, rows: Sequence[Sequence[Any]] = (), notes: Mapping[Cell, str] | None = None) -> None:
        self.rows = _rectangle([[content(value) for value in line] for line in rows])
        self.notes = dict(notes or {})
        self.merged: list[Area] = []
        self.frozen = {"rows": 0, "columns": 0}

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        return len(self.rows[0]) if self.rows else 0

    def values(self) -> Rows:
        """What is shown, without empty rows below and empty columns to the right."""
        grid = Calculation(self.rows).grid()
        while grid and not any(grid[-1]):
            grid.pop()
        width = max((col for line in grid for col, text in enumerate(line, 1) if text), default=0)
        return [line[:width] for line in grid]

    def shown(self, cell: Cell) -> str:
        return Calculation(self.rows).shown(cell)

    def with_cells(self, entered: Mapping[Cell, Any]) -> "Sheet":
        """``entered`` written over what was there; the sheet grows where it has to."""
        rows = [list(line) for line in self.rows]
        height, width = max(row for row, _ in entered), max(col for _, col in entered)
        rows = _rectangle(rows + [[] for _ in range(height - len(rows))], width)
        for (row, col), value in entered.items():
            rows[row - 1][col - 1] = content(value)
        return self._changed(rows=rows)

    def with_rows(self, lines: list[list[Any]], at: int) -> "Sheet":
        """``lines`` as new rows, the first of which becomes row ``at``."""
        _within(at, self.height + 1, "row")
        shifted = self._moved(lambda row: row if row < at else row + len(lines), _stay)
        new = [[content(value) for value in line] for line in lines]
        return self._changed(rows=_rectangle(shifted.rows[:at - 1] + new + shifted.rows[at - 1:]), like=shifted)

    def with_columns(self, columns: list[list[Any]], at: int) -> "Sheet":
        """``columns``, each from top to bottom, as new ones, the first of which becomes column ``at``."""
        _within(at, self.width + 1, "column")
        shifted = self._moved(_stay, lambda col: col if col < at else col + len(columns))
        height = max([self.height, *map(len, columns)])
        rows = _rectangle(shifted.rows + [[] for _ in range(height - self.height)], self.width)
        new = [[content(column[row]) if row < len(column) else "" for column in columns] for row in range(height)]
        rows = [line[:at - 1] + cells + line[at - 1:] for line, cells in zip(rows, new, strict=True)]
        return self._changed(rows=rows, like=shifted)

    def without_rows(self, gone: set[int]) -> "Sheet":
        left = [row for row in range(1, self.height + 1) if row not in gone]
        shifted = self._moved(_closing(gone), _stay)
        return self._changed(rows=[shifted.rows[row - 1] for row in left], like=shifted)

    def without_columns(self, gone: set[int]) -> "Sheet":
        left = [col for col in range(1, self.width + 1) if col not in gone]
        shifted = self._moved(_stay, _closing(gone))
        return self._changed(rows=[[line[col - 1] for col in left] for line in shifted.rows], like=shifted)

    def sorted(self, col: int, descending: bool) -> "Sheet":
        """The rows below the frozen ones in the order of column ``col``: numbers before texts (``descending``: after them), what
        is empty last. A formula goes on with the cells of its own row."""
        _within(col, self.width, "column")
        first = self.frozen["rows"] + 1
        if any(bottom >= first for _, (bottom, _) in self.merged):
            raise ToolError("rows with merged cells cannot be sorted; freeze them first or sort before merging")
        shown = Calculation(self.rows)
        keys = {row: _key(shown.shown((row, col))) for row in range(first, self.height + 1)}
        filled = sorted((row for row, key in keys.items() if key), key=keys.__getitem__, reverse=descending)
        order = list(range(1, first)) + filled + [row for row, key in keys.items() if not key]
        new = {old: at for at, old in enumerate(order, 1)}
        rows = []
        for old in order:
            rows.append([moved(text, lambda row, old=old: new[old] if row == old else row, _stay) if is_formula(text) else text
                         for text in self.rows[old - 1]])
        notes = {(new.get(row, row), col): note for (row, col), note in self.notes.items()}
        return self._changed(rows=rows, notes=notes)

    def with_merged(self, first: Cell, last: Cell) -> "Sheet":
        """The area as one cell, which keeps what its upper left cell held."""
        if first == last:
            raise ToolError("one cell alone cannot be merged; give two different corners")
        if any(not (bottom < first[0] or last[0] < top or right < first[1] or last[1] < left)
               for (top, left), (bottom, right) in self.merged):
            raise ToolError("a part of these cells is merged already")
        changed = self.with_cells({cell: "" for cell in cells_of(first, last)[1:]})
        return changed._changed(merged=[*self.merged, (first, last)])

    def with_note(self, cell: Cell, note: str) -> "Sheet":
        notes = {where: text for where, text in self.notes.items() if where != cell}
        return self._changed(notes=notes | ({cell: content(note)} if note else {}))

    def with_frozen(self, dimension: str, count: int) -> "Sheet":
        most = self.height if dimension == "rows" else self.width
        if not 0 <= count <= most:
            raise ToolError(f"{count} {dimension} cannot be frozen; the sheet has {most}")
        return self._changed(frozen=self.frozen | {dimension: count})

    def _changed(self, like: "Sheet | None" = None, **parts: Any) -> "Sheet":
        """A copy of ``like``, or of this sheet, with other parts. ToolError: it would be too large."""
        changed = copy(like or self)
        changed.__dict__.update(parts)
        if changed.height > MOST_ROWS or changed.width > MOST_COLS:
            raise ToolError(f"a sheet has at most {MOST_ROWS} rows and {MOST_COLS} columns; this would be {changed.height} and "
                            f"{changed.width}")
        counts = (("formulas", sum(is_formula(text) for line in changed.rows for text in line), MOST_FORMULAS),
                  ("characters", sum(len(text) for line in changed.rows for text in line), MOST_CHARACTERS),
                  ("notes", len(changed.notes), MOST_NOTES), ("merged areas", len(changed.merged), MOST_MERGES))
        for what, count, most in counts:
            if count > most:
                raise ToolError(f"a sheet has at most {most} {what}; this would be {count}")
        return changed

    def _moved(self, row: Place, col: Place) -> "Sheet":
        """Formulas, notes and merged areas after rows and columns have moved; the cells themselves are still where they were."""
        row_place = {at: row(at) for at in range(1, MOST_ROWS + 1)}.get
        col_place = {at: col(at) for at in range(1, MOST_COLS + 1)}.get
        rows = [[moved(text, row_place, col_place) if is_formula(text) else text for text in line] for line in self.rows]
        notes = {(new_row, new_col): note for (old_row, old_col), note in self.notes.items()
                 if (new_row := row(old_row)) is not None and (new_col := col(old_col)) is not None}
        merged = []
        for (top, left), (bottom, right) in self.merged:
            corners = row(top), col(left), row(bottom), col(right)
            if None not in corners:
                merged.append((corners[:2], corners[2:]))
        return self._changed(rows=rows, notes=notes, merged=merged)


class Workbook:
    """Sheets by name, one of which may be open; what tools do, they do to that one."""

    def __init__(self, sheets: Mapping[str, Sheet]) -> None:
        self.sheets = dict(sheets)
        self.opened: str | None = None

    @classmethod
    def of(cls, sheets: Mapping[str, Sequence[Sequence[Any]]],
           notes: Mapping[str, Mapping[str, str]] | None = None) -> "Workbook":
        """From the rows of every sheet, and of some sheets the notes by position."""
        noted = {name: {position(where): text for where, text in some.items()} for name, some in (notes or {}).items()}
        return cls({name: Sheet(rows, noted.get(name)) for name, rows in sheets.items()})

    @property
    def sheet(self) -> Sheet:
        """The open sheet. ToolError: there is none."""
        if self.opened is None:
            raise ToolError(f"no sheet is open; call open_sheet first, the workbook has {', '.join(self.sheets)}")
        return self.sheets[self.opened]

    def open(self, name: str) -> None:
        if name not in self.sheets:
            raise ToolError(f"there is no sheet {name[:60]!r}; the workbook has {', '.join(self.sheets)}")
        self.opened = name

    def delete(self, name: str) -> None:
        if name not in self.sheets:
            raise ToolError(f"there is no sheet {name[:60]!r}; the workbook has {', '.join(self.sheets)}")
        if len(self.sheets) == 1:
            raise ToolError("the only sheet of a workbook cannot be deleted")
        del self.sheets[name]
        if self.opened == name:
            self.opened = None

    def change(self, change: Callable[[Sheet], Sheet]) -> None:
        """Put what ``change`` makes of the open sheet in its place."""
        changed = change(self.sheet)
        self.sheets[self.opened or ""] = changed


def _rectangle(rows: Rows, width: int = 0) -> Rows:
    width = max([width, *map(len, rows)], default=0)
    return [list(line) + [""] * (width - len(line)) for line in rows]


def _stay(place: int) -> int:
    return place


def _closing(gone: set[int]) -> Place:
    return lambda place: None if place in gone else place - sum(other < place for other in gone)


def _within(index: int, last: int, what: str) -> None:
    if not 1 <= index <= last:
        raise ToolError(f"{what} {index} is outside of the sheet; {what}s here go from 1 to {last}")


def _key(text: str) -> tuple[Any, ...]:
    """What a row is sorted by; empty where the cell is."""
    value = number(text)
    if value is not None:
        return 0, value, ""
    return (1, 0.0, text.casefold()) if text.strip() else ()
