"""TextCraft as an environment: AgentGym's actions and its wording of observations, over our recipes or a folder of the user's."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from amemgym_envs.core import EnvCard
from amemgym_envs.tasks import Outcome, TaskEnv
from amemgym_envs.textcraft.book import Book, book, split_of
from amemgym_envs.textcraft.plan import Plan, craft
from amemgym_envs.textcraft.recipes import Recipe, spoken

LEAD = re.compile(r"\s*(?:action\s*:\s*)*", re.IGNORECASE)
GET = re.compile(r"get ([0-9]{1,12}) (.*)")
CRAFT = re.compile(r"craft (.*) using (.*)")
COUNTED = re.compile(r"([0-9]{1,12}) (.*)")  # AgentGym has no limit; a number of thousands of digits is none to it either
ECHO = 200  # characters of an action that an answer repeats

INSTRUCTION = """\
Make the goal item. First come the crafting commands, those that you may need among others that you do not; the goal comes last. \
You start with nothing. An action has exactly one of these forms:
get COUNT ITEM - fetch an item that no command makes, as many as you want, as in: get 3 oak logs
craft COUNT ITEM using COUNT INGREDIENT, COUNT INGREDIENT - follow a command once, with its counts, when you hold all that it \
takes, as in: craft 1 oak fence gate using 4 stick, 2 oak planks
inventory - see what you hold
An ingredient may be a kind of items: where a command takes 2 planks, use two of any one sort of planks and write that sort, as \
in 2 oak planks. What a command makes is always its own count. The task is done when you hold the goal item."""


class Refused(Exception):
    """An action that changes nothing; the message is the observation."""


def shown(text: str) -> str:
    """``text`` as an answer repeats it: not too long, and such that it can be written anywhere."""
    return (text if len(text) <= ECHO else text[:ECHO] + "...").encode("utf-8", "replace").decode()


@lru_cache(maxsize=32)
def _splits(recipes: Book, depths: tuple[int, ...] | None) -> Mapping[str, Sequence[str]]:
    splits: dict[str, list[str]] = {"train": [], "validation": [], "test": []}
    for goal in recipes.goals:
        if depths is None or recipes.depth[goal] in depths:
            splits[split_of(goal)].append(goal)
    return splits


@lru_cache(maxsize=4096)
def _opening(recipes: Book, goal: str, distractors: int) -> tuple[str, tuple[Recipe, ...]]:
    """The first observation of a task, and the recipes that it lists."""
    listed = recipes.listing(goal, distractors)
    commands = "\n".join(recipe.text for recipe in listed)
    return f"Crafting commands:\n{commands}\n\nGoal: craft {spoken(goal)}.", tuple(listed)


class TextCraftEnv(TaskEnv):
    """A task is an item to make; its id is the item's name. ``recipes``: a folder in Minecraft's JSON layout in place of ours.

    ``depths``: only tasks whose goal is so many crafts deep (1: from what is fetched). ``distractors``: the most recipes of no
    use in a listing. None of them changes what a task id stands for. ValueError: an option is wrong, or leaves no task.
    """

    card = EnvCard(
        id="TextCraft-v0",
        summary="Make an item by fetching and crafting, from a list of recipes.",
        tasks="goal items of the recipes; an id is the goal's name",
        splits={"train": 401, "validation": 88, "test": 124},
        score=(0.0, 1.0),
        success="the goal item is made",
        step_cap=20,
        grammar="get COUNT ITEM | craft COUNT ITEM using COUNT INGREDIENT, ... | inventory",
    )
    instruction = INSTRUCTION

    def __init__(
        self,
        recipes: str | Path | None = None,
        depths: int | Iterable[int] | None = None,
        distractors: int = 10,
        max_steps: int | None = None,
    ) -> None:
        super().__init__(max_steps)
        if isinstance(distractors, bool) or not isinstance(distractors, int) or distractors < 0:
            raise ValueError(f"{self.card.id}: distractors is {distractors!r}, expected a number from 0 on")
        self.book = book(None if recipes is None else str(recipes))
        self.distractors = distractors
        self.depths = self._chosen(depths)
        self.inventory: dict[str, int] = {}
        self.goal = ""
        self._listed: tuple[Recipe, ...] = ()

    def _chosen(self, depths: int | Iterable[int] | None) -> tuple[int, ...] | None:
        if depths is None:
            return None
        known = sorted({self.book.depth[goal] for goal in self.book.goals})
        chosen = tuple(depths) if isinstance(depths, Iterable) else (depths,)
        if not chosen or any(depth not in known for depth in chosen):
            raise ValueError(f"{self.card.id}: depths is {depths!r}, expected some of {', '.join(map(str, known))}")
        return tuple(sorted(set(chosen)))

    @property
    def splits(self) -> Mapping[str, Sequence[str]]:
        return _splits(self.book, self.depths)

    def item(self, number: int) -> str:
        """AgentGym's numbers: goals by depth, then by name, counted round and round."""
        goals = [goal for goal in self.book.goals if self.depths is None or self.book.depth[goal] in self.depths]
        return goals[number % len(goals)]

    def begin(self, task: str) -> str:
        self.goal, self.inventory = task, {}
        observation, self._listed = _opening(self.book, task, self.distractors)
        return observation

    def act(self, action: str) -> Outcome:
        action = LEAD.sub("", action, count=1).strip()
        try:
            if match := CRAFT.match(action):
                return self._craft(*match.groups())
            if match := GET.match(action):
                return self._get(*match.groups())
            if action.startswith("inventory"):
                return Outcome(self._carried(), 0.0)
            raise Refused(f"Could not execute {shown(action)}")
        except Refused as refusal:
            return Outcome(str(refusal), 0.0)

    def _carried(self) -> str:
        held = "".join(f"[{spoken(name)}] ({count}) " for name, count in self.inventory.items())
        return f"Inventory: {held or 'You are not carrying anything.'}"

    def _had(self, name: str, count: int, observation: str) -> Outcome:
        self.inventory[name] = self.inventory.get(name, 0) + count
        reached = name == self.goal
        return Outcome(observation, float(reached), reached)

    def _get(self, count: str, item: str) -> Outcome:
        name = item.replace(" ", "_")
        if not self.book.fetched(name):
            raise Refused(f"Could not find {shown(item)}")
        return self._had(name, int(count), f"Got {int(count)} {item}")

    def _craft(self, made: str, parts: str) -> Outcome:
        match = COUNTED.match(made)
        count, item = match.groups() if match else ("1", made)
        name = item.replace(" ", "_")
        entries = [_entry(part.strip()) for part in parts.split(",")]
        if any(self.inventory.get(entry, -1) < number for entry, number in entries):
            raise Refused(f"Could not find enough items to craft minecraft:{shown(name)}")
        recipe = next((recipe for recipe in self.book.recipes.get(name, ()) if self._follows(entries, recipe)), None)
        if recipe is None:
            raise Refused(f"Could not find a valid recipe for {self._wanted(shown(name), int(count))}")
        left = dict(self.inventory)
        for entry, number in entries:
            left[entry] -= number
        if min(left.values()) < 0:  # two entries of one item, and not enough for both
            raise Refused(f"Could not find enough items to craft minecraft:{name}")
        self.inventory = {name: number for name, number in left.items() if number}
        return self._had(name, recipe.count, f"Crafted {recipe.count} minecraft:{name}")

    def _follows(self, entries: list[tuple[str, int]], recipe: Recipe) -> bool:
        """Whether ``entries`` are the ingredients of ``recipe``, each once and with its count, in any order."""
        if len(entries) != len(recipe.ingredients):
            return False
        left = list(entries)
        for part in recipe.ingredients:
            names = self.book.members[part.name] if part.tag else (part.name,)
            entry = next((entry for entry in left if entry[0] in names), None)
            if entry is None or entry[1] != part.count:
                return False
            left.remove(entry)
        return True

    def _wanted(self, name: str, count: int) -> str:
        """What was to be crafted, as AgentGym's observations name it."""
        ident = repr(f"minecraft:{name}")
        tag, item = (ident, None) if name in self.book.tags else (None, ident)
        return f"ItemTagWithCount(item_tag=ItemTag(tag={tag}, item_id={item}), count={count})"

    def expert(self) -> str:
        return Plan(self.book, self.inventory).action(self.goal) or "inventory"

    def random_action(self, rng: np.random.Generator) -> str:
        recipe = self._listed[int(rng.integers(len(self._listed)))]
        members = [part.name for part in recipe.ingredients]
        for place, part in enumerate(recipe.ingredients):
            if part.tag:
                kind = self.book.members[part.name]
                members[place] = kind[int(rng.integers(len(kind)))]
        draw = int(rng.integers(8))
        if draw == 0:
            return "inventory"
        if draw < 4:
            return craft(recipe, members)
        place = int(rng.integers(len(members)))
        return f"get {recipe.ingredients[place].count} {spoken(members[place])}"


def _entry(text: str) -> tuple[str, int]:
    match = COUNTED.match(text)
    if not match:
        raise Refused(f"Wrong item format: {shown(text)}")
    return match[2].replace(" ", "_"), int(match[1])
