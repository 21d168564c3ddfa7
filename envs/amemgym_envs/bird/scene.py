"""What question templates draw from: a schema, its data, and a generator; and what they give, a draft of a question."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, TypeVar

from amemgym_envs.bird.schema import Column, Link, Schema, Table

T = TypeVar("T")


class Skip(Exception):
    """The schema or the data has nothing for the template that was tried."""


@dataclass(frozen=True)
class Draft:
    """``wrong``: queries that a hasty reader might write; each must give other rows. ``ranked``: all candidates of a question for
    the first ``n`` in order, the deciding value last: the n-th and the next must differ in it."""

    wordings: Sequence[str]
    sql: str
    wrong: Sequence[str]
    hints: Sequence[str] = ()
    ranked: tuple[str, int] | None = None


class Filter(NamedTuple):
    """A condition on a column: in words that follow a noun, and in SQL, with a place for the table's alias."""

    column: Column
    text: str
    condition: str

    def on(self, alias: str = "") -> str:
        return self.condition.format(f"{alias}." if alias else "")

    @property
    def hint(self) -> str:
        return f'"{self.text}" means {self.on()}'


class Scene:
    def __init__(self, schema: Schema, connection: sqlite3.Connection, rng: Random) -> None:
        self.schema, self.connection, self.rng = schema, connection, rng

    def pick(self, options: Iterable[T]) -> T:
        options = list(options)
        if not options:
            raise Skip
        return self.rng.choice(options)

    def table(self, *kinds: str, full: bool = False, key: bool = True) -> Table:
        """One that has a column of each of ``kinds`` (``full``: without gaps)."""
        tables = (table for table in self.schema.tables if table.key or not key)
        return self.pick(table for table in tables if all(table.of_kind(kind, full=full) for kind in kinds))

    def link(self, child: Sequence[str] = (), parent: Sequence[str] = ()) -> Link:
        """One whose child and parent have columns of these kinds."""

        def fits(link: Link) -> bool:
            return all(link.child.of_kind(kind) for kind in child) and all(link.parent.of_kind(kind) for kind in parent)

        return self.pick(link for link in self.schema.links if fits(link))

    def named(self, *child: str) -> Link:
        """One whose parent has names."""
        links = (link for link in self.schema.links if link.parent.title and link.parent.title.kind != "key")
        return self.pick(link for link in links if all(link.child.of_kind(kind) for kind in child))

    def column(self, table: Table, *kinds: str, full: bool = False, but: Iterable[str] = ()) -> Column:
        return self.pick(column for column in table.of_kind(*kinds, full=full) if column.name not in set(but))

    def values(self, table: Table, column: str) -> list[Any]:
        rows = self.connection.execute(f"SELECT {column} FROM {table.name} WHERE {column} IS NOT NULL ORDER BY {column}")
        return [value for (value,) in rows]

    def value(self, table: Table, column: str) -> Any:
        """A value of the column, common ones more often."""
        return self.pick(self.values(table, column))

    def filter(self, table: Table, *kinds: str, but: Iterable[str] = ()) -> Filter:
        """A condition that some rows meet and some do not, on a column of ``kinds`` (default: those with values in common)."""
        column = self.column(table, *(kinds or ("pick", "pick", "int", "real", "date")), but=but)
        name, label = column.name, column.label
        if column.kind == "pick":
            value = self.value(table, name)
            literal = f"'{value}'" if isinstance(value, str) else str(value)
            return Filter(column, (column.that or f"whose {label} is ~").replace("~", str(value)), f"{{0}}{name} = {literal}")
        if column.kind in ("date", "after"):
            return self._dated(column, self.value(table, name))
        return self._measured(column, self.values(table, name))

    def _dated(self, column: Column, value: str) -> Filter:
        name, label = column.name, column.label
        year = value[:4]
        return self.pick([
            Filter(column, f"whose {label} is in {year}", f"strftime('%Y', {{0}}{name}) = '{year}'"),
            Filter(column, f"whose {label} is in the month {value[:7]}", f"strftime('%Y-%m', {{0}}{name}) = '{value[:7]}'"),
            Filter(column, f"whose {label} is before {year}-07-01", f"{{0}}{name} < '{year}-07-01'"),
            Filter(column, f"whose {label} is {year}-04-01 or later", f"{{0}}{name} >= '{year}-04-01'"),
        ])  # fmt: skip

    def _measured(self, column: Column, values: list[Any]) -> Filter:
        shares = sorted(self.rng.sample((0.15, 0.3, 0.5, 0.7, 0.85), 2))
        low, high = (_round(values[int(len(values) * share)]) for share in shares)
        name, label = column.name, column.label
        options = [
            Filter(column, f"whose {label} is above {high}", f"{{0}}{name} > {high}"),
            Filter(column, f"whose {label} is below {high}", f"{{0}}{name} < {high}"),
            Filter(column, f"whose {label} is at least {low}", f"{{0}}{name} >= {low}"),
        ]
        if low < high:
            between = f"{{0}}{name} BETWEEN {low} AND {high}"
            options.append(Filter(column, f"whose {label} is between {low} and {high} (both included)", between))
        return self.pick(options)


def _round(value: float) -> int:
    """To the two leading digits, as people say numbers."""
    size = 10 ** max(0, len(str(int(abs(value)))) - 2)
    return int(round(value / size) * size)
