"""Mazes: AgentGym's map, and mazes dug at random whose layout belongs to one split only."""

from collections import deque
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from zlib import crc32

Cell = tuple[int, int]  # row and column, counted from 0; the outer ones are walls

MOVES = {"move up": (-1, 0), "move down": (1, 0), "move left": (0, -1), "move right": (0, 1)}
SIDES = {"to your right": (0, 1), "to your left": (0, -1), "above you": (-1, 0), "below you": (1, 0)}  # in AgentGym's order
LAYOUTS = ("train", "train", "train", "validation", "test")  # the split of a layout, by the remainder of its checksum
NEAR, FAR = 4, 40  # steps from start to goal, the limits included
SERIES = 11  # of mazes: one in which no two of the 4,000 default tasks are the same
LOOPS = 3  # walls at most that are opened beside those of a maze with a single way between any two cells

DOUBLE_T = """\
#############
#.....#.....#
###.#####.###
###.#####.###
###.#####.###
###.......###
######.######
######.######
######.######
#############""".split()
GOAL = (8, 6)
STARTS = (
    *((1, column) for column in (1, 2, 3, 4, 5, 7, 8, 9, 10, 11)),
    *((2, 3), (3, 3), (4, 3), (5, 3), (5, 4), (5, 5), (5, 6), (6, 6), (7, 6)),
    *((5, 7), (5, 8), (5, 9), (4, 9), (3, 9), (2, 9)),
)


@dataclass(frozen=True)
class Maze:
    """``rows`` of "#" (wall) and "." (free), as long as each other and closed around."""

    rows: tuple[str, ...]
    start: Cell
    goal: Cell

    @cached_property
    def distances(self) -> dict[Cell, int]:
        """Steps to the goal from every cell that leads there."""
        return distances(self.rows, self.goal)

    def free(self, cell: Cell) -> bool:
        return self.rows[cell[0]][cell[1]] == "."

    def walls(self, cell: Cell) -> list[str]:
        """Where walls are beside ``cell``, in words."""
        return [side for side, by in SIDES.items() if not self.free(beside(cell, by))]


def beside(cell: Cell, by: Cell) -> Cell:
    return cell[0] + by[0], cell[1] + by[1]


def distances(rows: tuple[str, ...], goal: Cell) -> dict[Cell, int]:
    steps, queue = {goal: 0}, deque([goal])
    while queue:
        cell = queue.popleft()
        for by in MOVES.values():
            other = beside(cell, by)
            if other not in steps and rows[other[0]][other[1]] == ".":
                steps[other] = steps[cell] + 1
                queue.append(other)
    return steps


def pick(rng: Random, items):
    """One of ``items``, by the one method of a generator that Python promises to keep."""
    return items[int(rng.random() * len(items))]


def dig(rng: Random, height: int, width: int) -> tuple[str, ...]:
    """A maze of rooms at odd rows and columns: each is opened to from one opened before, the last or any; then more walls."""
    grid = [["#"] * width for _ in range(height)]
    row, column = pick(rng, range(1, height, 2)), pick(rng, range(1, width, 2))
    grid[row][column] = "."
    rooms = [(row, column)]
    while rooms:
        at = len(rooms) - 1 if rng.random() < 0.5 else pick(rng, range(len(rooms)))
        row, column = rooms[at]
        closed = [
            (row + down, column + right)
            for down, right in MOVES.values()
            if 0 < row + 2 * down < height and 0 < column + 2 * right < width and grid[row + 2 * down][column + 2 * right] == "#"
        ]
        if not closed:
            rooms.pop(at)
            continue
        wall = pick(rng, closed)
        room = 2 * wall[0] - row, 2 * wall[1] - column
        grid[wall[0]][wall[1]] = grid[room[0]][room[1]] = "."
        rooms.append(room)
    between = [(r, c) for r in range(1, height - 1) for c in range(1, width - 1) if (r + c) % 2 and grid[r][c] == "#"]
    for _ in range(pick(rng, range(LOOPS + 1))):
        row, column = pick(rng, between)
        grid[row][column] = "."
    return tuple(map("".join, grid))


@lru_cache(maxsize=8192)
def dug(split: str, number: int, smallest: int, largest: int) -> Maze:
    """The maze of a task: its sides are odd numbers from ``smallest`` to ``largest``, and its layout is one of ``split``'s."""
    rng = Random(f"maze {SERIES} {split} {number} {smallest} {largest}")
    sides = range(smallest, largest + 1, 2)
    while True:
        rows = dig(rng, pick(rng, sides), pick(rng, sides))
        if LAYOUTS[crc32("\n".join(rows).encode()) % len(LAYOUTS)] == split:
            break
    free = [(r, c) for r, row in enumerate(rows) for c, sign in enumerate(row) if sign == "."]
    goal = pick(rng, free)
    starts = [cell for cell, steps in distances(rows, goal).items() if NEAR <= steps <= FAR]
    return Maze(rows, pick(rng, starts), goal)


@lru_cache(maxsize=len(STARTS))
def double_t(number: int) -> Maze:
    """AgentGym's map from its start ``number``."""
    return Maze(tuple(DOUBLE_T), STARTS[number], GOAL)
