"""BIRD: answer a question about a database by SQL; right is what returns the rows of the gold query."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from amemgym_envs.bird import generated
from amemgym_envs.bird.database import Database, literal, quoted
from amemgym_envs.bird.folder import Folder
from amemgym_envs.bird.guard import Limits, QueryError
from amemgym_envs.bird.match import Gold
from amemgym_envs.bird.question import Question
from amemgym_envs.core import EnvCard
from amemgym_envs.tasks import Outcome, TaskEnv

MODES = ("multi", "agentgym")
FENCE = re.compile(r"```[ \t]*(?:sql(?:ite)?\b)?(.*?)```", re.DOTALL | re.IGNORECASE)
COMMAND = re.compile(r"\s*(?:action\s*:\s*)?(run|answer)\b\s*:?(.*)", re.DOTALL | re.IGNORECASE)
COUNTED = 10_000  # rows that are counted for the agent
SHOWN = 100  # characters of a result that AgentGym shows
GOLD_SECONDS = 30.0  # as BIRD's evaluation allows
MULTI = """Answer the question about a SQLite database with one SQL query. The first observation has the schema and the question.

Actions, one at a time:
run <SQL>      executes a query and shows its first rows, to look at the data
answer <SQL>   gives the final query and ends the episode; if it cannot be executed, the error is shown and you may go on

The SQL is one SELECT statement (it may begin with WITH), plain or in a ```sql block. Its rows must be exactly those that the
question asks for, with the columns in the order asked for; the order of rows and repeated rows do not count. The database is
read-only, and a query that runs too long is stopped."""
SINGLE = """Answer the question about a SQLite database with one SQL query. The first observation has the schema and the question.

The action is the query: one SELECT statement (it may begin with WITH), plain or in a ```sql block, of which the last counts. It
is executed once and ends the episode. Its rows must be exactly those that the question asks for, with the columns in the order
asked for; the order of rows and repeated rows do not count."""


class BirdEnv(TaskEnv):
    """``mode``: "multi", with looks at the data before the answer, or "agentgym", where the first action is the answer.

    ``folder``: one in BIRD's layout, instead of the databases that come with this; ``questions`` are its question files (see
    ``Folder``). ``evidence``: show the hint that goes with a question. ``tolerance``: difference that numbers may have.
    ``seconds``: time of a query. ``rows``: rows shown of a result. ValueError: an option or a file is wrong.
    """

    card = EnvCard(
        id="BIRD-v0",
        summary="Text to SQL: questions about relational databases, answered by a query.",
        tasks="60 generated questions for each of 8 generated databases; or a folder in BIRD's layout",
        splits={split: 60 * len(databases) for split, databases in generated.SPLITS.items()},
        score=(0.0, 1.0),
        success="the answer's rows are those of the gold query, as sets",
        step_cap=6,
        grammar="run <SQL> | answer <SQL>",
    )
    _generated = {split: generated.task_ids(databases) for split, databases in generated.SPLITS.items()}

    def __init__(
        self,
        mode: str = "multi",
        folder: str | Path | None = None,
        questions: str | Mapping[str, str] | None = None,
        evidence: bool = False,
        tolerance: float = 0.0,
        seconds: float = 1.0,
        rows: int = 10,
        max_steps: int | None = None,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"BIRD: mode is {mode!r}, expected one of {', '.join(MODES)}")
        if (folder is None) != (questions is None):
            raise ValueError("BIRD: folder and questions belong together; give both, or neither for the generated databases")
        if not 0 <= tolerance < 1 or not 0 < seconds <= 600 or rows < 1:
            got = f"tolerance {tolerance}, seconds {seconds}, rows {rows}"
            raise ValueError(f"BIRD: {got}; expected 0 <= tolerance < 1, 0 < seconds <= 600, rows >= 1")
        self.mode, self.evidence, self.tolerance, self.rows = mode, evidence, tolerance, rows
        self._folder = None
        self._limits = Limits(seconds)
        if folder is not None:
            self._limits = Limits(seconds, length=1_000_000)  # texts of real databases are longer
            self._folder = Folder(folder, questions, self._limits)
            self.card = replace(self.card, splits={split: len(tasks) for split, tasks in self.splits.items()})
        super().__init__(1 if mode == "agentgym" else max_steps)
        self._gold = lru_cache(maxsize=512)(self._executed) if folder is not None else self._executed_once

    @property
    def splits(self) -> Mapping[str, Sequence[str]]:
        return self._folder.splits if self._folder else self._generated

    @property
    def instruction(self) -> str:
        return SINGLE if self.mode == "agentgym" else MULTI

    def item(self, number: int) -> str:
        if self._folder is None:
            return super().item(number)
        if not 0 <= number < len(self._folder.order):
            raise ValueError(f"BIRD: task number {number}, expected 0 to {len(self._folder.order) - 1}")
        return self._folder.order[number]

    def begin(self, task: str) -> str:
        """RuntimeError: the gold query of a folder cannot be executed, so that no answer could be judged."""
        self._database, self._question = self._looked_up(task)
        self._right = self._gold(task)
        hint = f"\nHint: {self._question.evidence}" if self.evidence and self._question.evidence else ""
        return f"Database {self._database.name}:\n{self._database.schema}\n\nQuestion: {self._question.text}{hint}"

    def act(self, action: str) -> Outcome:
        if self.mode == "agentgym":
            return self._answered(_sql(re.sub(r"^\s*action\s*:", "", action, count=1, flags=re.IGNORECASE)))
        command = COMMAND.match(action)
        sql = _sql(command[2]) if command else ""
        if not sql:
            return Outcome("Begin with run or answer and write a query after it: run SELECT ... or answer SELECT ...", 0.0)
        return self._answered(sql) if command[1].casefold() == "answer" else Outcome(self._shown(sql), 0.0)

    def expert(self) -> str:
        return self._question.sql if self.mode == "agentgym" else f"answer {self._question.sql}"

    def random_action(self, rng: np.random.Generator) -> str:
        tables = [name for name, columns in self._database.tables.items() if columns]
        table = tables[int(rng.integers(len(tables)))]
        columns = self._database.tables[table]
        column = quoted(columns[int(rng.integers(len(columns)))].name)
        calls = (column, f"DISTINCT {column}", "COUNT(*)", f"COUNT({column})", f"MAX({column})", f"MIN({column})")
        what = calls[int(rng.integers(len(calls)))]
        limit = ("", " LIMIT 1", " LIMIT 5")[int(rng.integers(3))]
        verb = "" if self.mode == "agentgym" else ("run ", "answer ")[int(rng.integers(2))]
        return f"{verb}SELECT {what} FROM {quoted(table)}{limit}"

    def _looked_up(self, task: str) -> tuple[Database, Question]:
        if self._folder:
            return self._folder.database(task), self._folder.question(task)
        question = generated.question(task)
        return generated.database(question.database, self._limits), question

    def _executed_once(self, task: str) -> Gold:
        return _kept(task, self.tolerance)

    def _executed(self, task: str) -> Gold:
        database, question = self._looked_up(task)
        return _gold(task, database, question, self.tolerance)

    def _answered(self, sql: str) -> Outcome:
        """In AgentGym's mode the end whatever happens; else an answer that cannot be executed is none."""
        single, head = self.mode == "agentgym", []
        try:
            with self._database.query(sql) as cursor:
                right = self._right.matches(_noting(cursor, head))
                if single and not right:
                    head.extend(islice(cursor, SHOWN))
        except QueryError as error:
            return Outcome(str(error), 0.0, done=single)
        if single:
            text = str(head)
            text = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
        else:
            text = "The answer is right." if right else "The answer is wrong: its rows are not those that the question asks for."
        return Outcome(text, float(right), done=True)

    def _shown(self, sql: str) -> str:
        try:
            with self._database.query(sql) as cursor:
                names = [column[0] for column in cursor.description]
                first = list(islice(cursor, self.rows))
                count = len(first) + sum(1 for _ in islice(cursor, COUNTED - len(first)))
        except QueryError as error:
            return str(error)
        lines = [" | ".join(literal(cell, 60) for cell in row[:40]) for row in first]
        many = f"at least {count:,}" if count >= COUNTED else f"{count:,}"
        rest = f", the first {len(first)} are shown" if count > len(first) else ""
        return "\n".join([" | ".join(name[:60] for name in names[:40]), *lines, f"({many} row{'s' * (count != 1)}{rest})"])


def _sql(text: str) -> str:
    """The last fenced block of ``text``, else all of it."""
    blocks = FENCE.findall(text)
    return (blocks[-1] if blocks else text).strip()


def _noting(rows: Any, head: list[Any]) -> Any:
    """``rows``, the first of which are put into ``head`` as they go by."""
    for row in rows:
        if len(head) < SHOWN:
            head.append(row)
        yield row


def _gold(task: str, database: Database, question: Question, tolerance: float) -> Gold:
    try:
        with database.query(question.sql, GOLD_SECONDS) as cursor:
            return Gold(cursor, tolerance)
    except QueryError as error:
        raise RuntimeError(f"BIRD: the gold query of task {task} cannot be executed: {error}") from None


@lru_cache(maxsize=4096)
def _kept(task: str, tolerance: float) -> Gold:
    """Of a generated task, for all environments of the process."""
    question = generated.question(task)
    return _gold(task, generated.database(question.database, Limits()), question, tolerance)
