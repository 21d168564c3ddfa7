"""A read-only SQLite connection for SQL that nobody has looked at: one SELECT, bounded in time, memory and size.

SQLite does the guarding: an authorizer sees every table, function and kind of statement before anything runs, limits bound
strings, expressions and compounds, and a progress handler stops what runs too long. Nothing here reads the SQL itself, but for
one case that SQLite has no limit for, names in WITH that multiply each other (``expansion``).
"""

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a query may use. ``length``: bytes of a string, a row and the SQL text; ``calls``: functions named in a query."""

    seconds: float = 1.0
    length: int = 20_000
    calls: int = 200
    expansion: int = 1_000


class QueryError(Exception):
    """A query that was refused, failed or was stopped; the text says why and what to do."""


ONLY_SELECT = "Only one SELECT statement (WITH ... SELECT is one too) can be run: the database is read-only."
COMMANDS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
ALWAYS_READABLE = {"sqlite_master", "sqlite_schema", "sqlite_sequence", "sqlite_stat1", "json_each", "json_tree"}
# An allowlist: a SQLite built elsewhere may have functions that read files or run programs.
FUNCTIONS = frozenset(
    """-> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count cume_dist
    current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor format glob group_concat
    hex ifnull iif if instr json json_array json_array_length json_extract json_group_array json_group_object json_insert
    json_object json_patch json_quote json_remove json_replace json_set json_type json_valid julianday lag last_value lead length
    like likelihood likely ln log log10 log2 lower ltrim max median min mod nth_value ntile nullif octet_length percent_rank pi
    pow power printf quote radians rank replace round row_number rtrim sign sin sinh soundex sqlite_version sqrt strftime
    string_agg substr substring subtype sum tan tanh time timediff total trim trunc typeof unhex unicode unixepoch unlikely upper
    zeroblob""".split()
)
HARD = {
    "ATTACHED": 0, "COLUMN": 1_000, "EXPR_DEPTH": 200, "COMPOUND_SELECT": 50, "FUNCTION_ARG": 100, "LIKE_PATTERN_LENGTH": 1_000,
    "VDBE_OP": 100_000, "TRIGGER_DEPTH": 1, "VARIABLE_NUMBER": 10, "WORKER_THREADS": 0,
}  # fmt: skip
STEPS = 500  # of SQLite's machine between two looks at the clock
TOKENS = re.compile(r"""'(?:[^']|'')*'|--[^\n]*|/\*.*?(?:\*/|\Z)|[\w$]+|"(?:[^"]|"")*"|\[[^\]]*\]|`(?:[^`]|``)*`|\S""", re.DOTALL)


def expansion(sql: str) -> int:
    """How often SQLite would copy the bodies of WITH names into each other: a chain of n names that use the one before twice
    is 2 ** n, and is built before the clock is looked at. An upper bound, from the tokens alone."""
    tokens = [token.strip('"[]`').casefold() for token in TOKENS.findall(sql) if not token.startswith(("'", "--", "/*"))]
    opened: list[int] = []
    sizes: dict[str, int] = {}
    bodies: dict[int, tuple[str, int]] = {}  # index of its opening bracket: name, and what was counted before it
    total = 0
    for at, token in enumerate(tokens):
        if token == "(":
            opened.append(at)
            if (name := _named(tokens, at)) is not None:
                bodies[at] = name, total
        elif token == ")" and opened:
            body = bodies.get(opened.pop())
            if body is not None:
                sizes[body[0]] = 1 + total - body[1]
        else:
            total = min(total + sizes.get(token, 0), 10**9)
    return total


def _named(tokens: list[str], bracket: int) -> str | None:
    """The name that WITH gives to what stands in ``bracket``: NAME [(columns)] AS [[NOT] MATERIALIZED] (."""
    at = bracket - 1
    while at >= 0 and tokens[at] in ("materialized", "not"):
        at -= 1
    if at < 1 or tokens[at] != "as":
        return None
    at -= 1
    if tokens[at] == ")":
        while at > 0 and tokens[at] != "(":
            at -= 1
        at -= 1
    return tokens[at] if at >= 0 else None


class Guarded:
    """``connection`` from now on runs single SELECTs within ``limits`` only. One thread at a time."""

    def __init__(self, connection: sqlite3.Connection, limits: Limits) -> None:
        self.limits = limits
        self._refused = ""
        self._calls = 0
        self._end = 0.0
        connection.execute("PRAGMA query_only = 1")
        connection.execute("PRAGMA trusted_schema = 0")
        with suppress(sqlite3.Error):  # tables that SQLite makes on first use, which the authorizer would not let it
            connection.execute("SELECT (SELECT COUNT(value) FROM json_each('[]')), (SELECT COUNT(value) FROM json_tree('[]'))")
        names = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
        self._readable = ALWAYS_READABLE | {name for (name,) in names}
        for name, value in HARD.items():
            connection.setlimit(getattr(sqlite3, f"SQLITE_LIMIT_{name}"), value)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.length)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, limits.length)
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._late, STEPS)
        self.connection = connection

    @contextmanager
    def query(self, sql: str, seconds: float | None = None) -> Iterator[sqlite3.Cursor]:
        """The rows of ``sql``, read within the block. QueryError: refused, wrong, or not read within ``seconds``."""
        seconds = seconds or self.limits.seconds
        self._refused, self._calls, self._end = "", 0, time.monotonic() + seconds
        cursor = None
        try:
            if "with" in sql.casefold() and expansion(sql) > self.limits.expansion:
                raise QueryError("The names defined by WITH use each other too often; write the query with fewer of them.")
            cursor = self.connection.execute(sql)
            if cursor.description is None:
                raise QueryError(ONLY_SELECT)
            yield cursor
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
            raise QueryError(self._explained(error, seconds)) from None
        finally:
            if cursor is not None:
                cursor.close()

    def _late(self) -> bool:
        return time.monotonic() > self._end

    def _authorize(self, action: int, first: str | None, second: str | None, database: str | None, origin: str | None) -> int:
        if action in COMMANDS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            if first in self._readable or not second:  # without a column: rows are counted, of a table or of a name in WITH
                return sqlite3.SQLITE_OK
            self._refused = f"The table {first} cannot be read."
        elif action == sqlite3.SQLITE_FUNCTION:
            self._calls += 1
            if (second or "").casefold() not in FUNCTIONS:
                self._refused = f"The function {second} is not available."
            elif self._calls > self.limits.calls:
                self._refused = f"The query calls more than {self.limits.calls} functions."
            else:
                return sqlite3.SQLITE_OK
        else:
            self._refused = ONLY_SELECT
        return sqlite3.SQLITE_DENY

    def _explained(self, error: Exception, seconds: float) -> str:
        text = str(error)
        if self._refused:
            return self._refused
        if "interrupted" in text:
            return f"The query ran longer than {seconds:g} s and was stopped; filter earlier or join on keys."
        if "one statement" in text or "max 0" in text:  # the latter is VACUUM, which attaches before it is authorized
            return ONLY_SELECT
        if isinstance(error, UnicodeEncodeError):
            return "The query holds characters that are no text."
        if isinstance(error, MemoryError):
            return "The query needs too much memory."
        if "bindings" in text:
            return "The query holds a placeholder (? or :name); write the value itself."
        return f"SQL error: {text}"
