"""The databases and questions that come with the environment: made on first use, the same everywhere, kept for the process."""

import sqlite3
from collections.abc import Iterator
from functools import cache
from random import Random
from threading import Lock

from amemgym_envs.bird import challenging, moderate, simple
from amemgym_envs.bird.database import Database, from_bytes
from amemgym_envs.bird.guard import Limits
from amemgym_envs.bird.question import Question
from amemgym_envs.bird.rows import build
from amemgym_envs.bird.scene import Draft, Scene, Skip
from amemgym_envs.bird.schema import load

SEED = 2026
SPLITS = {  # databases of their own, so that held-out questions are about schemas that nobody has seen
    "train": ("clinic", "library", "retail", "university", "transit"),
    "validation": ("museum",),
    "test": ("airline", "league"),
}
LEVELS = {"simple": simple.TEMPLATES, "moderate": moderate.TEMPLATES, "challenging": challenging.TEMPLATES}
EACH = 20  # questions of each level for each database
LONGEST = 60  # rows of a gold result
TRIES = 3_000

_lock = Lock()


def task_ids(databases: tuple[str, ...]) -> list[str]:
    return [f"{database}-{number:02}" for database in databases for number in range(EACH * len(LEVELS))]


def question(task: str) -> Question:
    database, _, number = task.rpartition("-")
    with _lock:
        return _questions(database)[int(number)]


def database(name: str, limits: Limits) -> Database:
    with _lock:
        return _database(name, limits)


@cache
def _image(name: str) -> bytes:
    return build(load(name), SEED)


@cache
def _database(name: str, limits: Limits) -> Database:
    return Database(name, lambda: from_bytes(_image(name)), limits)


@cache
def _questions(name: str) -> list[Question]:
    connection = from_bytes(_image(name))
    try:
        scene = Scene(load(name), connection, Random(f"{name} questions {SEED}"))
        return [question for level in LEVELS for question in _drawn(scene, level)]
    finally:
        connection.close()


def _drawn(scene: Scene, level: str) -> Iterator[Question]:
    """``EACH`` questions, from every template in turn."""
    templates, seen, count = list(LEVELS[level]), set(), 0
    scene.rng.shuffle(templates)
    for at in range(TRIES):
        template = templates[at % len(templates)]
        try:
            draft = template(scene)
        except Skip:
            continue
        if draft.sql in seen or not sound(draft, scene.connection):
            continue
        seen.add(draft.sql)
        yield Question(scene.schema.id, scene.pick(draft.wordings), "; ".join(draft.hints), draft.sql, level)
        count += 1
        if count == EACH:
            return
    raise RuntimeError(f"BIRD: schema {scene.schema.id} gave {count} {level} questions in {TRIES} tries, expected {EACH}")


def sound(draft: Draft, connection: sqlite3.Connection) -> bool:
    """Whether the question has one answer, worth asking for: rows, none all missing, no ties, not a mistake's."""
    rows = connection.execute(draft.sql).fetchall()
    if not rows or len(rows) > LONGEST or any(all(cell is None for cell in row) for row in rows) or rows == [(0,)]:
        return False
    if draft.ranked:
        ranking, count = draft.ranked
        places = connection.execute(ranking).fetchall()
        if len(places) <= count or places[count - 1][-1] == places[count][-1]:
            return False
    return all(set(connection.execute(wrong)) != set(rows) for wrong in draft.wrong)
