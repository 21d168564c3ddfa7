"""Formulas are computed, follow what moves, and end."""

import pytest

from amemgym_envs.sheet.cells import MOST_COLS, MOST_ROWS, area, cells_of, content, number, plain, position, same_cell, written
from amemgym_envs.sheet.formulas import DEPTH, Calculation, moved
from amemgym_envs.sheet.workbook import MOST_FORMULAS
from amemgym_envs.toolkit import ToolError

ROWS = [["name", "4", "2.5"], ["b", "-1", ""], ["", "7", "text"]]


def shown(formula, rows=ROWS):
    return Calculation([*rows, [formula]]).shown((len(rows) + 1, 1))


def test_positions_and_cells_are_each_others_inverse():
    for row, col in cells_of((1, 1), (MOST_ROWS, MOST_COLS)):
        assert position(written(row, col)) == (row, col) == position(f" ${written(row, col).lower()} ")


@pytest.mark.parametrize("text", ["", "A", "1", "A0", "AA1", "A101", "A1:B2", "٣A", "A١", "A" * 5000, "A1\nB2", "-A1"])
def test_what_is_no_position_is_refused(text):
    with pytest.raises(ToolError, match="A1 notation"):
        position(text)


def test_an_area_starts_at_its_upper_left():
    assert area("A1", "B2") == ((1, 1), (2, 2))
    with pytest.raises(ToolError, match="upper left corner first"):
        area("B2", "A1")


@pytest.mark.parametrize(("formula", "value"), [
    ("=SUM(B1:B3)", "10"), ("=sum( b1 , b3 )", "11"), ("=SUM(A1:C3)", "12.5"), ("=AVERAGE(B1:B3)", "3.333333"),
    ("=COUNT(A1:C3)", "4"),
    ("=MAX(B1:B3)", "7"), ("=MIN(B1:B3)", "-1"), ("=MINUS(B1,B2)", "5"), ("=PRODUCT(B1:C1)", "10"), ("=PRODUCT(B1,2,0.5)", "4"),
    ("=SUM(A1:A3)", "0"), ("=COUNT(A1:A3)", "0"), ("=AVERAGE(A1:A3)", "#DIV/0!"), ("=MINUS(B1:B3)", "#VALUE!"),
    ("=MINUS(A1,B1)", "#VALUE!"),
    ("=SUM(B3:B1)", "10"), ("=SUM(Z90)", "0"), ("=SUM(B1", "#ERROR!"), ("=B1+B2", "#ERROR!"), ("=EXEC(B1)", "#ERROR!"),
    ("=", "#ERROR!"),
    ("=SUM(x)", "#ERROR!"), ("=SUM(A999)", "#REF!"), ("=SUM(#REF!)", "#REF!"), ("=SUM(SUM(B1))", "#ERROR!"),
    ("=SUM(A4)", "#REF!"),
])  # fmt: skip
def test_formulas(formula, value):
    assert shown(formula) == value


def test_an_overflow_is_shown_and_infects_what_needs_it():
    big = ["9" * 15] * 26
    rows = [big, ["=PRODUCT(A1:Z1)", "=SUM(A2)"]]
    assert Calculation(rows).grid()[1] == ["#NUM!", "#NUM!"]


def test_circles_end():
    assert Calculation([["=SUM(B1)", "=SUM(C1)", "=SUM(A1)", "=SUM(D1)", "1"]]).grid()[0] == ["#REF!"] * 4 + ["1"]


def test_the_longest_chain_that_a_sheet_can_hold_is_computed_from_either_end():
    chain = [[f"=SUM(A{row + 1},1)"] for row in range(1, MOST_ROWS)] + [["1"]]
    assert len(chain) - 1 <= MOST_FORMULAS <= DEPTH
    assert Calculation(chain).grid()[0] == [str(MOST_ROWS)]
    turned = [["1"]] + [[f"=SUM(A{row},1)"] for row in range(1, MOST_ROWS)]
    assert Calculation(turned).shown((MOST_ROWS, 1)) == str(MOST_ROWS)


def test_references_follow_and_areas_shrink():
    def down(row):
        return row + 2 if row >= 3 else row

    def gone(row):
        return None if row in (2, 3) else row - 2 * (row > 3)

    def stay(col):
        return col

    assert moved("=SUM(A1:A4,B3,7)", down, stay) == "=SUM(A1:A6,B5,7)"
    assert moved("=SUM(A1:A4,A4)", gone, stay) == "=SUM(A1:A2,A2)"
    assert moved("=SUM(A2:A3,A1)", gone, stay) == "=SUM(#REF!,A1)"
    assert moved("A4 is text", down, stay) == "A4 is text"


@pytest.mark.parametrize(("value", "text"), [(None, ""), (True, "TRUE"), (3, "3"), (3.0, "3"), (2.50, "2.5"), (0.1 + 0.2, "0.3"),
                                             ("3.0", "3.0"), (-0.0, "0")])
def test_what_is_entered_is_a_text(value, text):
    assert content(value) == text


@pytest.mark.parametrize("value", [[], {}, "x" * 201])
def test_what_no_cell_holds_is_refused(value):
    with pytest.raises(ToolError, match="a cell holds"):
        content(value)


def test_cells_are_the_same_by_number_or_by_text():
    assert same_cell("3", " 3.0") and same_cell(" a", "a ") and same_cell("0.3333333", "0.333333")
    assert not same_cell("3", "4") and not same_cell("a", "A") and not same_cell("", "0")
    assert number("1e5") is None and number("1_000") is None and number("٣") is None and plain(1e300) == "1e+300"
