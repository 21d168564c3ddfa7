"""minigrid's bot as an expert: it plays a copy of the world, and what it did there is done again by macro actions."""

from collections import deque
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from amemgym_envs.babyai.routes import FORWARD, RIGHT, TOGGLE

VECTORS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # minigrid's directions: east, south, west, north

Pose = tuple[int, int, int]  # column, row, direction


class Aim(NamedTuple):
    """What the bot did next that changed more than where it is."""

    pose: Pose
    primitive: int | None  # None: to have come there was enough
    last: bool


class Expert:
    """Chooses macro actions in ``world``: those that lead on to where the bot next took, dropped, opened or reached something."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.aims: dict[Any, Aim] = {}  # by the situation that the bot was in

    def choose(self, actions: Mapping[str, list[int]]) -> str:
        """The next of ``actions`` (name: primitive actions). NotImplementedError: the bot does not reach the goal from here."""
        situation = _situation(self.world)
        if situation not in self.aims:
            self.aims = _aims(self.world)
        aim = self.aims[situation]
        left = _distances(self.world.grid, aim.pose)
        costs = {name: _cost(self.world, way, aim, left) for name, way in actions.items() if way}
        costs = {name: cost for name, cost in costs.items() if cost is not None}
        if not costs or _pose(self.world) == aim.pose and -1 not in costs.values():
            raise NotImplementedError(f"BabyAI-v0: none of {', '.join(actions)} does what minigrid's bot did here")
        return min(costs, key=costs.__getitem__)


def _cost(world: Any, way: list[int], aim: Aim, left: Mapping[Pose, int]) -> int | None:
    """How many primitive actions from the aim ``way`` ends; -1: it does what is aimed at; None: it does something else."""
    steps = len(way) - 2 if way[-2:] == [TOGGLE, FORWARD] else sum(primitive <= FORWARD for primitive in way)
    pose, then = _pose(world), way[steps:]
    for primitive in way[:steps]:
        column, row, direction = pose
        if primitive == FORWARD:
            pose = column + VECTORS[direction][0], row + VECTORS[direction][1], direction
            if not _free(world.grid, *pose[:2]):
                return None
        else:
            pose = column, row, (direction + (1 if primitive == RIGHT else -1)) % 4
    if not then:
        return left.get(pose)
    # To step through the last door is of no use, and in AgentGym only the last primitive action of a way is rewarded.
    return -1 if pose == aim.pose and then[0] == aim.primitive and not (aim.last and len(then) > 1) else None


def _free(grid: Any, column: int, row: int) -> bool:
    thing = grid.get(column, row)
    return thing is None or thing.can_overlap()


def _distances(grid: Any, aim: Pose) -> dict[Pose, int]:
    """The number of primitive actions to ``aim`` from every pose from which it can be reached by walking."""
    left = {aim: 0}
    queue = deque([aim])
    while queue:
        pose = queue.popleft()
        column, row, direction = pose
        before = [(column, row, (direction - 1) % 4), (column, row, (direction + 1) % 4)]
        behind = column - VECTORS[direction][0], row - VECTORS[direction][1]
        if _free(grid, *behind):  # walls are all around
            before.append((*behind, direction))
        for other in before:
            if other not in left:
                left[other] = left[pose] + 1
                queue.append(other)
    return left


def _pose(world: Any) -> Pose:
    column, row = world.agent_pos
    return int(column), int(row), int(world.agent_dir)


def _progress(instruction: Any) -> tuple[Any, ...]:
    """Which parts of the mission are done."""
    if not hasattr(instruction, "instr_a"):
        return ()
    done = instruction.a_done == "success", instruction.b_done == "success"
    return done + _progress(instruction.instr_a) + _progress(instruction.instr_b)


def _situation(world: Any) -> Any:
    """All that matters but the pose: what lies where, what is carried, what is done."""
    carried = world.carrying
    return world.grid.encode().tobytes(), carried and carried.encode(), _progress(world.instrs)


def _aims(world: Any) -> dict[Any, Aim]:
    """What the bot does until the mission is fulfilled: the one that knows the rooms, else the one that explores."""
    try:
        from amemgym_envs.babyai.bot import Bot, KnowingBot
    except ModuleNotFoundError as error:
        raise NotImplementedError("BabyAI-v0: the expert needs minigrid's bot, which came with minigrid 3") from error
    for made in (KnowingBot, Bot):
        try:
            return _watched(made, deepcopy(world))
        except (AssertionError, AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
            lost = error  # the bot is not made for every world, and says so by whatever it stumbles over
    raise NotImplementedError(f"BabyAI-v0: minigrid's bot does not know how to {world.mission!r} from here") from lost


def _watched(made: Any, world: Any) -> dict[Any, Aim]:
    limit, world.max_steps = 4 * world.max_steps, 10**9
    world.gen_obs = dict
    aims: dict[Any, Aim] = {}
    situation, over = _situation(world), False
    bot = made(world)
    for _ in range(limit):
        pose, primitive, progress = _pose(world), int(bot.replan()), _progress(world.instrs)
        _, gained, over, _, _ = world.step(primitive)
        acted = primitive > FORWARD
        if acted or over or _progress(world.instrs) != progress:
            aims[situation] = Aim(pose, primitive, over) if acted else Aim(_pose(world), None, over)
            situation = _situation(world)
        if over and gained > 0:
            return aims
        if over:
            break
    raise RuntimeError(f"minigrid's bot did not fulfil the mission in {world.step_count} steps")
