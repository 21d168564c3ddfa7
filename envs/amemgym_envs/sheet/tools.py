"""The twenty tools of a spreadsheet, as AgentGym names them."""

from typing import Any

import numpy as np

from amemgym_envs.sheet.cells import MOST_COLS, MOST_ROWS, area, cells_of, content, plain, position, same_cell, written
from amemgym_envs.sheet.formulas import OPERATORS, Calculation, FormulaError
from amemgym_envs.sheet.workbook import Workbook
from amemgym_envs.toolkit import Parameter, Tool, ToolError, catalogue
from amemgym_envs.toolkit.tools import Draw

ROWS, COLUMNS = ("rows", "row"), ("columns", "column", "cols", "col")
ORDERS = {"asc": False, "des": True, "desc": True}
DONE = "The sheet is now: "


def shown(book: Workbook) -> str:
    return f"{DONE}{book.sheet.values()}"


def open_sheet(book: Workbook, name: str) -> str:
    book.open(name)
    return f"Sheet {name!r} is open."


def del_sheet(book: Workbook, name: str) -> str:
    book.delete(name)
    return f"The sheet is deleted; the workbook has {', '.join(book.sheets)}."


def freeze_data(book: Workbook, dimension: str, num: int) -> str:
    kind = "rows" if _is_rows(dimension) else "columns"
    book.change(lambda sheet: sheet.with_frozen(kind, num))
    return f"The first {num} {kind} are frozen."


def get_a1(book: Workbook, row: int, col: int) -> str:
    if not (1 <= row <= MOST_ROWS and 1 <= col <= MOST_COLS):
        raise ToolError(f"row {row}, column {col} is no cell; rows go from 1 to {MOST_ROWS}, columns from 1 to {MOST_COLS}")
    return written(row, col)


def insert_cols(book: Workbook, values_list: list[Any], col_idx: int) -> str:
    columns = _lines(values_list, "columns", MOST_ROWS, MOST_COLS)
    book.change(lambda sheet: sheet.with_columns(columns, col_idx))
    return shown(book)


def insert_rows(book: Workbook, values_list: list[Any], row_idx: int) -> str:
    rows = _lines(values_list, "rows", MOST_COLS, MOST_ROWS)
    book.change(lambda sheet: sheet.with_rows(rows, row_idx))
    return shown(book)


def delete_batch_data(book: Workbook, dimension: str, index_list: list[Any]) -> str:
    by_rows = _is_rows(dimension)
    last = book.sheet.height if by_rows else book.sheet.width
    for index in index_list:
        if not isinstance(index, int) or isinstance(index, bool) or not 1 <= index <= last:
            raise ToolError(f"index_list holds {str(index)[:40]!r}, expected whole numbers from 1 to {last}")
    gone = set(index_list)
    book.change(lambda sheet: sheet.without_rows(gone) if by_rows else sheet.without_columns(gone))
    return shown(book)


def update_cell(book: Workbook, position: str, value: Any) -> str:
    cell = _cell(position)
    book.change(lambda sheet: sheet.with_cells({cell: value}))
    return shown(book)


def update_cell_by_formula(book: Workbook, result_position: str, operator: str, start_position: str = "", end_position: str = "",
                           position_list: list[Any] | None = None) -> str:
    formula, cell = _formula(operator, start_position, end_position, position_list), _cell(result_position)
    book.change(lambda sheet: sheet.with_cells({cell: formula}))
    return shown(book)


def update_range(book: Workbook, start_position: str, end_position: str, values_list: list[Any]) -> str:
    first, last = area(start_position, end_position)
    rows, height, width = _lines(values_list, "rows", MOST_COLS, MOST_ROWS), last[0] - first[0] + 1, last[1] - first[1] + 1
    if len(rows) != height or any(len(row) != width for row in rows):
        raise ToolError(f"values_list must have {height} rows of {width} values, as the area from {written(*first)} to "
                        f"{written(*last)} has")
    entered = dict(zip(cells_of(first, last), (value for row in rows for value in row), strict=True))
    book.change(lambda sheet: sheet.with_cells(entered))
    return shown(book)


def sort_sheet_by_col(book: Workbook, col_num: int, order: str) -> str:
    if order.strip().lower() not in ORDERS:
        raise ToolError(f"order is {order[:20]!r}, expected asc or des")
    book.change(lambda sheet: sheet.sorted(col_num, ORDERS[order.strip().lower()]))
    return shown(book)


def merge_cells(book: Workbook, start_position: str, end_position: str) -> str:
    first, last = area(start_position, end_position)
    book.change(lambda sheet: sheet.with_merged(first, last))
    return shown(book)


def update_note(book: Workbook, position: str, content: str) -> str:
    cell = _cell(position)
    book.change(lambda sheet: sheet.with_note(cell, content))
    return f"The note of {written(*cell)} is now {content!r}."


def get_all_values(book: Workbook) -> list[list[str]]:
    return book.sheet.values()


def get_range_values(book: Workbook, start_position: str, end_position: str) -> list[list[str]]:
    (top, left), (bottom, right) = area(start_position, end_position)
    shown = Calculation(book.sheet.rows)
    return [[shown.shown((row, col)) for col in range(left, right + 1)] for row in range(top, bottom + 1)]


def get_cell_value(book: Workbook, position: str) -> str:
    return book.sheet.shown(_cell(position))


def get_value_by_formula(book: Workbook, operator: str, start_position: str = "", end_position: str = "",
                         position_list: list[Any] | None = None) -> int | float:
    formula = _formula(operator, start_position, end_position, position_list)
    try:
        text = plain(Calculation(book.sheet.rows).value(formula))
    except FormulaError as error:
        raise ToolError(f"{formula[:100]} gives {error}") from None
    return float(text) if "." in text or "e" in text else int(text)


def filter_cells(book: Workbook, query: Any, in_row: int | None = None, in_column: int | None = None) -> list[str]:
    wanted = content(query)
    return [written(row, col) for row, line in enumerate(book.sheet.values(), 1) for col, text in enumerate(line, 1)
            if same_cell(text, wanted) and in_row in (None, row) and in_column in (None, col)]


def get_note(book: Workbook, position: str) -> str:
    return book.sheet.notes.get(_cell(position), "")


def _cell(text: str) -> tuple[int, int]:
    return position(text)


def _is_rows(dimension: str) -> bool:
    if dimension.strip().lower() in ROWS:
        return True
    if dimension.strip().lower() in COLUMNS:
        return False
    raise ToolError(f"dimension is {dimension[:20]!r}, expected rows or columns")


def _lines(values: list[Any], what: str, longest: int, most: int) -> list[list[Any]]:
    """A list of rows or columns; a flat list is one of them."""
    lines = values if values and all(isinstance(line, list) for line in values) else [values]
    if not values or len(lines) > most or any(len(line) > longest for line in lines):
        raise ToolError(f"values_list must be a list of {what}, at most {most} of at most {longest} values, and not empty")
    return lines


def _formula(operator: str, start: str, end: str, positions: list[Any] | None) -> str:
    """The formula of ``operator`` over an area or over single cells. ToolError: the arguments do not say which."""
    name = operator.strip().upper()
    if name not in OPERATORS:
        raise ToolError(f"operator is {operator[:20]!r}, expected one of {', '.join(OPERATORS)}")
    if start.strip() and end.strip():
        first, last = area(start, end)
        if name == "MINUS":
            return _over(name, [written(*cell) for cell in (first, last)])
        return f"={name}({written(*first)}:{written(*last)})"
    if not positions or not all(isinstance(one, str) for one in positions):
        raise ToolError("give start_position and end_position, or a position_list such as [\"B2\", \"B5\"]")
    return _over(name, [written(*position(one)) for one in positions])


def _over(name: str, positions: list[str]) -> str:
    if name == "MINUS" and len(positions) != 2:
        raise ToolError("MINUS takes two cells, the second of which is subtracted from the first")
    return f"={name}({','.join(positions)})"


def one_of(*values: Any) -> Draw:
    return lambda rng: values[int(rng.integers(len(values)))]


def a_position(rng: np.random.Generator) -> str:
    return written(int(rng.integers(1, 11)), int(rng.integers(1, 6)))


def small(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 9))


def _at(name: str, description: str, required: bool = True) -> Parameter:
    return Parameter(name, "string", description, required, a_position)


START, END = _at("start_position", "the upper left cell, such as A1"), _at("end_position", "the lower right cell")
CELLS = (_at("start_position", "the first cell of an area", False), _at("end_position", "the last cell of the area", False),
         Parameter("position_list", "list", "single cells, instead of an area", False,
                   lambda rng: [a_position(rng), a_position(rng)]))
OPERATOR = Parameter("operator", "string", ", ".join(OPERATORS), draw=one_of(*OPERATORS))
DIMENSION = Parameter("dimension", "string", "rows or columns", draw=one_of("rows", "columns"))
NAME = Parameter("name", "string", "the name of the sheet", draw=one_of("Stock", "Staff", "Courses", "Trips", "Orders", "Teams"))
SHOWN = "the sheet as it is then"
TOOLS = catalogue(
    Tool("open_sheet", "Opens a sheet; all other tools work on the open one.", (NAME,), "that it is open", open_sheet),
    Tool("del_sheet", "Deletes a sheet.", (NAME,), "which sheets are left", del_sheet),
    Tool("freeze_data", "Freezes the first rows or columns, so that sorting leaves them where they are.",
         (DIMENSION, Parameter("num", "integer", "how many", draw=small)), "that they are frozen", freeze_data),
    Tool("get_A1_annotation", "Writes a cell in A1 notation.",
         (Parameter("row", "integer", "its row, from 1", draw=small),
          Parameter("col", "integer", "its column, from 1", draw=small)),
         "such as B3", get_a1),
    Tool("insert_cols", "Inserts columns.",
         (Parameter("values_list", "list", "a list of columns, each a list of values from top to bottom"),
          Parameter("col_idx", "integer", "where the first of them will be, from 1", draw=small)), SHOWN, insert_cols),
    Tool("insert_rows", "Inserts rows.",
         (Parameter("values_list", "list", "a list of rows, each a list of values from left to right"),
          Parameter("row_idx", "integer", "where the first of them will be, from 1", draw=small)), SHOWN, insert_rows),
    Tool("delete_batch_data", "Deletes rows or columns, all at once.",
         (DIMENSION, Parameter("index_list", "list", "which, from 1", draw=lambda rng: [small(rng)])), SHOWN, delete_batch_data),
    Tool("update_cell", "Enters a value in a cell.",
         (_at("position", "the cell, such as B3"), Parameter("value", "any", "a string or a number")), SHOWN, update_cell),
    Tool("update_cell_by_formula", "Enters a formula over an area or over single cells.",
         (*CELLS, _at("result_position", "the cell that gets the formula"), OPERATOR), SHOWN, update_cell_by_formula),
    Tool("update_range", "Enters values in an area.",
         (START, END, Parameter("values_list", "list", "a list of rows, each a list of values")), SHOWN, update_range),
    Tool("sort_sheet_by_col", "Sorts all rows that are not frozen by a column.",
         (Parameter("col_num", "integer", "the column, from 1", draw=small),
          Parameter("order", "string", "asc or des", draw=one_of("asc", "des"))), SHOWN, sort_sheet_by_col),
    Tool("merge_cells", "Merges an area into one cell, which keeps the value of the upper left one.", (START, END), SHOWN,
         merge_cells),
    Tool("update_note", "Sets the note of a cell.",
         (_at("position", "the cell"), Parameter("content", "string", "the note; empty: none")), "the note", update_note),
    Tool("get_all_values", "Reads the whole sheet.", (), "list of rows", get_all_values),
    Tool("get_range_values", "Reads an area.", (START, END), "list of rows", get_range_values),
    Tool("get_cell_value", "Reads a cell.", (_at("position", "the cell"),), "its value", get_cell_value),
    Tool("get_value_by_formula", "Computes something over an area or over single cells and leaves the sheet as it is.",
         (*CELLS, OPERATOR), "a number", get_value_by_formula),
    Tool("filter_cells", "Finds the cells that hold a value.",
         (Parameter("query", "any", "the value"), Parameter("in_row", "integer", "only in this row", False, small),
          Parameter("in_column", "integer", "only in this column", False, small)), "list of positions", filter_cells),
    Tool("get_note", "Reads the note of a cell.", (_at("position", "the cell"),), "the note", get_note),
)
