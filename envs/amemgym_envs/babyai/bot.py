"""minigrid's bot for worlds that are under way, and one that knows the rooms. Needs minigrid 3.0 or newer."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from minigrid.utils.baby_ai_bot import BabyAIBot, DropSubgoal, GoNextToSubgoal, Subgoal

from amemgym_envs.babyai.routes import TOGGLE

PLANS = 5000  # of a mission that the bot solves it makes a few dozen

Accept = Callable[[Any, Any], Any]


class Plans(list):
    """The bot's stack. In some worlds the bot would make new plans for ever without a step: RuntimeError."""

    made = 0

    def append(self, plan: Subgoal) -> None:
        self.made += 1
        if self.made > PLANS:
            raise RuntimeError(f"minigrid's bot made {PLANS} plans")
        super().append(plan)


class Bot(BabyAIBot):
    """The bot, told what is still to be done: minigrid's takes every world for a new one and the agent's hands to be empty."""

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.world = world
        self.stack = Plans()
        parts = list(undone(world.instrs))
        for part in reversed(parts):
            self._process_instr(part)
        carried = world.carrying
        if carried and carried in _moved(parts[0]):
            del self.stack[-2:]  # neither to go for it nor to take it
        elif carried and not (carried.type == "key" and any(door.color == carried.color for door in self._locked())):
            self._process_obs()
            self.stack.append(DropSubgoal(self))
            self.stack.append(GoNextToSubgoal(self, self._find_drop_pos()))
        for box in [thing for thing in world.grid.grid if thing and thing.type == "box" and thing.contains]:
            self.stack.append(Unpack(self))
            self.stack.append(GoNextToSubgoal(self, box))

    def _locked(self) -> list[Any]:
        return [thing for thing in self.world.grid.grid if thing and thing.type == "door" and thing.is_locked]


class KnowingBot(Bot):
    """The bot where it has seen every room that it can get to without a key, and plans through the doors on the way."""

    def _process_obs(self) -> None:
        self.vis_mask[:] = False
        places = [tuple(self.world.agent_pos)]
        while places:
            column, row = places.pop()
            if not self.vis_mask[column, row]:
                self.vis_mask[column, row] = True
                if not _shut(self.world.grid.get(column, row)):
                    places += [(column + x, row + y) for x in (-1, 0, 1) for y in (-1, 0, 1)]

    def _shortest_path(self, accept_fn: Accept, try_with_blockers: bool = False) -> Any:
        if accept_fn.__name__ == "unopened_unlocked_door":  # where the bot would explore; nothing is to be found there
            return None, None, False
        if accept_fn.__name__ == "unopened_door":  # and then at any locked one, with or without a key to be found
            colours = {thing.color for thing in [self.world.carrying, *self._seen()] if thing and thing.type == "key"}
            return super()._shortest_path(lambda _, thing: thing in self._locked() and thing.color in colours, try_with_blockers)
        return super()._shortest_path(accept_fn, try_with_blockers)

    def _seen(self) -> Iterator[Any]:
        grid = self.world.grid
        return (thing for i, thing in enumerate(grid.grid) if self.vis_mask[i % grid.width, i // grid.width])

    def _breadth_first_search(self, initial_states: Any, accept_fn: Accept, ignore_blockers: bool) -> Any:
        """As the bot's, with its order of neighbours and its results, but for the doors."""
        queue = deque((state, None) for state in initial_states)
        before: dict[tuple[int, int], Any] = {}
        while queue:
            (column, row, dx, dy), previous = queue.popleft()
            place = column, row
            if place in before:
                continue
            before[place] = previous
            thing = self.world.grid.get(*place)
            if accept_fn(place, thing):
                return _back(place, before), place, before
            if not _shut(thing) and (thing is None or thing.type == "door" or ignore_blockers):
                queue += [((column + x, row + y, x, y), place) for x, y in ((dx, dy), (dy, dx), (-dy, -dx), (-dx, -dy))]
        return None, None, before


class Unpack(Subgoal):
    """To open the box ahead for what is in it."""

    def replan_before_action(self) -> int:
        return TOGGLE

    def replan_after_action(self, action_taken: int | None) -> None:
        self.bot.stack.pop()


def undone(instruction: Any) -> Iterator[Any]:
    """The parts of a mission that are not done, in the order in which they have to be."""
    if not hasattr(instruction, "instr_a"):
        yield instruction
        return
    parts = [(instruction.instr_a, instruction.a_done), (instruction.instr_b, instruction.b_done)]
    for part, done in reversed(parts) if type(instruction).__name__ == "AfterInstr" else parts:
        if done != "success":
            yield from undone(part)


def _moved(part: Any) -> list[Any]:
    """The things that are wanted elsewhere, where ``part`` is to put one next to another."""
    return part.desc_move.obj_set if hasattr(part, "desc_move") else []


def _shut(thing: Any) -> bool:
    return thing is not None and (thing.type == "wall" or thing.type == "door" and thing.is_locked)


def _back(place: Any, before: dict[tuple[int, int], Any]) -> list[tuple[int, int]]:
    path = []
    while place:
        path.append(place)
        place = before[place]
    return path
