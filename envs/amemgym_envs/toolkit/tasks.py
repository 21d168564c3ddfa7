"""Tasks for agents with tools, and files of them in AgentGym's format."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from amemgym_envs.toolkit.answers import TOLERANCE
from amemgym_envs.toolkit.calls import Call


@dataclass(frozen=True)
class ToolTask:
    """``gold``: the calls that lead to ``answer``, without the one that gives it; empty: not known. ``init``: what the episode
    starts from, such as ``current_date``. ``subgoals``: results that are progress; empty: the answer is the only one."""

    id: str
    goal: str
    answer: Any
    gold: tuple[Call, ...] = ()
    init: dict[str, Any] = field(default_factory=dict)
    kind: str = ""
    difficulty: str = ""
    subgoals: tuple[Any, ...] = ()
    tolerance: float = TOLERANCE
    ordered: bool = False

    @property
    def milestones(self) -> tuple[Any, ...]:
        return self.subgoals or (self.answer,)


def load(path: str | PathLike[str]) -> list[ToolTask]:
    """The tasks of a file of AgentGym's tool environments: JSON lines with ``goal``, ``subgoals``, ``additional_info``
    (``answer``, ``init_config``, ``goal_type``) and ``difficulty``. A task's id is the number of its line, from 0, as
    AgentGym counts.

    ``save`` adds to ``additional_info`` what AgentGym does not know: ``gold``, ``tolerance``, ``ordered``. ValueError with file
    and line, counted from 1: a line is not such an object.
    """
    tasks = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").rstrip().split("\n")):
        try:
            tasks.append(_task(str(number), json.loads(line)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
            raise ValueError(f"{path}, line {number + 1}: no task of a tool environment: {reason}") from None
    return tasks


def save(path: str | PathLike[str], tasks: Iterable[ToolTask]) -> None:
    """Write ``tasks`` as ``load`` reads them; their ids become the numbers of the lines."""
    lines = (json.dumps(_record(number, task), ensure_ascii=False) for number, task in enumerate(tasks))
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _record(number: int, task: ToolTask) -> dict[str, Any]:
    about = {"answer": task.answer, "init_config": task.init, "goal_type": task.kind, "gold": task.gold,
             "tolerance": task.tolerance, "ordered": task.ordered}
    return {"id": number, "goal": task.goal, "subgoals": task.milestones, "additional_info": about, "difficulty": task.difficulty}


def _task(number: str, record: Any) -> ToolTask:
    if not isinstance(record, dict) or not isinstance(record["additional_info"], dict):
        raise TypeError("expected an object with an object additional_info")
    about, goal, subgoals, init = record["additional_info"], record["goal"], record.get("subgoals"), None
    init = about.get("init_config") or {}
    if not isinstance(goal, str) or not isinstance(init, dict):
        raise TypeError("goal must be a string and init_config an object")
    return ToolTask(
        id=number,
        goal=goal,
        answer=about["answer"],
        gold=tuple(Call(str(tool), dict(arguments)) for tool, arguments in about.get("gold", [])),
        init=init,
        kind=str(about.get("goal_type", "")),
        difficulty=str(record.get("difficulty", "")),
        subgoals=tuple(subgoals) if isinstance(subgoals, list) else (),
        tolerance=float(about.get("tolerance", TOLERANCE)),
        ordered=bool(about.get("ordered", False)),
    )
