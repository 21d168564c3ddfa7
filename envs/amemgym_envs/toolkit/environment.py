"""The base of the environments whose actions call tools."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from amemgym_envs.tasks import Outcome, TaskEnv
from amemgym_envs.toolkit.answers import same
from amemgym_envs.toolkit.calls import EXAMPLE, Call, parse, write
from amemgym_envs.toolkit.tasks import ToolTask, load
from amemgym_envs.toolkit.tools import Parameter, Tool, ToolError, describe

CHECK = Tool("check_valid_actions", "Tells which tools there are.", (), "list of names", lambda session: None)
FINISH = Tool("finish", "Ends the task with your answer.",
              (Parameter("answer", "any", "the answer, of the type that the goal asks for"),), "nothing",
              lambda session, answer: answer)
FORMAT = """\
Use one tool at a time, written on one line: the tool's name, the words "with Action Input:", and the parameters as a JSON \
object ({} where there are none):
"""
WORKED = """\
An example of the form, from a library that is not yours: to learn how many copies there are of the book with the number 17, write
get_book_copies with Action Input: {"book_id": 17}
and, once that is all you need, end with
finish with Action Input: """
SCORINGS = ("answer", "progress")


class ToolEnv(TaskEnv):
    """A subclass says who the agent is (``role``), which ``tools`` it has, its tasks (``make_tasks``), and on what the tools work
    (``open``). ``check_valid_actions`` and ``finish`` are added to the tools.

    ``tasks``: a file of tasks in AgentGym's format instead of the built-in ones; they are the split test, and their ids are the
    numbers of the lines. ``world``: the back end to use instead of the built-in one, as an object or a name in ``worlds``; the
    answers of the built-in tasks do not hold there, so that it needs ``tasks``.

    ``scoring``: "answer": 1 if the answer given to ``finish`` is the expected one and the world is ``intact``, else 0.
    "progress", as in AgentGym: the largest share so far of the subgoals that results of calls have met, and 0 if the world is not
    ``intact`` at the end.
    """

    role: ClassVar[str]  # who the agent is and what it is for
    advice: ClassVar[str] = ""  # what it should know about this domain
    tools: ClassVar[Mapping[str, Tool]]
    finish: ClassVar[Tool] = FINISH
    worlds: ClassVar[Mapping[str, Callable[[], Any]]] = {}

    def __init__(self, tasks: str | PathLike[str] | None = None, world: Any = None, scoring: str = "answer",
                 max_steps: int | None = None) -> None:
        super().__init__(max_steps)
        if scoring not in SCORINGS:
            raise ValueError(f"{self.card.id}: scoring is {scoring!r}, expected one of {', '.join(SCORINGS)}")
        if world is not None and tasks is None:
            raise ValueError(f"{self.card.id}: the built-in tasks hold in the built-in world; give tasks=FILE with world")
        if isinstance(world, str) and world not in self.worlds:
            known = ", ".join(self.worlds) or "none"
            raise ValueError(f"{self.card.id}: world is {world!r}, expected an object or one of {known}")
        self.world = self.worlds[world]() if isinstance(world, str) else world
        self.blocking = getattr(self.world, "blocking", False)
        self.scoring = scoring
        self._loaded = None if tasks is None else {"test": load(tasks)}
        if self._loaded:
            self.card = replace(self.card, splits={"test": len(self._loaded["test"])})
        self.task: ToolTask | None = None

    @classmethod
    @abstractmethod
    def make_tasks(cls) -> Mapping[str, Sequence[ToolTask]]:
        """The built-in tasks of every split; called once."""

    @abstractmethod
    def open(self, task: ToolTask) -> Any:
        """What the tools work on in an episode of ``task``: their first argument."""

    def intact(self) -> bool:
        """Whether the world is as it has to be at the end of the task."""
        return True

    def judge(self, answer: Any) -> float:
        """The score of ``answer``, what ``finish`` was given."""
        return float(self.right(answer) and self.intact())

    def progress(self) -> float:
        """The share of the subgoals that ``self.results``, those of all calls so far, meet; the running maximum is taken."""
        milestones = self.task.milestones
        return sum(any(self.meets(result, wanted) for result in self.results) for wanted in milestones) / len(milestones)

    def meets(self, result: Any, wanted: Any) -> bool:
        return same(result, wanted, tolerance=self.task.tolerance)

    def right(self, answer: Any) -> bool:
        return same(answer, self.task.answer, tolerance=self.task.tolerance, ordered=self.task.ordered)

    @classmethod
    @cache
    def _made(cls) -> tuple[Mapping[str, Sequence[ToolTask]], dict[str, ToolTask], dict[str, list[str]]]:
        return _indexed(cls.make_tasks())

    @cached_property
    def _collection(self) -> tuple[Mapping[str, Sequence[ToolTask]], dict[str, ToolTask], dict[str, list[str]]]:
        return self._made() if self._loaded is None else _indexed(self._loaded)

    @property
    def splits(self) -> Mapping[str, Sequence[str]]:
        return self._collection[2]

    @cached_property
    def toolbox(self) -> dict[str, Tool]:
        return {**self.tools, CHECK.name: CHECK, self.finish.name: self.finish}

    @cached_property
    def instruction(self) -> str:
        answer = '{"answer": 3}' if self.finish.parameters else "{}"
        parts = (self.role, describe(self.toolbox.values()), f"{FORMAT}{EXAMPLE}", self.advice, f"{WORKED}{answer}")
        return "\n\n".join(part for part in parts if part)

    def task_of(self, task: str) -> ToolTask:
        """The task with the id ``task``."""
        return self._collection[1][task]

    def begin(self, task: str) -> str:
        self.task = self.task_of(task)
        self.session = self.open(self.task)
        self.results: list[Any] = []
        self._best = 0.0
        self._reached = 0  # calls of the gold sequence that were made, though they may have come too late to succeed
        return f"Now new trial starts.\nYou should perform actions to accomplish the goal: {self.task.goal}\nGive me one action."

    def act(self, action: str) -> Outcome:
        try:
            call = parse(action)
        except ValueError as error:
            return self._told(f"ERROR | format: {error}. Write one line of the form {EXAMPLE}")
        tool = self.toolbox.get(call.tool)
        if tool is None:
            return self._told(f"ERROR | there is no tool {call.tool[:40]!r}; there are {', '.join(self.toolbox)}")
        if self._reached < len(self.task.gold) and call == self.task.gold[self._reached]:
            self._reached += 1
        try:
            tool.check(call.arguments)
            result = tool.method(self.session, **call.arguments)
        except ToolError as error:
            return self._told(f"ERROR | {error}")
        if tool is CHECK:
            return self._told(f"You can use {', '.join(self.toolbox)}")
        return self._ended(result) if tool is self.finish else self._used(result)

    def _used(self, result: Any) -> Outcome:
        self._note(result)
        return self._told(str(result))

    def _ended(self, answer: Any) -> Outcome:
        self._note(answer)
        score = self.judge(answer) if self.scoring == "answer" else self._best * self.intact()
        return Outcome("Observation: the task has ended.", score, True)

    def _note(self, result: Any) -> None:
        self.results.append(result)
        if self.scoring == "progress":
            self._best = max(self._best, self.progress())

    def _told(self, text: str) -> Outcome:
        return Outcome(f"Observation: {text}\nGive me one action.", self._best)

    def expert(self) -> str:
        """The first call of the gold sequence that was not made yet, then ``finish``. NotImplementedError: a task from a file
        that says none."""
        if not self.task.gold:
            raise NotImplementedError(f"{self.card.id}: task {self.task.id} says no calls that lead to its answer")
        if self._reached < len(self.task.gold):
            return write(self.task.gold[self._reached])
        return write(Call(self.finish.name, {parameter.name: self.task.answer for parameter in self.finish.parameters}))

    def random_action(self, rng: np.random.Generator) -> str:
        tools = list(self.toolbox.values())
        tool = tools[int(rng.integers(len(tools)))]
        return write(Call(tool.name, tool.draw(rng)))


def _indexed(tasks: Mapping[str, Sequence[ToolTask]]) -> tuple[
        Mapping[str, Sequence[ToolTask]], dict[str, ToolTask], dict[str, list[str]]]:
    by_id = {task.id: task for split in tasks.values() for task in split}
    if len(by_id) < sum(map(len, tasks.values())):
        raise ValueError("two tasks have one id")
    return tasks, by_id, {split: [task.id for task in members] for split, members in tasks.items()}
