"""The macro actions that are possible now, each with the primitive actions it stands for, and why the others are not."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from amemgym_envs.babyai.routes import DROP, FORWARD, LEFT, PICKUP, RIGHT, TOGGLE, Routes
from amemgym_envs.babyai.view import Thing, barrier

CHECK = "check available actions"
SOLID = ("wall", "box", "lava", "ball", "key")  # doors are none: AgentGym plans through closed ones too


class Menu:
    """``actions``: name: primitive actions, in the order in which they are listed. ``refusals``: name: why it is not possible.

    ``legacy``: as AgentGym, where objects to which no way leads are not counted in the numbers of "pickup" and "go to", ways
    lead through closed doors, the area of planning depends on the compass direction ``facing``, "move forward" is offered
    before a key, a ball or a closed door, and "toggle" only before a door that is shut.
    """

    def __init__(self, things: Sequence[Thing], carried: Any, facing: int, legacy: bool) -> None:
        self.things = things
        self.carried = carried
        self.legacy = legacy
        self.actions: dict[str, list[int]] = {"turn left": [LEFT], "turn right": [RIGHT]}
        self.refusals: dict[str, str] = {}
        self.front = next((thing for thing in things if (thing.right, thing.ahead) == (0, 1)), None)
        closed = [(thing.right, thing.ahead) for thing in things if self._stops(thing)]
        self.routes = Routes(closed, behind=legacy and facing in (0, 1), beside=legacy and facing in (1, 2))
        self._forward()
        self._pickup()
        self._drop()
        self._doors()
        self._goal()
        self._go_to()
        self.actions[CHECK] = []

    def _stops(self, thing: Thing) -> bool:
        return thing.kind in SOLID or (not self.legacy and thing.kind == "door" and " open " not in thing.name)

    def _refuse(self, action: str, why: str) -> None:
        self.refusals[action] = f"You cannot {action}, as {why}."

    def _offer(self, action: str, way: list[int] | None, *then: int) -> None:
        if way is None:
            self._refuse(action, "no way that you can see leads there")
        else:
            self.actions[action] = [*way, *then]

    def _forward(self) -> None:
        faced = barrier(self.things)
        if faced and faced.ahead == 1 or not self.legacy and self.front and self._stops(self.front):
            self.refusals["move forward"] = "There is a barrier in front of you, you can't move forward."
        else:
            self.actions["move forward"] = [FORWARD]

    def _numbered(self, wanted: Callable[[Thing], bool]) -> Iterator[tuple[str, list[int] | None]]:
        """Name, number and way of every thing that is ``wanted``."""
        reached: Counter[str] = Counter()
        for thing in filter(wanted, self.things):
            way = self.routes.facing(thing.right, thing.ahead)
            yield f"{thing.name} {reached[thing.name] + 1}" if self.legacy else thing.title, way
            reached[thing.name] += way is not None

    def _pickup(self) -> None:
        for title, way in self._numbered(lambda thing: thing.kind in ("key", "ball", "box")):
            if self.carried is None:
                self._offer(f"pickup {title}", way, PICKUP)
            elif not self.legacy:
                self._refuse(f"pickup {title}", "you are carrying something; drop it first")

    def _drop(self) -> None:
        if self.carried is None:
            self.refusals["drop"] = "You cannot drop the object, as you are not carrying anything."
        elif self.front and (self.front.kind in SOLID or not self.legacy):
            self.refusals["drop"] = "You cannot drop the object, as the place in front of you is taken."
        else:
            self.actions["drop"] = [DROP]

    def _doors(self) -> None:
        for door in self.things:
            if door.kind != "door":
                continue
            if " open " in door.name:
                self._offer(f"go through {door.title}", self.routes.onto(door.right, door.ahead))
                continue
            action = f"toggle and go through {door.title}"
            self._refuse(f"go through {door.title}", "it is shut; toggle and go through it")
            if " locked " in door.name and not self._unlocks(door):
                self._refuse(action, f"it is locked and you are not carrying a {door.name.split()[0]} key")
                continue
            self._offer(action, self.routes.facing(door.right, door.ahead), TOGGLE, FORWARD)
            if door is self.front:
                self.actions["toggle"] = [TOGGLE]
        if not self.legacy and self.front and (self.front.kind == "box" or " open " in self.front.name):
            self.actions["toggle"] = [TOGGLE]

    def _unlocks(self, door: Thing) -> bool:
        return self.carried is not None and self.carried.type == "key" and door.name.startswith(f"{self.carried.color} ")

    def _goal(self) -> None:
        for goal in self.things:
            if goal.kind == "goal":
                self._offer("go to goal", self.routes.onto(goal.right, goal.ahead))

    def _go_to(self) -> None:
        for title, way in self._numbered(lambda thing: thing.kind not in ("wall", "goal")):
            self._offer(f"go to {title}", way)
