"""Hostile SQL: refused or stopped in time, and nothing is changed by it."""

import time

import pytest

from amemgym_envs.bird import generated
from amemgym_envs.bird.database import Database, from_file
from amemgym_envs.bird.guard import Limits, QueryError, expansion

LIMIT = 0.2


@pytest.fixture(scope="module")
def database():
    return generated.database("museum", Limits(LIMIT))


def rows(database, sql):
    with database.query(sql) as cursor:
        return sum(1 for _ in cursor)


REFUSED = {
    "INSERT INTO rooms VALUES (99, 'x', 'old', 3)": "read-only",
    "UPDATE rooms SET wing = 'x'": "read-only",
    "DELETE FROM rooms": "read-only",
    "DROP TABLE rooms": "read-only",
    "CREATE TABLE t (a)": "read-only",
    "CREATE TEMP TABLE t (a)": "read-only",
    "ATTACH '/etc/passwd' AS x": "read-only",
    "DETACH main": "read-only",
    "PRAGMA query_only = 0": "read-only",
    "PRAGMA table_info(rooms)": "read-only",
    "SELECT * FROM pragma_table_info('rooms')": "read-only|cannot be read",
    "SELECT * FROM dbstat": "read-only|cannot be read",
    "VACUUM": "read-only",
    "VACUUM INTO 'stolen.db'": "read-only",
    "REINDEX": "read-only",
    "ANALYZE": "read-only",
    "BEGIN": "read-only",
    "SAVEPOINT x": "read-only",
    "SELECT 1; SELECT 2": "read-only",
    "SELECT 1; DROP TABLE rooms": "read-only",
    "-- nothing": "read-only",
    "": "read-only",
    "SELECT load_extension('x')": "load_extension is not available",
    "SELECT readfile('/etc/passwd')": "SQL error: no such function",
    "SELECT fts3_tokenizer('x')": "fts3_tokenizer is not available",
    "SELECT random()": "random is not available",
    "SELECT hex(randomblob(9))": "randomblob is not available",
    "SELECT zeroblob(1000000000)": "too big",
    "SELECT replace(printf('%.9000c', 'x'), 'x', 'xxxxxxxxxx')": "too big",
    "SELECT group_concat(a.title) FROM artworks a, artworks b": "too big|interrupted|stopped",
    "SELECT json_group_array(a.title) FROM artworks a, artworks b": "too big|stopped",
    f"SELECT {'(' * 5000}1{')' * 5000}": "SQL error",
    f"SELECT {'+'.join('1' * 1000)}": "SQL error",
    f"SELECT * FROM {'(SELECT * FROM ' * 300}rooms{')' * 300}": "SQL error",
    f"SELECT * FROM rooms WHERE room_id IN ({','.join(map(str, range(10_000)))})": "too big|SQL error",
    f"SELECT {','.join(['upper(name)'] * 300)} FROM rooms": "more than 200 functions",
    " UNION ALL ".join(["SELECT 1"] * 200): "SQL error",
    f"SELECT name LIKE '{'%a' * 2000}' FROM rooms": "too complex",
    "SELECT ?": "placeholder",
    "SELECT :name": "placeholder",
    "SELECT '\0'": "SQL error",
    "SELECT '\ud800'": "no text",
    "SELECT nonsense FROM rooms": "no such column: nonsense",
}
ENDLESS = {
    "recursion": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r",
    "growing recursion": "WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r UNION ALL SELECT n + 2 FROM r) SELECT * FROM r",
    "cross join": "SELECT COUNT(*) FROM displays a, displays b, displays c, displays d",
    "sort": "SELECT printf('%.9000c', 'x') || a.title AS p FROM artworks a, artworks b, artworks c ORDER BY p",
    "distinct": "SELECT DISTINCT a.title || b.title || c.title FROM artworks a, artworks b, artworks c",
    "window": "SELECT SUM(a.artwork_id) OVER (ORDER BY a.title, b.title) FROM artworks a, artworks b, artworks c",
    "correlated": "SELECT (SELECT COUNT(*) FROM artworks b, artworks c, artworks d WHERE b.title < a.title) FROM artworks a",
    "replace": "SELECT SUM(instr(printf('%.19000c', 'a'), printf('%.9000c', 'a') || a.title)) FROM artworks a, artworks b",
}


@pytest.mark.parametrize("sql", REFUSED, ids=lambda sql: repr(sql[:30]))
def test_it_is_refused_with_a_reason(database, sql, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = time.monotonic()
    with pytest.raises(QueryError, match=REFUSED[sql]):
        rows(database, sql)
    assert time.monotonic() - start < LIMIT + 0.5
    assert not list(tmp_path.iterdir())
    assert rows(database, "SELECT * FROM rooms") == 10


@pytest.mark.parametrize("name", ENDLESS)
def test_it_is_stopped_in_time(database, name):
    start = time.monotonic()
    with pytest.raises(QueryError, match=f"longer than {LIMIT} s"):
        rows(database, ENDLESS[name])
    assert time.monotonic() - start < LIMIT + 0.8  # the margin is for a busy machine
    assert rows(database, "SELECT * FROM rooms") == 10


def doubling(length):
    names = "".join(f", c{i} AS (SELECT 1 FROM c{i - 1} a, c{i - 1} b)" for i in range(1, length))
    return f"WITH c0 AS (SELECT 1 x){names} SELECT COUNT(*) FROM c{length - 1}"


def test_names_that_multiply_each_other_are_counted_before_they_run(database):
    assert [expansion(doubling(length)) for length in (1, 2, 3, 4)] == [1, 5, 15, 37]
    with pytest.raises(QueryError, match="WITH use each other"):
        rows(database, doubling(30))
    assert rows(database, doubling(4)) == 1
    disguised = doubling(30).replace("c1 ", '"C1" ').replace(" AS (", " (x) AS NOT MATERIALIZED (")
    with pytest.raises(QueryError, match="WITH use each other"):
        rows(database, disguised)


def test_ordinary_queries_pass(database):
    for sql in (
        "WITH r AS (SELECT wing, COUNT(*) AS n FROM rooms GROUP BY wing) SELECT * FROM r WHERE n > 1",
        "SELECT name FROM sqlite_master",
        "SELECT COUNT(*) FROM ROOMS",
        "WITH r AS (SELECT 1) SELECT COUNT(*) FROM r, Rooms",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT COUNT(*) FROM r",
        "EXPLAIN SELECT 1",
        "VALUES (1, 2)",
        "SELECT value FROM json_each('[1, 2]')",
        "SELECT CURRENT_DATE, date('now', '-1 day'), CAST(strftime('%Y', '2020-01-01') AS INTEGER), 1 || 'a', IIF(1, 2, 3);",
    ):
        assert rows(database, sql) > 0


def test_a_file_stays_as_it_is(tmp_path):
    path = tmp_path / "museum #1?.sqlite"
    path.write_bytes(generated._image("museum"))
    database = Database("museum", lambda: from_file(path), Limits())
    for sql in REFUSED:
        with pytest.raises(QueryError):
            rows(database, sql)
    database.close()
    assert path.read_bytes() == generated._image("museum") and list(tmp_path.iterdir()) == [path]
