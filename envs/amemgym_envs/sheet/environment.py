"""Sheet: questions about tables and changes to them, with the tools of a spreadsheet."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Protocol

from amemgym_envs.core import EnvCard
from amemgym_envs.sheet import operations  # noqa: F401 - adds its kinds to QUESTIONS
from amemgym_envs.sheet.queries import QUESTIONS
from amemgym_envs.sheet.scoring import Expected, expected
from amemgym_envs.sheet.tools import TOOLS
from amemgym_envs.sheet.words import THEMES
from amemgym_envs.sheet.workbook import Sheet, Workbook
from amemgym_envs.toolkit import Call, Parameter, Tool, ToolEnv, ToolTask, write

COUNTS = {"train": 10, "validation": 2, "test": 2}  # tasks of each kind
SEED = 40
FINISH = Tool("finish", "Ends the task: with your answer where the goal asks for one, without where it asks for changes.",
              (Parameter("answer", "any", "the answer, of the type that the goal asks for", required=False),), "nothing",
              lambda session, answer=None: answer)


class Workbooks(Protocol):
    """Where workbooks come from."""

    def workbook(self, task: ToolTask) -> Workbook:
        """The one that ``task`` begins with, which the episode may change."""
        ...


class Built:
    """Workbooks that tasks bring along in ``init``: ``sheets`` (rows by name) and perhaps ``notes`` (by name and position)."""

    def workbook(self, task: ToolTask) -> Workbook:
        return Workbook.of(task.init.get("sheets") or {"Sheet1": []}, task.init.get("notes"))


class SheetEnv(ToolEnv):
    """``scoring``: "answer": a question scores 1 if the answer given to ``finish`` is the expected one, a change the share of
    cells that are as expected among those of the sheet and of the expected one, both at ``finish``. "progress", as in AgentGym:
    a change scores the running maximum of the share of equal cells among those that both have.

    ``world``: ``Workbooks`` for tasks of a file that do not bring theirs along in ``init_config``.
    """

    card: ClassVar[EnvCard] = EnvCard(
        id="Sheet-v0",
        summary="Answer a question about a table or change it with the tools of a spreadsheet.",
        tasks="questions and changes on generated workbooks",
        splits={split: count * len(QUESTIONS.kinds) for split, count in COUNTS.items()},
        score=(0.0, 1.0),
        success="the answer given to finish is the expected one; all cells are as expected",
        step_cap=15,
        grammar='tool with Action Input: {"parameter": value}',
    )
    role = "You work on the sheets of a workbook: you answer questions about them or change them, as the goal asks."
    advice = (
        "Open the sheet that the goal names, and read it before anything else. Positions are in A1 notation; rows and columns "
        "are counted from 1. Before sorting, freeze the header, or it is sorted too. Change nothing that the goal does not ask "
        "for. An answer that is a number is given as a number."
    )
    tools = TOOLS
    finish = FINISH

    @classmethod
    def make_tasks(cls) -> Mapping[str, Sequence[ToolTask]]:
        return QUESTIONS.deal(THEMES, SEED, COUNTS)

    @cached_property
    def _source(self) -> Workbooks:
        return Built() if self.world is None else self.world

    def open(self, task: ToolTask) -> Workbook:
        self._expected: Expected | None = expected(task.answer)
        return self._source.workbook(task)

    def judged(self) -> Sheet:
        """The sheet that the task is about: the one that it names, else the open one; an empty one where it is deleted."""
        book: Workbook = self.session
        return book.sheets.get(self.task.init.get("sheet") or book.opened or "") or Sheet()

    def judge(self, answer: Any) -> float:
        return super().judge(answer) if self._expected is None else self._expected.share(self.judged())

    def progress(self) -> float:
        return super().progress() if self._expected is None else self._expected.overlap(self.judged())

    def expert(self) -> str:
        if self._expected is not None and self._reached == len(self.task.gold) > 0:
            return write(Call(FINISH.name, {}))
        return super().expert()
