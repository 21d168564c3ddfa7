"""What the agent sees, in its own directions: things by distance, and the sentences that AgentGym describes them with."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

SIDE = 7  # cells; the agent is in the middle of the nearest row and looks along the columns
KINDS = {2: "wall", 4: "door", 5: "key", 6: "ball", 7: "box", 8: "goal", 9: "lava"}  # minigrid's numbers
COLOURS = ("red", "green", "blue", "purple", "yellow", "grey")
STATES = ("open", "closed", "locked")
BARRIERS = ("wall", "box")  # what "You are facing" tells of

# (column, row, steps to the right, steps ahead), nearest first; as far away: the farther row first, then from left to right.
CELLS = sorted(
    ((i, j, i - SIDE // 2, SIDE - 1 - j) for j in range(SIDE) for i in range(SIDE) if (i, j) != (SIDE // 2, SIDE - 1)),
    key=lambda cell: abs(cell[2]) + cell[3],
)


class Thing(NamedTuple):
    kind: str
    name: str  # with its colour and, of a door, its state
    number: int  # 1: the nearest of this name
    right: int  # steps; negative: to the left
    ahead: int

    @property
    def title(self) -> str:
        return f"{self.name} {self.number}"


def look(image: np.ndarray) -> list[Thing]:
    """The things in ``image`` (7, 7, 3: minigrid's kind, colour and state), nearest first, walls too."""
    cells = image.tolist()
    seen: Counter[str] = Counter()
    things = []
    for i, j, right, ahead in CELLS:
        number, colour, state = cells[i][j]
        kind = KINDS.get(number)
        if kind:
            name = f"{COLOURS[colour]} {STATES[state]} door" if kind == "door" else f"{COLOURS[colour]} {kind}"
            seen[name] += 1
            things.append(Thing(kind, name, seen[name], right, ahead))
    return things


def barrier(things: Sequence[Thing]) -> Thing | None:
    """The nearest wall or box straight ahead."""
    return next((thing for thing in things if thing.right == 0 and thing.kind in BARRIERS), None)


def describe(things: Sequence[Thing], carried: Any) -> str:
    """AgentGym's sentences for ``things`` and what is ``carried`` (a ``WorldObj`` or None)."""
    text = "In front of you in this room, you can see several objects: " if things else "There is only floor to be seen. "
    text += "".join(f"There is a {thing.title} {_place(thing)}.  " for thing in things if thing.kind != "wall")
    text += "The room has walls around you. "
    faced = barrier(things)
    if faced:
        text += f"You are facing a {faced.kind} {faced.ahead} steps away. "
    return text + (f"You are carrying a {carried.color} {carried.type}." if carried else "You are not carrying anything.")


def _place(thing: Thing) -> str:
    if thing.right == 0:
        return f"right in front of you {thing.ahead} steps away"
    return f"{thing.ahead} steps in front of you and {abs(thing.right)} steps to your {'right' if thing.right > 0 else 'left'}"
