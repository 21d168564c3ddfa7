"""A question about a database, with the SQL that answers it."""

from typing import NamedTuple


class Question(NamedTuple):
    """``evidence``: what a word of the question means in the database; may be empty. ``sql`` is for no agent to see."""

    database: str
    text: str
    evidence: str
    sql: str
    difficulty: str
