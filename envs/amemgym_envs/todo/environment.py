"""Todo: questions and requests about a to-do account."""

from collections.abc import Mapping, Sequence
from typing import Any

from amemgym_envs.core import EnvCard
from amemgym_envs.todo.account import Account
from amemgym_envs.todo.goals import COUNTS, make_tasks
from amemgym_envs.todo.tools import TOOLS, Desk
from amemgym_envs.toolkit import ToolEnv, ToolTask


class TodoEnv(ToolEnv):
    """``world``: a function that is given a task's ``init`` and returns a fresh ``Tasks``; see ``ToolEnv`` for the rest.

    Every episode has an account of its own, which must be at the end as the task's solution leaves it. ValueError: a file has a
    task without the ``account`` that the built-in world starts from, or one whose answer is the state of an account but that says
    no solution, as AgentGym's requests do; these are scored in AgentGym's own account only.
    """

    card = EnvCard(
        id="Todo-v0",
        summary="Answer questions about a to-do account and change it as asked, with tools for projects and tasks",
        tasks="generated from templates, each with an account of its own",
        splits=dict(COUNTS),
        score=(0.0, 1.0),
        success="the answer given to finish is right and the account is exactly as it has to be",
        step_cap=15,
        grammar='name with Action Input: {"parameter": value}, ended by finish',
    )
    role = ("You manage a user's to-do account: you answer questions about it and change what the user wants changed, with "
            "tools, one call at a time.")
    advice = ("Projects and tasks are named by their ids, which are strings; look them up, never invent them. If the user speaks "
              "of today or of where I am, ask for the date or the place. Change nothing that you are not asked to change.")
    tools = TOOLS

    def __init__(self, tasks: Any = None, world: Any = None, scoring: str = "answer", max_steps: int | None = None) -> None:
        super().__init__(tasks, world, scoring, max_steps)
        for task in (self._loaded or {}).get("test", ()):
            _check(task, f"{self.card.id}: task {task.id} of {tasks}", built_in=world is None)

    @classmethod
    def make_tasks(cls) -> Mapping[str, Sequence[ToolTask]]:
        return make_tasks()

    def open(self, task: ToolTask) -> Desk:
        account = Account(task.init["account"]) if self.world is None else self.world(task.init)
        return Desk(account, *(str(task.init.get(key) or "") for key in ("current_date", "current_location")))

    def intact(self) -> bool:
        """Whether the account is as the solution leaves it: other calls may lead there, too, but nothing else may change."""
        solved = self.open(self.task)
        for call in self.task.gold:
            self.tools[call.tool].method(solved, **call.arguments)
        return self.session.account.state() == solved.account.state()


def _check(task: ToolTask, name: str, built_in: bool) -> None:
    if isinstance(task.answer, dict) and not task.gold:
        raise ValueError(f"{name}: the answer is the state of an account and there is no gold sequence; leave the task out")
    if built_in and "account" not in task.init:
        raise ValueError(f"{name}: init_config has no account; give a world, or write the account into the file")
    if built_in:
        try:
            Account(task.init["account"])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
