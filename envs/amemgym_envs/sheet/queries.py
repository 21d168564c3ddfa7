"""Questions about a table, which are answered by a value."""

from random import Random

from amemgym_envs.sheet.cells import written
from amemgym_envs.sheet.tables import AMOUNT, PRICE, a_number_column, a_table, asked
from amemgym_envs.sheet.words import NOTES, Theme
from amemgym_envs.toolkit import Call
from amemgym_envs.toolkit.questions import Question, Questions

QUESTIONS: Questions[tuple[Theme, ...]] = Questions()
WORDED = {"SUM": "the sum", "AVERAGE": "the average", "MAX": "the highest value", "MIN": "the lowest value"}


def computed(operator: str, numbers: list[int]) -> int | float:
    if operator == "AVERAGE":
        mean = sum(numbers) / len(numbers)
        return int(mean) if mean == int(mean) else round(mean, 6)
    return {"SUM": sum, "MAX": max, "MIN": min}[operator](numbers)


@QUESTIONS.kind("query")
def look_up(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = a_table(rng)
    (col, name), row = a_number_column(table, rng), rng.randrange(len(table.rows))
    where = table.position(row, col)
    return asked(table, rng, f"what is the {name} of {table.name(row)}? Answer with a number.", table.rows[row][col],
                 [Call("get_cell_value", {"position": where})])


@QUESTIONS.kind("query")
def over_column(themes: tuple[Theme, ...], rng: Random) -> Question:
    table, operator = a_table(rng), rng.choice(list(WORDED))
    col, name = a_number_column(table, rng)
    start, end = table.position(0, col), table.position(len(table.rows) - 1, col)
    return asked(table, rng, f"what is {WORDED[operator]} of the column {name}? Answer with a number.",
                 computed(operator, table.numbers(col)),
                 [Call("get_value_by_formula", {"start_position": start, "end_position": end, "operator": operator})])


@QUESTIONS.kind("query")
def over_group(themes: tuple[Theme, ...], rng: Random) -> Question | None:
    table, operator = a_table(rng), rng.choice(list(WORDED))
    (col, name), group = a_number_column(table, rng), rng.choice(table.rows)[1]
    rows = [at for at, row in enumerate(table.rows) if row[1] == group]
    if len(rows) < 2:
        return None
    goal = (f"what is {WORDED[operator]} of the column {name} over the rows whose {table.header[1]} is '{group}'? Answer with a "
            "number.")
    return asked(table, rng, goal, computed(operator, [table.rows[row][col] for row in rows]), [
        Call("filter_cells", {"query": group, "in_column": 2}),
        Call("get_value_by_formula", {"position_list": [table.position(row, col) for row in rows], "operator": operator})])


@QUESTIONS.kind("query")
def count_group(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = a_table(rng)
    group = rng.choice(table.theme.columns[1].values)
    count = sum(row[1] == group for row in table.rows)
    return asked(table, rng, f"how many rows have '{group}' as their {table.header[1]}? Answer with a number.", count,
                 [Call("filter_cells", {"query": group, "in_column": 2})])


@QUESTIONS.kind("query")
def extreme_row(themes: tuple[Theme, ...], rng: Random) -> Question | None:
    table = a_table(rng)
    (col, name), operator = a_number_column(table, rng), rng.choice(("MAX", "MIN"))
    best = computed(operator, table.numbers(col))
    rows = [at for at, row in enumerate(table.rows) if row[col] == best]
    if len(rows) != 1:
        return None
    word = "highest" if operator == "MAX" else "lowest"
    start, end = table.position(0, col), table.position(len(table.rows) - 1, col)
    return asked(table, rng, f"which {table.theme.row} has the {word} {name}? Answer with its name.", table.rows[rows[0]][0], [
        Call("get_value_by_formula", {"start_position": start, "end_position": end, "operator": operator}),
        Call("filter_cells", {"query": best, "in_column": col + 1})])


@QUESTIONS.kind("query")
def product_of_row(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = a_table(rng)
    row = rng.randrange(len(table.rows))
    positions = [table.position(row, PRICE), table.position(row, AMOUNT)]
    goal = f"what is the product of {table.header[PRICE]} and {table.header[AMOUNT]} of {table.name(row)}? Answer with a number."
    return asked(table, rng, goal, table.rows[row][PRICE] * table.rows[row][AMOUNT],
                 [Call("get_value_by_formula", {"position_list": positions, "operator": "PRODUCT"})])


@QUESTIONS.kind("query")
def difference_of_rows(themes: tuple[Theme, ...], rng: Random) -> Question | None:
    table = a_table(rng)
    (col, name), (first, second) = a_number_column(table, rng), rng.sample(range(len(table.rows)), 2)
    if table.rows[first][col] <= table.rows[second][col]:
        return None
    goal = (f"by how much is the {name} of {table.name(first)} higher than the {name} of {table.name(second)}? Answer with a "
            "number.")
    return asked(table, rng, goal, table.rows[first][col] - table.rows[second][col], [
        Call("get_value_by_formula",
             {"position_list": [table.position(first, col), table.position(second, col)], "operator": "MINUS"})])


@QUESTIONS.kind("query")
def where_is(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = a_table(rng)
    (col, name), row = a_number_column(table, rng), rng.randrange(len(table.rows))
    goal = f"in which cell stands the {name} of {table.name(row)}? Answer in A1 notation."
    return asked(table, rng, goal, table.position(row, col), [Call("get_A1_annotation", {"row": row + 2, "col": col + 1})])


@QUESTIONS.kind("query")
def note_of(themes: tuple[Theme, ...], rng: Random) -> Question:
    table = a_table(rng)
    (col, name), (row, other) = a_number_column(table, rng), rng.sample(range(len(table.rows)), 2)
    note, decoy = rng.sample(NOTES, 2)
    where = written(row + 2, col + 1)
    return asked(table, rng, f"what does the note say at the {name} of {table.name(row)}?", note,
                 [Call("get_note", {"position": where})], {where: note, table.position(other, col): decoy})
