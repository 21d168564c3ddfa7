"""What the generated databases are made from: tables, columns and the words for them, as schemas/*.yaml has them."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

SCHEMAS = Path(__file__).with_name("schemas")
KINDS = ("key", "person", "list", "mix", "pick", "int", "real", "date", "after", "ref")
NAMES = ("person", "list", "mix")


@dataclass(frozen=True)
class Column:
    """``kind`` and ``how`` say how values are drawn (see ``rows``); ``null``: share of rows without one ("gaps").

    ``label``: the column in a sentence. ``that``: a sentence's part for one value, as in "living in ~". Of a ``ref``, ``of``
    leads from rows to what they refer to ("visits *of* patients"), ``rows`` is what the latter has ("patients with *visits*").
    """

    name: str
    kind: str
    how: Any
    null: float = 0.0
    label: str = ""
    that: str = ""
    of: str = "of"
    rows: str = ""

    @property
    def type(self) -> str:
        return "INTEGER" if self.kind in ("key", "int", "ref") else "REAL" if self.kind == "real" else "TEXT"


@dataclass(frozen=True)
class Table:
    name: str
    noun: str
    plural: str
    rows: int
    columns: tuple[Column, ...]
    pair: tuple[str, ...] = ()  # columns that are together the key, where no column is

    def of_kind(self, *kinds: str, full: bool = False) -> list[Column]:
        """Its columns of these kinds; ``full``: those without gaps."""
        return [column for column in self.columns if column.kind in kinds and not (full and column.null)]

    @cached_property
    def key(self) -> str:
        """Its key column; empty where a pair is the key."""
        return next((column.name for column in self.columns if column.kind == "key"), "")

    @cached_property
    def title(self) -> Column | None:
        """What one row is called by: its name, else its key. None where a pair is the key."""
        return next(iter(self.of_kind(*NAMES) or self.of_kind("key")), None)


@dataclass(frozen=True)
class Link:
    """A foreign key: ``column`` of ``child`` refers to ``parent``."""

    child: Table
    column: Column
    parent: Table

    @property
    def rows(self) -> str:
        return self.column.rows or self.child.plural


@dataclass(frozen=True)
class Schema:
    id: str
    about: str
    tables: tuple[Table, ...]
    links: tuple[Link, ...] = field(default=())


def load(name: str) -> Schema:
    raw = yaml.load((SCHEMAS / f"{name}.yaml").read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    tables = {key: _table(key, value) for key, value in raw["tables"].items()}
    links = [Link(table, column, tables[column.how]) for table in tables.values() for column in table.of_kind("ref")]
    return Schema(name, raw["about"], tuple(tables.values()), tuple(links))


def _table(name: str, raw: dict[str, Any]) -> Table:
    columns = tuple(_column(key, value) for key, value in raw["columns"].items())
    noun, plural = raw["noun"] if isinstance(raw["noun"], list) else (raw["noun"], raw["noun"] + "s")
    listed = next((len(column.how) for column in columns if column.kind == "list"), None)
    pair = tuple(raw.get("pair", ()))
    return Table(name, noun, plural, listed or raw["rows"], columns, pair)


def _column(name: str, raw: Any) -> Column:
    if raw in ("key", "person"):
        raw = {raw: True}
    raw = dict(raw)
    kind = next(kind for kind in KINDS if kind in raw)
    label = raw.pop("label", name.replace("_", " ") if kind != "key" else name)
    return Column(name, kind, raw.pop(kind), null=raw.pop("gaps", 0.0), label=label, **raw)
