"""What can be done to a sheet, one thing at a time; what fails changes nothing."""

import numpy as np
import pytest

from amemgym_envs.sheet.cells import MOST_COLS, MOST_ROWS
from amemgym_envs.sheet.environment import SheetEnv
from amemgym_envs.sheet.workbook import MOST_CHARACTERS, MOST_FORMULAS, Sheet, Workbook
from amemgym_envs.toolkit import ToolError

ROWS = [["item", "price", "count", "total"], ["pen", 3, 10, "=PRODUCT(B2,C2)"], ["cup", 12, 2, "=PRODUCT(B3,C3)"],
        ["hat", 5, 5, "=PRODUCT(B4,C4)"]]


@pytest.fixture
def book():
    made = Workbook.of({"A": ROWS, "B": [["x"]]}, {"A": {"B3": "dear"}})
    made.open("A")
    return made


@pytest.fixture
def use(book):
    return lambda tool, **arguments: SheetEnv.tools[tool].method(book, **arguments)


def test_a_sheet_must_be_open(book):
    fresh = Workbook(book.sheets)
    for name in ("get_all_values", "get_cell_value"):
        with pytest.raises(ToolError, match="call open_sheet first, the workbook has A, B"):
            SheetEnv.tools[name].method(fresh, **({} if name == "get_all_values" else {"position": "A1"}))
    with pytest.raises(ToolError, match="there is no sheet 'C'; the workbook has A, B"):
        fresh.open("C")


def test_formulas_are_computed_again_when_a_cell_changes(book, use):
    assert [row[3] for row in use("get_all_values")] == ["total", "30", "24", "25"]
    use("update_cell", position="B2", value=4)
    assert use("get_cell_value", position="D2") == "40"
    use("update_cell", position="C3", value="=SUM(C2,C4)")
    assert use("get_range_values", start_position="C3", end_position="D3") == [["15", "180"]]


def test_rows_and_columns_that_are_inserted_push_formulas_notes_and_merged_areas(book, use):
    use("merge_cells", start_position="A4", end_position="B4")
    use("insert_rows", values_list=[["new", 1]], row_idx=2)
    use("insert_cols", values_list=[["first", "1"]], col_idx=1)
    assert [row[4] for row in use("get_all_values")] == ["total", "", "30", "24", "5"]
    assert use("get_note", position="C4") == "dear" and use("get_note", position="B3") == ""
    assert book.sheet.merged == [((5, 2), (5, 3))] and use("get_all_values")[1] == ["1", "new", "1", "", ""]
    use("update_cell", position="D3", value=1)
    assert use("get_cell_value", position="E3") == "3"


def test_what_is_deleted_is_missing_where_it_is_needed(book, use):
    use("delete_batch_data", dimension="rows", index_list=[2, 2])
    assert [row[0] for row in use("get_all_values")] == ["item", "cup", "hat"]
    assert [row[3] for row in use("get_all_values")] == ["total", "24", "25"] and use("get_note", position="B2") == "dear"
    use("delete_batch_data", dimension="columns", index_list=[2])
    assert use("get_all_values") == [["item", "count", "total"], ["cup", "2", "#REF!"], ["hat", "5", "#REF!"]]
    assert book.sheet.notes == {}


@pytest.mark.parametrize(("order", "names"), [("asc", ["pen", "hat", "cup"]), ("des", ["cup", "hat", "pen"])])
def test_sorting_leaves_frozen_rows_and_takes_formulas_and_notes_along(book, use, order, names):
    use("freeze_data", dimension="rows", num=1)
    use("sort_sheet_by_col", col_num=2, order=order)
    values = use("get_all_values")
    assert [row[0] for row in values] == ["item", *names]
    assert {row[0]: row[3] for row in values[1:]} == {"pen": "30", "cup": "24", "hat": "25"}
    assert use("get_note", position=f"B{names.index('cup') + 2}") == "dear"


def test_a_header_that_is_not_frozen_is_sorted_too_and_empty_cells_come_last():
    sheet = Sheet([["name"], [""], [2], ["b"], [10]])
    assert sheet.sorted(1, False).rows == [["2"], ["10"], ["b"], ["name"], [""]]
    assert sheet.sorted(1, True).rows == [["name"], ["b"], ["10"], ["2"], [""]]
    assert Sheet([["1", "a"], ["1", "b"]]).sorted(1, True).rows == [["1", "a"], ["1", "b"]]


def test_merging_keeps_the_upper_left(book, use):
    use("merge_cells", start_position="A1", end_position="B2")
    assert [row[:2] for row in use("get_all_values")[:2]] == [["item", ""], ["", ""]]
    with pytest.raises(ToolError, match="merged already"):
        use("merge_cells", start_position="B2", end_position="C3")
    with pytest.raises(ToolError, match="cannot be sorted"):
        use("sort_sheet_by_col", col_num=1, order="asc")


def test_values_by_formula_leave_the_sheet_as_it_is(book, use):
    before = use("get_all_values")
    assert use("get_value_by_formula", start_position="B2", end_position="B4", operator="SUM") == 20
    assert use("get_value_by_formula", position_list=["B2", "B4"], operator="average") == 4
    assert use("get_value_by_formula", position_list=["B3", "B2"], operator="MINUS") == 9
    with pytest.raises(ToolError, match="#DIV/0!"):
        use("get_value_by_formula", position_list=["A1"], operator="AVERAGE")
    with pytest.raises(ToolError, match="MINUS takes two"):
        use("get_value_by_formula", position_list=["B3"], operator="MINUS")
    with pytest.raises(ToolError, match="give start_position and end_position, or a position_list"):
        use("get_value_by_formula", operator="SUM")
    assert use("get_all_values") == before


def test_cells_are_found_by_value(book, use):
    assert use("filter_cells", query=5) == ["B4", "C4"] == use("filter_cells", query="5.0", in_row=4)
    assert use("filter_cells", query=5, in_column=2) == ["B4"] and use("filter_cells", query="(") == []


def test_areas_are_overwritten_and_their_shape_is_checked(book, use):
    use("update_range", start_position="B2", end_position="B3", values_list=[[1], [2]])
    assert [row[1] for row in use("get_all_values")] == ["price", "1", "2", "5"]
    with pytest.raises(ToolError, match="2 rows of 1 values"):
        use("update_range", start_position="B2", end_position="B3", values_list=[1, 2])


def test_sheets_are_deleted_but_not_the_last(book, use):
    use("del_sheet", name="A")
    with pytest.raises(ToolError, match="no sheet is open"):
        use("get_all_values")
    with pytest.raises(ToolError, match="the only sheet"):
        use("del_sheet", name="B")


@pytest.mark.parametrize(("tool", "arguments", "reason"), [
    ("insert_rows", {"values_list": [["x"]] * 98, "row_idx": 2}, f"at most {MOST_ROWS} rows"),
    ("insert_cols", {"values_list": [["x"]] * 24, "col_idx": 2}, f"{MOST_COLS} columns"),
    ("insert_rows", {"values_list": [["x"] * 27], "row_idx": 1}, "at most 26 values"),
    ("insert_rows", {"values_list": [], "row_idx": 1}, "not empty"),
    ("insert_rows", {"values_list": [["x"]], "row_idx": 6}, "rows here go from 1 to 5"),
    ("insert_rows", {"values_list": [[["x"]]], "row_idx": 1}, "one string or number"),
    ("insert_rows", {"values_list": [["x" * 200] * 20] * 6, "row_idx": 1}, f"at most {MOST_CHARACTERS} characters"),
    ("insert_rows", {"values_list": [["=SUM(A1)"] * 26] * 4, "row_idx": 1}, f"at most {MOST_FORMULAS} formulas"),
    ("delete_batch_data", {"dimension": "rows", "index_list": [0]}, "from 1 to 4"),
    ("delete_batch_data", {"dimension": "rows", "index_list": [True]}, "from 1 to 4"),
    ("delete_batch_data", {"dimension": "cells", "index_list": [1]}, "rows or columns"),
    ("freeze_data", {"dimension": "rows", "num": 5}, "has 4"),
    ("sort_sheet_by_col", {"col_num": 5, "order": "asc"}, "from 1 to 4"),
    ("sort_sheet_by_col", {"col_num": 1, "order": "up"}, "asc or des"),
    ("update_cell", {"position": "A1", "value": []}, "one string or number"),
    ("update_note", {"position": "A1", "content": "x" * 201}, "200 characters"),
    ("update_cell_by_formula", {"result_position": "A1", "operator": "POWER", "position_list": ["A1"]}, "expected one of SUM"),
    ("merge_cells", {"start_position": "A1", "end_position": "A1"}, "one cell alone"),
])  # fmt: skip
def test_what_fails_says_why_and_changes_nothing(book, use, tool, arguments, reason):
    before = book.sheet
    with pytest.raises(ToolError, match=reason):
        use(tool, **arguments)
    assert book.sheet is before


def test_whatever_is_done_a_sheet_stays_a_rectangle_within_its_limits(book):
    rng = np.random.default_rng(3)
    tools = [tool for tool in SheetEnv.tools.values() if tool.name not in ("del_sheet", "open_sheet")]
    for _ in range(1500):
        tool = tools[rng.integers(len(tools))]
        try:
            tool.method(book, **tool.draw(rng))
        except ToolError:
            continue
        sheet = book.sheet
        assert len({len(line) for line in sheet.rows}) <= 1 and sheet.height <= MOST_ROWS and sheet.width <= MOST_COLS
        assert all(isinstance(text, str) for line in sheet.values() for text in line)
        if sheet.height < 2 or sheet.width < 2:
            book.sheets["A"] = Sheet(ROWS)


def test_formulas_that_look_at_too_much_show_so_and_do_not_stall():
    greedy = "=SUM(" + ",".join(["B1:Z99"] * 27) + ")"
    sheet = Sheet([["1"] * 26 for _ in range(99)]).with_cells({(row, 1): greedy for row in range(1, 90)})
    shown, sheet = [line[0] for line in sheet.values()], sheet.without_rows(set(range(50, 90)))
    assert shown[0] == str(25 * 99 * 27) and shown[88] == "#LIMIT!"
    assert sheet.height == 59 and sheet.rows[0][0].startswith("=SUM(B1:Z59,")
