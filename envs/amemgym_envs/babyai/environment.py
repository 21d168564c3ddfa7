"""BabyAI as text: a mission in a grid of rooms, seen from within and played by macro actions."""

from functools import cache
from typing import Any

from amemgym_envs.babyai import levels
from amemgym_envs.babyai.expert import Expert
from amemgym_envs.babyai.menu import Menu
from amemgym_envs.babyai.picture import png
from amemgym_envs.babyai.view import describe, look
from amemgym_envs.core import EnvCard
from amemgym_envs.tasks import Outcome, TaskEnv

SEEDS = {"train": range(0, 23), "validation": range(23, 28), "test": range(28, 33)}  # AgentGym's numbers 0 to 899 are in train
UNKNOWN = "The action is not recognized. Please check valid actions."
UNCHANGED = "That changes nothing: you are there already."
COMPLETED = "\n The task is completed."
FAILED = "\n The goal can no longer be reached."

INSTRUCTION = """\
You are in a house of square rooms, joined by doors, and have a goal to fulfil. You see up to six steps ahead and three to
each side, but not through walls and shut doors. Things are told by colour, kind and a number; number 1 is the nearest of its
colour and kind, so numbers change as you move. Distances are in steps.

Each turn, give exactly one action:
- turn left / turn right: turn by 90 degrees where you stand.
- move forward: one step ahead.
- go to THING N: walk up to it and face it, as in "go to red ball 1" or "go to blue closed door 2".
- pickup THING N: walk up to a key, ball or box and take it. You can carry one thing at a time.
- drop: put what you carry on the free place in front of you.
- toggle: {toggle}.
- go through DOOR N: walk into the doorway of an open door, as in "go through grey open door 1".
- toggle and go through DOOR N: walk up to a door that is shut, open it and step into the doorway, as in
  "toggle and go through red closed door 1". A locked door needs a key of its colour in your hands.
- go to goal: walk onto the goal tile, where there is one.
- check available actions: list what is possible now.
An action that walks stops where something is in the way. Every observation ends with the actions that are possible now.
To go to a thing means to stand before it and face it; to open a door means to toggle it yourself. Where the goal says
"then" or "after you", the order counts."""

TOGGLE = {
    "fixed": "open or shut the door in front of you, or open the box there, which leaves only what was in it",
    "agentgym": "open the door in front of you, where it is shut",
}


@cache
def splits() -> dict[str, list[str]]:
    return {split: [f"{level}/{seed}" for seed in seeds for level in levels.LEVELS] for split, seeds in SEEDS.items()}


class BabyAIEnv(TaskEnv):
    """A task is a level and the seed of its layout, as in "GoToDoor/7"; in order they are AgentGym's numbers.

    ``mode``: "fixed" or "agentgym", which keeps AgentGym's rules (README.md tells them). ``reward``: what a success scores in
    mode "fixed": "success": 1; "minigrid": 1 - 0.9 times the share of the level's primitive steps that were used. ImportError at
    reset: minigrid is not installed.
    """

    card = EnvCard(
        id="BabyAI-v0",
        summary="missions in a grid of rooms with doors, keys, balls and boxes, played by macro actions",
        tasks="40 levels of minigrid x 33 seeds, as level/seed",
        splits={split: len(seeds) * len(levels.LEVELS) for split, seeds in SEEDS.items()},
        score=(0.0, 1.0),
        success="the mission is fulfilled",
        step_cap=20,
        grammar="turn left | turn right | move forward | go to THING N | pick up THING N | drop | toggle | go through DOOR N"
        " | toggle and go through DOOR N | go to goal | check available actions",
        requires=("minigrid",),
        extra="babyai",
    )
    def __init__(self, mode: str = "fixed", reward: str = "success", max_steps: int | None = None) -> None:
        super().__init__(max_steps)
        for name, got, known in (("mode", mode, ("fixed", "agentgym")), ("reward", reward, ("success", "minigrid"))):
            if got not in known:
                raise ValueError(f"{self.card.id}: {name} is {got!r}, expected {' or '.join(known)}")
        self.mode = mode
        self.reward = reward
        self._legacy = mode == "agentgym"
        self._cap = self.max_steps
        self._world: Any = None
        self._expert: Expert | None = None

    @property
    def instruction(self) -> str:
        return INSTRUCTION.format(toggle=TOGGLE[self.mode])

    @property
    def splits(self) -> dict[str, list[str]]:
        return splits()

    def begin(self, task: str) -> str:
        level, _, seed = task.partition("/")
        self.max_steps = self._cap
        self._world = world = levels.new(level)
        self._expert = None
        self._gained = 0.0  # what the last primitive action was rewarded with
        self._total = 0.0
        if self._legacy:
            self._image = world.reset(seed=int(seed))[0]["image"]
            goal = world.mission.replace("then", "and").replace("after you", "and")
        else:
            world.gen_obs = dict  # primitive steps need no view of their own
            world.reset(seed=int(seed))
            if level == "OpenDoorsOrderN4Debug":
                levels.mend(world)
            goal = world.mission
        return f"Your goal: {goal}\n{self._look()}{self._listed()}"

    def act(self, action: str) -> Outcome:
        action = self._plain(action)
        if "check" in action:
            return self._answer("You can take the following actions: " + ", ".join(self._menu.actions))
        way = self._menu.actions.get(action)
        if way is None:
            return self._answer(self._menu.refusals.get(action, UNKNOWN))
        if not way:
            return self._answer(UNCHANGED)
        return self._walk_as_agentgym(way) if self._legacy else self._walk(way)

    def _plain(self, action: str) -> str:
        action = action.strip().removeprefix("Action:").lower()
        if self._legacy:
            return action.strip()
        action = " ".join(action.split())
        return "pickup " + action.removeprefix("pick up ") if action.startswith("pick up ") else action

    def _answer(self, text: str) -> Outcome:
        """Nothing was done. In AgentGym the last reward counts once more then."""
        if self._legacy:
            self._total += self._gained
        return Outcome(text + self._listed(), self._total)

    def _walk(self, way: list[int]) -> Outcome:
        """Do the primitive actions of ``way`` until one changes nothing or the episode is over."""
        world = self._world
        for primitive in way:
            before = self._state()
            _, gained, done, late, _ = world.step(primitive)
            if done or late or self._state() == before:
                break
        if done and gained > 0:
            self._total = float(gained) if self.reward == "minigrid" else 1.0
        elif late and not done:
            self.max_steps = self.steps  # the level's own limit is reached: the episode is truncated here
        text = self._look() + (COMPLETED if done and gained > 0 else FAILED if done else "")
        return Outcome(text + self._listed(), self._total, done, done and gained > 0)

    def _state(self) -> tuple[Any, ...]:
        world = self._world
        front = world.grid.get(*world.front_pos)
        return tuple(world.agent_pos), world.agent_dir, world.carrying, front, front and front.encode()

    def _walk_as_agentgym(self, way: list[int]) -> Outcome:
        """As ``_walk``, but on past a success and a time limit; an action has an effect if the view changes; and the reward of
        the last primitive action is all that counts: a success worth no more than 0.5 does not end the episode."""
        for primitive in way:
            observation, gained, done, _, _ = self._world.step(primitive)
            before, image = self._image, observation["image"]
            if (image == before).all():
                break
            self._image = image
        self._gained = float(gained)
        self._total += self._gained
        over = done and gained > 0.5
        return Outcome(self._look() + (COMPLETED if done else "") + self._listed(), self._total, over, over)

    def _look(self) -> str:
        world = self._world
        image = self._image if self._legacy else type(world).gen_obs(world)["image"]
        things = look(image)
        self._menu = Menu(things, world.carrying, world.agent_dir, self._legacy)
        return describe(things, world.carrying)

    def _listed(self) -> str:
        return "\nAvailable actions: [" + ", ".join(f'"{action}"' for action in self._menu.actions) + "]"

    def available(self) -> list[str]:
        return list(self._menu.actions)

    def expert(self) -> str:
        """The next action of minigrid's bot, put into macro actions. NotImplementedError: it knows no way on from here, or
        minigrid is older than its bot (3.0)."""
        if self._expert is None:
            self._expert = Expert(self._world)
        return self._expert.choose(self._menu.actions)

    def png(self) -> bytes:
        """A picture of the whole grid with the agent's view lit, as the bytes of a PNG file."""
        return png(self._world.get_frame(tile_size=16))
