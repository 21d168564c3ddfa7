"""Shortest ways within the agent's view, as the primitive actions that walk them."""

from collections.abc import Iterable

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE = range(6)  # minigrid's numbers
HEADINGS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # steps right, ahead: ahead, right, behind, left; turning right is one further
COLUMNS, ROWS = range(-3, 5), range(-1, 7)  # the view, with the row behind and the column at the right that AgentGym may add


def _state(right: int, ahead: int, heading: int) -> int:
    """A number for standing there and looking so; -1: outside."""
    return ((right + 3) * 8 + ahead + 1) * 4 + heading if right in COLUMNS and ahead in ROWS else -1


def _steps(right: int, ahead: int, heading: int) -> tuple[tuple[int, int], ...]:
    dx, dy = HEADINGS[heading]
    forward = _state(right + dx, ahead + dy, heading)
    return (
        (FORWARD, forward),
        (LEFT, _state(right, ahead, (heading - 1) % 4)),
        (RIGHT, _state(right, ahead, (heading + 1) % 4)),
    )


STEPS = [_steps(right, ahead, heading) for right in COLUMNS for ahead in ROWS for heading in range(4)]
START = _state(0, 0, 0)


class Routes:
    """All shortest ways from where the agent is.

    ``closed``: the cells (right, ahead) that cannot be entered; whatever is not seen is taken to be free. ``behind``, ``beside``:
    whether the row behind the agent and a fourth column at its right belong to the area.

    Of equally short ways it is that of AgentGym: its breadth-first search keeps the parent found last, and ends at the goal found
    first. All states as far away as each other are gone through at once here, which gives the same without the search's copies.
    """

    def __init__(self, closed: Iterable[tuple[int, int]], behind: bool = False, beside: bool = False) -> None:
        barred = bytearray(len(STEPS) + 1)
        barred[-1] = 1
        for right, ahead in [*closed, *(OUTSIDE[behind, beside])]:
            at = _state(right, ahead, 0)
            barred[at : at + 4] = b"\1\1\1\1"
        self._order = {START: 0}  # by when a state was found first
        self._parents: dict[int, tuple[int, int]] = {}
        first = last = [START]
        while first:
            newest: dict[int, None] = {}
            for state in last:
                for action, new in STEPS[state]:
                    if not barred[new] and new not in self._order:
                        newest.pop(new, None)
                        newest[new] = None
                        self._parents[new] = state, action
            found = dict.fromkeys(new for state in first for _, new in STEPS[state] if new in newest)
            for new in found:
                self._order[new] = len(self._order)
            first, last = list(found), list(newest)

    def facing(self, right: int, ahead: int) -> list[int] | None:
        """The way to stand before that cell and look at it; None: there is none."""
        return self._way(_state(right - dx, ahead - dy, heading) for heading, (dx, dy) in enumerate(HEADINGS))

    def onto(self, right: int, ahead: int) -> list[int] | None:
        """The way to stand in that cell; None: there is none."""
        return self._way(_state(right, ahead, heading) for heading in range(4))

    def _way(self, goals: Iterable[int]) -> list[int] | None:
        reached = [goal for goal in goals if goal in self._order]
        if not reached:
            return None
        state = min(reached, key=self._order.__getitem__)
        way = []
        while state != START:
            state, action = self._parents[state]
            way.append(action)
        return way[::-1]


OUTSIDE = {
    (behind, beside): [
        (right, ahead) for right in COLUMNS for ahead in ROWS if (ahead < 0 and not behind) or (right > 3 and not beside)
    ]
    for behind in (False, True)
    for beside in (False, True)
}
