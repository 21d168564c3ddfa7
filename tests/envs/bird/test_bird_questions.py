"""The generated databases and questions: sound, graded, the same every time, and not to be answered by a mistake."""

import hashlib
import subprocess
import sys
from collections import Counter

import pytest

from amemgym_envs.bird import challenging, generated, moderate, simple
from amemgym_envs.bird.database import from_bytes
from amemgym_envs.bird.guard import Limits
from amemgym_envs.bird.rows import build
from amemgym_envs.bird.schema import load

NAMES = [name for names in generated.SPLITS.values() for name in names]


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


def test_a_database_has_what_questions_need(name):
    schema = load(name)
    connection = from_bytes(generated._image(name))
    assert 5 <= len(schema.tables) <= 12 and len(schema.links) >= 5
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    for table in schema.tables:
        for column in table.columns:
            rows, filled, different = connection.execute(
                f"SELECT COUNT(*), COUNT({column.name}), COUNT(DISTINCT {column.name}) FROM {table.name}"
            ).fetchone()
            assert different > 1 and (filled < rows) == bool(column.null or column.kind == "after" and filled < rows)
            if table.title and column == table.title:
                assert different == rows  # a name stands for one row
    for table in schema.tables:
        for column in table.of_kind("after"):
            start = column.how[0]
            assert connection.execute(f"SELECT COUNT(*) FROM {table.name} WHERE {column.name} < {start}").fetchone() == (0,)


def test_questions_are_graded_and_different(name):
    questions = generated._questions(name)
    assert Counter(question.difficulty for question in questions) == dict.fromkeys(generated.LEVELS, generated.EACH)
    assert len({question.text for question in questions}) == len({question.sql for question in questions}) == len(questions)
    words = Counter(question.sql.split("(")[0] for question in questions)
    assert len(words) > 15
    hard = " ".join(question.sql for question in questions if question.difficulty == "challenging")
    assert all(word in hard for word in ("HAVING", " OVER (", "IS NULL", "(SELECT ", "strftime"))


def test_gold_queries_run_under_the_guard_and_return_rows(name):
    database = generated.database(name, Limits())
    for question in generated._questions(name):
        with database.query(question.sql) as cursor:
            rows = cursor.fetchall()
        assert 0 < len(rows) <= generated.LONGEST and not all(cell is None for row in rows for cell in row), question.text


def test_questions_say_all_that_the_query_needs(name):
    """Every literal of a gold query stands in its question, so that none has to be guessed."""
    from amemgym_envs.bird.guard import TOKENS

    for question in generated._questions(name):
        literals = [token.strip("'") for token in TOKENS.findall(question.sql) if token.startswith("'") and "%Y" not in token]
        assert all(value.rstrip("%") in question.text for value in literals), question


def test_a_mistake_gives_other_rows():
    """The check that every question has passed turns down an unsound one."""
    connection = from_bytes(generated._image("museum"))
    draft = simple.Draft(["?"], "SELECT COUNT(*) FROM rooms WHERE wing = 'old'", ["SELECT COUNT(*) FROM rooms"])
    rank = "SELECT name, wing FROM rooms ORDER BY wing DESC"
    assert generated.sound(draft, connection)
    for unsound in (
        simple.Draft(["?"], "SELECT COUNT(*) FROM rooms WHERE area > 0", draft.wrong),
        simple.Draft(["?"], "SELECT name FROM rooms WHERE area < 0", []),
        simple.Draft(["?"], "SELECT MAX(area) FROM rooms WHERE area < 0", []),
        simple.Draft(["?"], "SELECT title FROM artworks", []),
        simple.Draft(["?"], f"{rank} LIMIT 1", [], ranked=(rank, 1)),
    ):
        assert not generated.sound(unsound, connection)


def test_every_template_is_used():
    """Seen by the number of different questions that each gives over all databases."""
    for level, templates in generated.LEVELS.items():
        assert len(templates) == len(set(templates)) >= 10, level
    assert sum(map(len, (simple.TEMPLATES, moderate.TEMPLATES, challenging.TEMPLATES))) >= 35


def digest():
    """Of all questions and of the dumps of two databases."""
    sums = hashlib.sha256()
    for name in NAMES:
        sums.update(repr(generated._questions(name)).encode())
    for name in NAMES[:2]:
        sums.update("\n".join(from_bytes(build(load(name), generated.SEED)).iterdump()).encode())
    return sums.hexdigest()


def test_another_process_makes_the_same(pytestconfig):
    script = (
        "import importlib.util, sys; spec = importlib.util.spec_from_file_location('t', sys.argv[1]); "
        "t = importlib.util.module_from_spec(spec); spec.loader.exec_module(t); print(t.digest())"
    )
    result = subprocess.run([sys.executable, "-c", script, __file__], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.split() == [digest()]
