"""Changes to a table: what is to be done, the grid that it leads to, worked out without the tools, and the calls that do it."""

from random import Random
from typing import Any

from amemgym_envs.sheet.cells import written
from amemgym_envs.sheet.queries import QUESTIONS, WORDED, computed
from amemgym_envs.sheet.tables import AMOUNT, PRICE, Table, a_number_column, a_table, asked, grid
from amemgym_envs.sheet.words import NOTES, Theme
from amemgym_envs.toolkit import Call
from amemgym_envs.toolkit.questions import Question

FREEZE = Call("freeze_data", {"dimension": "rows", "num": 1})
ORDERS = {"asc": "from the lowest to the highest", "des": "from the highest to the lowest"}


def plain_table(rng: Random) -> Table:
    """A table without formulas."""
    table = a_table(rng)
    return Table(table.theme, table.rows)


def distinct_column(table: Table, rng: Random) -> tuple[int, str] | None:
    """A column of numbers in which none occurs twice, so that its order is one."""
    col, name = a_number_column(table, rng)
    return (col, name) if len(set(table.numbers(col))) == len(table.rows) else None


def new_row(table: Table, rng: Random) -> tuple[Any, ...]:
    used = {row[0] for row in table.rows}
    columns = table.theme.columns
    return (rng.choice([name for name in columns[0].values if name not in used]), rng.choice(columns[1].values),
            *(rng.randint(*column.values) for column in columns[2:]))


def with_value(table: Table, row: int, col: int, value: Any) -> Table:
    rows = [list(line) for line in table.rows]
    rows[row][col] = value
    return table.replaced([tuple(line) for line in rows])


@QUESTIONS.kind("operation")
def set_value(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = a_table(rng)
    (col, name), row = a_number_column(table, rng), rng.randrange(len(table.rows))
    value = table.rows[row][col] + rng.randint(1, 20)
    changed = with_value(table, row, col, value)
    return asked(table, rng, f"set the {name} of {table.name(row)} to {value}.", grid(changed.values()),
                 [Call("update_cell", {"position": table.position(row, col), "value": value})])


@QUESTIONS.kind("operation")
def raise_group(themes: tuple[Theme, ...], rng: Random) -> Question | None:
    table, amount = a_table(rng), rng.randint(2, 15)
    (col, name), group = a_number_column(table, rng), rng.choice(table.rows)[1]
    rows = [at for at, row in enumerate(table.rows) if row[1] == group]
    if len(rows) < 2:
        return None
    changed, calls = table, []
    for row in rows:
        changed = with_value(changed, row, col, table.rows[row][col] + amount)
        calls.append(Call("update_cell", {"position": table.position(row, col), "value": table.rows[row][col] + amount}))
    goal = f"raise the {name} by {amount} in every row whose {table.header[1]} is '{group}'."
    return asked(table, rng, goal, grid(changed.values()), calls)


@QUESTIONS.kind("operation")
def add_row(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = plain_table(rng)
    line, at = new_row(table, rng), rng.randint(2, table.height + 1)
    rows = table.values()
    rows.insert(at - 1, list(line))
    goal = f"insert a row with the values {', '.join(map(str, line))} so that it becomes row {at}."
    return asked(table, rng, goal, grid(rows), [Call("insert_rows", {"values_list": [list(line)], "row_idx": at})])


@QUESTIONS.kind("operation")
def add_column(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = plain_table(rng)
    name, at = rng.choice(("Grade", "Rank", "Bonus", "Code")), rng.randint(2, table.width + 1)
    column = [name, *(rng.randint(1, 60) for _ in table.rows)]
    rows = [[*line[:at - 1], value, *line[at - 1:]] for line, value in zip(table.values(), column, strict=True)]
    goal = (f"insert a column so that it becomes column {written(1, at)[0]}; from top to bottom it has the values "
            f"{', '.join(map(str, column))}.")
    return asked(table, rng, goal, grid(rows), [Call("insert_cols", {"values_list": [column], "col_idx": at})])


@QUESTIONS.kind("operation")
def remove_group(themes: tuple[Theme, ...], rng: Random) -> Question | None:
    table = a_table(rng)
    group = rng.choice(table.rows)[1]
    gone = [at for at, row in enumerate(table.rows) if row[1] == group]
    if len(gone) == len(table.rows):
        return None
    rest = table.replaced([row for row in table.rows if row[1] != group])
    return asked(table, rng, f"delete every row whose {table.header[1]} is '{group}'.", grid(rest.values()),
                 [Call("delete_batch_data", {"dimension": "rows", "index_list": [row + 2 for row in gone]})])


@QUESTIONS.kind("operation")
def remove_columns(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = plain_table(rng)
    gone = sorted(rng.sample(range(1, table.width), 2))
    rows = [[value for at, value in enumerate(line) if at not in gone] for line in table.values()]
    goal = f"delete the columns {table.header[gone[0]]} and {table.header[gone[1]]}."
    return asked(table, rng, goal, grid(rows),
                 [Call("delete_batch_data", {"dimension": "columns", "index_list": [at + 1 for at in gone]})])


@QUESTIONS.kind("operation")
def sort_rows(themes: tuple[Theme, ...], rng: Random) -> Question | None:
    table, order = a_table(rng), rng.choice(list(ORDERS))
    if (column := distinct_column(table, rng)) is None:
        return None
    col, name = column
    rows = sorted(table.rows, key=lambda row: row[col], reverse=order == "des")
    goal = f"sort the rows by {name} {ORDERS[order]}; the header stays where it is."
    return asked(table, rng, goal, grid(table.replaced(rows).values()),
                 [FREEZE, Call("sort_sheet_by_col", {"col_num": col + 1, "order": order})])


@QUESTIONS.kind("operation")
def keep_best(themes: tuple[Theme, ...], rng: Random) -> Question | None:
    table, order, count = a_table(rng), rng.choice(list(ORDERS)), rng.randint(2, 4)
    if (column := distinct_column(table, rng)) is None:
        return None
    col, name = column
    rows = sorted(table.rows, key=lambda row: row[col], reverse=order == "des")[:count]
    goal = (f"sort the rows by {name} {ORDERS[order]}, the header stays where it is, then delete all but the first {count} of "
            "them.")
    gone = list(range(count + 2, table.height + 1))
    return asked(table, rng, goal, grid(table.replaced(rows).values()),
                 [FREEZE, Call("sort_sheet_by_col", {"col_num": col + 1, "order": order}),
                  Call("delete_batch_data", {"dimension": "rows", "index_list": gone})])


@QUESTIONS.kind("operation")
def below_column(themes: tuple[Theme, ...], rng: Random) -> Question:
    table, operator = a_table(rng), rng.choice([*WORDED, "COUNT"])
    col, name = a_number_column(table, rng)
    numbers = table.numbers(col)
    value = len(numbers) if operator == "COUNT" else computed(operator, numbers)
    below = [""] * table.width
    below[col] = value
    words = "the number of rows" if operator == "COUNT" else f"{WORDED[operator]} of the column"
    arguments = {"start_position": table.position(0, col), "end_position": table.position(len(numbers) - 1, col),
                 "result_position": table.position(len(numbers), col), "operator": operator}
    return asked(table, rng, f"write {words} into the first empty cell of the column {name}.", grid([*table.values(), below]),
                 [Call("update_cell_by_formula", arguments)])


@QUESTIONS.kind("operation")
def computed_column(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = plain_table(rng)
    operator, (first, second) = rng.choice(("PRODUCT", "MINUS", "SUM")), rng.sample([at for at, _ in table.columns()], 2)
    if operator == "PRODUCT":
        first, second = PRICE, AMOUNT
    one, other = table.header[first], table.header[second]
    name, words, work = {
        "PRODUCT": (table.theme.product, f"the product of {one} and {other}", lambda row: row[first] * row[second]),
        "MINUS": ("Difference", f"{one} minus {other}", lambda row: row[first] - row[second]),
        "SUM": ("Both", f"the sum of {one} and {other}", lambda row: row[first] + row[second]),
    }[operator]
    end = table.width
    rows = [[*table.header, name], *([*row, work(row)] for row in table.rows)]
    calls = [Call("update_cell", {"position": written(1, end + 1), "value": name})]
    calls += [Call("update_cell_by_formula", {
        "position_list": [table.position(row, first), table.position(row, second)],
        "result_position": table.position(row, end), "operator": operator}) for row in range(len(table.rows))]
    goal = f"add a column {name} right of the last one that has for every row {words}."
    return asked(table, rng, goal, grid(rows), calls)


@QUESTIONS.kind("operation")
def overwrite_area(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = a_table(rng)
    col, name = a_number_column(table, rng)
    values = [rng.randint(1, 90) for _ in table.rows]
    changed = table
    for row, value in enumerate(values):
        changed = with_value(changed, row, col, value)
    goal = f"replace the values of the column {name}; from top to bottom they are now {', '.join(map(str, values))}."
    arguments = {"start_position": table.position(0, col), "end_position": table.position(len(values) - 1, col),
                 "values_list": [[value] for value in values]}
    return asked(table, rng, goal, grid(changed.values()), [Call("update_range", arguments)])


@QUESTIONS.kind("operation")
def add_title(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = a_table(rng)
    title = f"{table.sheet} {rng.choice(('in spring', 'in autumn', 'so far', 'at a glance'))} {rng.randint(2015, 2025)}"
    rows = [[title], *table.values()]
    goal = f"insert a new first row with the title '{title}' in its first cell and merge it over all columns of the table."
    return asked(table, rng, goal, grid(rows), [
        Call("insert_rows", {"values_list": [[title]], "row_idx": 1}),
        Call("merge_cells", {"start_position": "A1", "end_position": written(1, table.width)})])


@QUESTIONS.kind("operation")
def swap_note(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = a_table(rng)
    (col, name), (row, other) = a_number_column(table, rng), rng.sample(range(len(table.rows)), 2)
    note, decoy = rng.sample(NOTES, 2)
    notes, where = {table.position(other, col): decoy}, table.position(row, col)
    goal = f"put the note '{note}' at the {name} of {table.name(row)}; leave everything else as it is."
    return asked(table, rng, goal, {"values": grid(table.values()), "notes": notes | {where: note}},
                 [Call("update_note", {"position": where, "content": note})], notes)


@QUESTIONS.kind("operation")
def rename_and_total(themes: tuple[Theme, ...], rng: Random) -> Question:
    table, name = plain_table(rng), rng.choice(("Amount", "Figure", "Measure"))
    col, old = a_number_column(table, rng)
    rows = table.values()
    rows[0][col] = name
    rows.append(["total" if at == 0 else sum(table.numbers(col)) if at == col else "" for at in range(table.width)])
    goal = (f"rename the column {old} to {name}, and add a row below the table with 'total' in its first cell and the sum of "
            "that column in its place.")
    last = len(table.rows)
    arguments = {"start_position": table.position(0, col), "end_position": table.position(last - 1, col),
                 "result_position": table.position(last, col), "operator": "SUM"}
    return asked(table, rng, goal, grid(rows), [
        Call("update_cell", {"position": written(1, col + 1), "value": name}),
        Call("update_cell", {"position": table.position(last, 0), "value": "total"}),
        Call("update_cell_by_formula", arguments)])
