"""Maze: walk to a goal of known position, seeing no more of the walls than those beside one."""

import re
from dataclasses import replace
from functools import cached_property

from amemgym_envs.core import EnvCard
from amemgym_envs.maze.mazes import MOVES, STARTS, Cell, beside, double_t, dug
from amemgym_envs.tasks import Outcome, TaskEnv

COUNTS = {"train": 3000, "validation": 500, "test": 500}
DUG = {split: [f"{split}-{number}" for number in range(count)] for split, count in COUNTS.items()}
WALKS: dict[str, list[str]] = {"train": [], "validation": [], "test": []}
for _number in range(len(STARTS)):
    WALKS[("train", "train", "train", "validation", "test")[_number % 5]].append(f"start-{_number}")

PREFIX = re.compile(r"^\s*action:", re.IGNORECASE)  # ^: elsewhere it is not looked for
LIMIT = 50  # steps after which AgentGym's ends
RULES = """Walk through a maze to its goal in as few steps as you can. A position is a row and a column: row, column.
The actions are:
move up - to the row before
move down - to the next row
move left - to the column before
move right - to the next column
A step into a wall leaves you where you are. After each step you are told the position of the goal, your own, and on which of its
four sides there are walls. You have {steps} steps."""


class MazeEnv(TaskEnv):
    """The mazes' sides, walls included, are odd numbers from ``smallest`` to ``largest``.

    ``mode`` "agentgym" is its one map with its 25 starts, numbered as there. The 50th step without reaching the goal ends the
    episode with a score of -1, an unknown action is not remarked on, and digits are written apart (1 0 for 10).
    ValueError: wrong options.
    """

    card = EnvCard(
        id="Maze-v0",
        summary="Walk to the goal of a maze that is seen one cell at a time.",
        tasks="a maze, a start and a goal; no layout is in two splits",
        splits=COUNTS,
        score=(0.0, 1.0),
        success="the goal is reached",
        step_cap=LIMIT,
        grammar=" | ".join(MOVES),
    )

    def __init__(self, mode: str = "default", smallest: int = 7, largest: int = 11, max_steps: int | None = None) -> None:
        if mode not in ("default", "agentgym"):
            raise ValueError(f"Maze-v0: mode is {mode!r}, expected 'default' or 'agentgym'")
        if not 7 <= smallest <= largest <= 41 or smallest % 2 == 0 or largest % 2 == 0:
            raise ValueError(f"Maze-v0: sides of {smallest} to {largest}, expected odd numbers from 7 to 41, the smaller first")
        self.agentgym = mode == "agentgym"
        self.smallest, self.largest = smallest, largest
        if self.agentgym:
            counts = {split: len(tasks) for split, tasks in WALKS.items()}
            self.card = replace(self.card, tasks="a start on one map", splits=counts, score=(-1.0, 1.0))
        super().__init__(max_steps)

    @property
    def splits(self) -> dict[str, list[str]]:
        return WALKS if self.agentgym else DUG

    @cached_property
    def instruction(self) -> str:
        return RULES.format(steps=self.max_steps)

    def item(self, number: int) -> str:
        if self.agentgym and 0 <= number < len(STARTS):
            return f"start-{number}"
        return super().item(number)

    def begin(self, task: str) -> str:
        split, _, number = task.partition("-")
        self.maze = double_t(int(number)) if self.agentgym else dug(split, int(number), self.smallest, self.largest)
        self.position = self.maze.start
        return self._view()

    def act(self, action: str) -> Outcome:
        move = MOVES.get(" ".join(PREFIX.sub("", action).lower().split()))
        if move is not None:
            ahead = beside(self.position, move)
            if self.maze.free(ahead):
                self.position = ahead
            if self.position == self.maze.goal:
                return Outcome("Success", 1.0, True)
        if self.agentgym and self.steps >= LIMIT:
            return Outcome("Failure", -1.0, True)
        if self.steps == self.max_steps:
            return Outcome("Failure", 0.0)
        if move is None and not self.agentgym:
            return Outcome(f"There is no such action; there are {', '.join(MOVES)}. {self._view()}", 0.0)
        return Outcome(self._view(), 0.0)

    def available(self) -> list[str]:
        return list(MOVES)

    def expert(self) -> str:
        """The first step of a shortest way to the goal."""
        left = self.maze.distances
        return min(MOVES, key=lambda name: left.get(beside(self.position, MOVES[name]), len(left)))

    def _view(self) -> str:
        walls = self.maze.walls(self.position)
        if len(walls) == 1:
            told = f"There is a wall {walls[0]}."
        else:
            told = f"There are walls {', '.join(walls)}." if walls else "There are no walls near you."
        goal, here = self._written(self.maze.goal), self._written(self.position)
        return f"The goal is at position {goal}. Your current position is at position {here}. {told}"

    def _written(self, cell: Cell) -> str:
        return ", ".join(" ".join(str(number)) if self.agentgym else str(number) for number in cell)
