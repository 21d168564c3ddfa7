"""One read-only database: its schema as text, and its queries, from any number of episodes and threads."""

import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from amemgym_envs.bird.guard import Guarded, Limits

Connect = Callable[[], sqlite3.Connection]


class Column(NamedTuple):
    name: str
    type: str


class Database:
    """``connect`` opens a connection of its own each time. There are as many as queries ever ran at once."""

    def __init__(self, name: str, connect: Connect, limits: Limits) -> None:
        self.name = name
        self.limits = limits
        self._connect = connect
        self._idle: deque[Guarded] = deque()
        connection = connect()
        self.tables = _tables(connection)
        self.schema = _described(connection, self.tables)
        self._idle.append(Guarded(connection, limits))

    @contextmanager
    def query(self, sql: str, seconds: float | None = None) -> Iterator[sqlite3.Cursor]:
        """See ``Guarded.query``."""
        try:
            guarded = self._idle.pop()
        except IndexError:
            guarded = Guarded(self._connect(), self.limits)
        try:
            with guarded.query(sql, seconds) as cursor:
                yield cursor
        finally:
            self._idle.append(guarded)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().connection.close()


def from_file(path: Path) -> sqlite3.Connection:
    """A connection that can change neither the file nor anything beside it."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, **_SHARED)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")  # BIRD's files hold text of other encodings
    return connection


def from_bytes(image: bytes) -> sqlite3.Connection:
    """A connection to a copy, in memory, of the serialized database ``image``."""
    connection = sqlite3.connect(":memory:", **_SHARED)
    connection.deserialize(image)
    return connection


_SHARED = {"isolation_level": None, "check_same_thread": False}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _tables(connection: sqlite3.Connection) -> dict[str, list[Column]]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
    columns = "SELECT name, type FROM pragma_table_info(?)"
    return {name: [Column(*row) for row in connection.execute(columns, [name])] for (name,) in names.fetchall()}


def _described(connection: sqlite3.Connection, tables: dict[str, list[Column]]) -> str:
    return "\n".join(_table_text(connection, name, columns) for name, columns in tables.items())


def _table_text(connection: sqlite3.Connection, table: str, columns: list[Column]) -> str:
    """A CREATE TABLE of one line per column, with up to three of its values."""
    info = connection.execute("SELECT name, pk, \"notnull\" FROM pragma_table_info(?)", [table]).fetchall()
    keys = [name for name, pk, _ in sorted(info, key=lambda row: row[1]) if pk]
    needed = {name for name, _, notnull in info if notnull}
    lines = []
    for name, kind in columns:
        facts = [plain(name), kind] + ["PRIMARY KEY"] * (keys == [name]) + ["NOT NULL"] * (name in needed and keys != [name])
        lines.append(("  " + " ".join(filter(None, facts)), _samples(connection, table, name)))
    if len(keys) > 1:
        lines.append((f"  PRIMARY KEY ({', '.join(map(plain, keys))})", ""))
    foreign = connection.execute("SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(?) ORDER BY id, seq", [table])
    for column, other, target in foreign.fetchall():
        key = f" ({plain(target)})" if target else ""
        lines.append((f"  FOREIGN KEY ({plain(column)}) REFERENCES {plain(other)}{key}", ""))
    body = "\n".join(f"{text}{',' if at < len(lines) else ''}{note}" for at, (text, note) in enumerate(lines, 1))
    return f"CREATE TABLE {plain(table)} (\n{body}\n);"


def _samples(connection: sqlite3.Connection, table: str, column: str) -> str:
    """Values from the first rows only: a look at a whole table of gigabytes would take minutes."""
    name = quoted(column)
    rows = connection.execute(f"SELECT {name} FROM (SELECT {name} FROM {quoted(table)} LIMIT 200) WHERE {name} IS NOT NULL")
    values = list(dict.fromkeys(literal(value) for (value,) in rows))[:3]
    return f"  -- {', '.join(values)}" if values else ""


KEYWORDS = frozenset(
    """add all alter and as between by case check collate column commit constraint create cross default delete desc distinct drop
    else end escape except exists foreign from full group having if in index inner insert intersect into is isnull join left
    like limit natural not null offset on or order outer primary references right select set table then to transaction union
    unique update using values view when where with""".split()
)


def plain(name: str) -> str:
    """``name`` as SQL takes it: quoted only where needed."""
    return name if name.isidentifier() and name.isascii() and name.casefold() not in KEYWORDS else quoted(name)


def literal(value: object, longest: int = 40) -> str:
    """A cell as SQL would write it, on one line and cut to ``longest`` characters."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        text = f"x'{value[:longest].hex()}'"
    else:
        text = f"'{value}'" if isinstance(value, str) else str(value)
    text = " ".join(text.split()) if any(not c.isprintable() for c in text) else text
    return text if len(text) <= longest else text[:longest] + "..."
