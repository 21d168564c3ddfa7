"""All recipes of a world: what is fetched, what is crafted and how deep, which recipes a goal calls for, which tasks there are.

The rules are AgentGym's: a kind is the group of the recipes that make its members; a kind that nothing makes is an item like
another; a recipe that needs, by those before it, what it makes is left out, and so is one that takes a block apart.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from hashlib import sha256
from importlib.resources import files

from amemgym_envs.textcraft.minecraft import read_folder
from amemgym_envs.textcraft.recipes import Recipe, read_recipes


def digest(*words: str) -> bytes:
    """A draw that is the same for ever, on every version of Python and numpy."""
    return sha256("\n".join(words).encode("utf-8", "replace")).digest()


def _sound(recipes: Iterable[Recipe]) -> Iterator[Recipe]:
    """The recipes that take no block apart and close no cycle with those before them."""
    needs: defaultdict[str, set[str]] = defaultdict(set)
    for recipe in recipes:
        names = [part.name for part in recipe.ingredients]
        block = len(names) == 1 and names[0].endswith("_block")
        if not block and not any(recipe.item in needs[name] for name in names):
            needs[recipe.item].update(names, *[needs[name] for name in names])
            yield recipe


class Book:
    """``recipes`` by item, ``kinds``: by the kind of what they make, ``members``: the items of a kind; ``items``, ``tags``: the
    names of all items and kinds; ``depth`` of all that can be had, 0 of what is fetched; ``goals``: what is crafted, by depth,
    then by name."""

    def __init__(self, recipes: Iterable[Recipe]) -> None:
        recipes = list(recipes)
        sound = list(_sound(recipes))
        made = {recipe.kind for recipe in sound if recipe.kind}
        asked = {part.name for recipe in recipes for part in recipe.ingredients if part.tag}
        named = {recipe.kind for recipe in recipes if recipe.kind and recipe.kind != recipe.item}
        self.tags = (named | asked) - (asked - made)
        self.items = {part.name for recipe in recipes for part in recipe.ingredients} | {recipe.item for recipe in recipes}
        self.items -= self.tags
        self.recipes: dict[str, list[Recipe]] = {}
        self.kinds: dict[str, list[Recipe]] = {}
        for recipe in sound:
            parts = tuple(part._replace(tag=part.tag and part.name in made) for part in recipe.ingredients)
            recipe = recipe._replace(ingredients=parts)
            self.recipes.setdefault(recipe.item, []).append(recipe)
            if recipe.kind:
                self.kinds.setdefault(recipe.kind, []).append(recipe)
        self.members = {kind: list(dict.fromkeys(recipe.item for recipe in made)) for kind, made in self.kinds.items()}
        self.depth = self._depths()
        self.goals = sorted((item for item in self.recipes if item in self.depth), key=lambda item: (self.depth[item], item))

    def fetched(self, item: str) -> bool:
        return item in self.items and item not in self.recipes and item not in self.kinds

    def _depths(self) -> dict[str, int]:
        depth = {item: 0 for item in sorted(self.items) if self.fetched(item)}
        left = [recipe for recipes in self.recipes.values() for recipe in recipes]
        for level in range(1, len(left) + 1):
            ready = [recipe for recipe in left if all(part.name in depth for part in recipe.ingredients)]
            for name in [name for recipe in ready for name in (recipe.item, recipe.kind) if name]:
                depth.setdefault(name, level)
            if not ready:
                break
            done = set(ready)
            left = [recipe for recipe in left if recipe not in done]
        return depth

    @cached_property
    def ways(self) -> dict[str, list[Recipe]]:
        """The recipes of every goal that take nothing as deep as itself, those of fewest steps first."""
        steps = {name: 1 for name, depth in self.depth.items() if depth == 0}
        ways: dict[str, list[Recipe]] = {}
        for name in sorted(self.depth, key=lambda name: (self.depth[name], name)):
            level = self.depth[name]
            found = [
                (1 + sum(steps[part.name] for part in recipe.ingredients), place, recipe)
                for place, recipe in enumerate(self.recipes.get(name) or self.kinds.get(name) or [])
                if all(self.depth.get(part.name, level) < level for part in recipe.ingredients)
            ]
            if found:
                found.sort()
                steps[name] = found[0][0]
                ways[name] = [recipe for _, _, recipe in found]
        return ways

    @cached_property
    def _users(self) -> dict[str, list[Recipe]]:
        users: dict[str, list[Recipe]] = {}
        for recipes in self.recipes.values():
            for recipe in recipes:
                for part in recipe.ingredients:
                    users.setdefault(part.name, []).append(recipe)
        return users

    def called_for(self, goal: str) -> list[Recipe]:
        """Every recipe that making ``goal`` may take."""
        names, found = [goal], {}
        for name in names:
            for recipe in self.recipes.get(name) or self.kinds.get(name) or []:
                found[recipe] = None
                names += [part.name for part in recipe.ingredients if part.name not in names]
        return list(found)

    def listing(self, goal: str, distractors: int) -> list[Recipe]:
        """The recipes that ``goal`` may take and up to ``distractors`` others that use the same ingredients, shuffled: the same
        for a goal whenever it is asked for, and with fewer distractors the same but for those left out."""
        needed = self.called_for(goal)
        users = {user for recipe in needed for part in recipe.ingredients for user in self._users[part.name]}
        others = sorted(users.difference(needed), key=lambda recipe: digest("distractor", goal, recipe.text))
        return sorted([*needed, *others[:distractors]], key=lambda recipe: digest("order", goal, recipe.text))


def split_of(goal: str) -> str:
    """Of 20 goals about 4 are for test, 3 for validation; which ones depends on nothing but their names."""
    draw = digest("split", goal)[0] % 20
    return "test" if draw < 4 else "validation" if draw < 7 else "train"


@lru_cache(maxsize=8)
def book(folder: str | None = None) -> Book:
    """Our recipes, or those of ``folder``; a folder is read once in a process."""
    if folder is not None:
        return Book(read_folder(folder))
    return Book(read_recipes(files("amemgym_envs.textcraft").joinpath("recipes.txt").read_text(encoding="utf-8")))
