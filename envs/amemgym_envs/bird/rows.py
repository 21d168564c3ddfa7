"""The rows of a generated database, drawn from its schema by a generator that the database's name seeds."""

import sqlite3
from datetime import date, timedelta
from itertools import accumulate
from random import Random
from typing import Any

from amemgym_envs.bird.schema import Column, Schema, Table

FIRST = """Ada Ben Carla Dmitri Elena Farid Greta Hugo Ines Jonas Karin Liam Mona Nils Olga Pablo Qiana Rosa Sven Tara Umar Vera
Wanda Xenia Yusuf Zoe Amir Bruna Cyril Dora""".split()
LAST = """Abel Brandt Castro Diaz Egger Fischer Gomez Haas Ito Jensen Keller Lopez Moreau Novak Okafor Petrov Quist Rossi Silva
Tanaka Ueda Vogel Weber Yilmaz Zeller Arnold Bauer Conti Dahl Eriksen""".split()


def build(schema: Schema, seed: int) -> bytes:
    """The database of ``schema``, serialized. The same for the same seed."""
    rng = Random(f"{schema.id} {seed}")
    connection = sqlite3.connect(":memory:", isolation_level=None)
    made: dict[str, list[dict[str, Any]]] = {}
    try:
        for table in schema.tables:
            made[table.name] = _rows(table, made, rng)
            connection.execute(_create(table, schema))
            marks = ", ".join("?" * len(table.columns))
            connection.execute("BEGIN")
            rows = [tuple(row.values()) for row in made[table.name]]
            connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)
            connection.execute("COMMIT")
        return connection.serialize()
    finally:
        connection.close()


def _create(table: Table, schema: Schema) -> str:
    lines = []
    for column in table.columns:
        constraint = " PRIMARY KEY" if column.kind == "key" else "" if column.null else " NOT NULL"
        lines.append(f"{column.name} {column.type}{constraint}")
    if table.pair:
        lines.append(f"PRIMARY KEY ({', '.join(table.pair)})")
    for link in schema.links:
        if link.child is table:
            lines.append(f"FOREIGN KEY ({link.column.name}) REFERENCES {link.parent.name} ({link.parent.key})")
    return f"CREATE TABLE {table.name} ({', '.join(lines)})"


def _rows(table: Table, made: dict[str, list[dict[str, Any]]], rng: Random) -> list[dict[str, Any]]:
    columns = [_values(column, table.rows, made, rng) for column in table.columns]
    rows = [dict(zip((column.name for column in table.columns), values, strict=True)) for values in zip(*columns, strict=True)]
    for column in table.of_kind("after"):
        start, low, high = column.how
        for row in rows:
            if row[start] is not None and row[column.name] is not None:
                row[column.name] = (date.fromisoformat(row[start]) + timedelta(rng.randint(low, high))).isoformat()
            else:
                row[column.name] = None
    if table.pair:
        rows = list({tuple(row[name] for name in table.pair): row for row in rows}.values())
    return rows


def _values(column: Column, count: int, made: dict[str, list[dict[str, Any]]], rng: Random) -> list[Any]:
    how = column.how
    if column.kind == "key":
        return list(range(1, count + 1))
    if column.kind == "list":
        return list(how)
    if column.kind == "person":
        return rng.sample([f"{first} {last}" for first in FIRST for last in LAST], count)
    if column.kind == "mix":
        return rng.sample([f"{left} {right}" for left in how[0] for right in how[1]], count)
    if column.kind == "pick":
        values = rng.choices(list(how), list(how.values()), k=count)
    elif column.kind == "int":
        values = [_number(how, rng, round) for _ in range(count)]
    elif column.kind == "real":
        values = [_number(how, rng, lambda x: round(x, 2)) for _ in range(count)]
    elif column.kind == "date":
        first, last = how
        values = [(first + timedelta(rng.randint(0, (last - first).days))).isoformat() for _ in range(count)]
    elif column.kind == "after":
        values = [""] * count
    else:
        values = _references(made[how], count, rng)
    return [None if column.null and rng.random() < column.null else value for value in values]


def _number(how: list[float], rng: Random, rounded: Any) -> Any:
    """[low, high]: any as likely. [low, high, mean, deviation]: about the mean."""
    low, high, *bell = how
    return rounded(min(high, max(low, rng.gauss(*bell))) if bell else rng.uniform(low, high))


def _references(rows: list[dict[str, Any]], count: int, rng: Random) -> list[int]:
    """Keys of ``rows``: few of them often, many rarely, and some never."""
    keys = list(range(1, len(rows) + 1))
    rng.shuffle(keys)
    keys = keys[: max(1, len(keys) - len(keys) // 12)]
    weights = list(accumulate(1 / (rank + len(keys) / 4) for rank in range(len(keys))))
    return rng.choices(keys, cum_weights=weights, k=count)
