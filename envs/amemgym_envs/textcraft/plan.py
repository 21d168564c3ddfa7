"""The next step towards an item from what is in the inventory."""

from amemgym_envs.textcraft.book import Book
from amemgym_envs.textcraft.recipes import Ingredient, Recipe, spoken


def craft(recipe: Recipe, members: list[str]) -> str:
    """The action that follows ``recipe`` with ``members`` for its ingredients."""
    parts = tuple(part._replace(name=name) for part, name in zip(recipe.ingredients, members, strict=True))
    return recipe._replace(ingredients=parts).text


class Plan:
    """What is left over of ``inventory`` while a way to the goal is laid out: what one ingredient takes, the next must not."""

    def __init__(self, book: Book, inventory: dict[str, int]) -> None:
        self.book = book
        self.left = dict(inventory)

    def action(self, item: str, count: int = 1) -> str | None:
        """The next action on the way to ``count`` of ``item``; None: they are there."""
        short = count - self.left.get(item, 0)
        if short <= 0:
            return None
        if self.book.fetched(item):
            return f"get {short} {spoken(item)}"
        recipe = self._recipe(item)
        times = -(-short // recipe.count)
        members = []
        for part in recipe.ingredients:
            members.append(self._member(part, part.count * times, item))
            action = self.action(members[-1], part.count * times)
            if action:
                return action
            self.left[members[-1]] -= part.count * times
        return craft(recipe, members)

    def _recipe(self, item: str) -> Recipe:
        """One that can be followed at once, or else that of fewest steps."""
        ways = self.book.ways[item]
        return next((way for way in ways if all(self._there(part, item) for part in way.ingredients)), ways[0])

    def _there(self, part: Ingredient, item: str) -> bool:
        return any(self.left.get(name, 0) >= part.count for name in self._choices(part, item))

    def _choices(self, part: Ingredient, item: str) -> list[str]:
        """What may be used for ``part`` of ``item``: nothing as deep as the item itself, lest the way goes in circles."""
        if not part.tag:
            return [part.name]
        depth, level = self.book.depth, self.book.depth[item]
        return [name for name in self.book.members[part.name] if depth.get(name, level) < level]

    def _member(self, part: Ingredient, count: int, item: str) -> str:
        """The item to use: one that there is enough of, or else the one that there is most of."""
        choices = self._choices(part, item)
        ready = next((name for name in choices if self.left.get(name, 0) >= count), None)
        return ready or max(choices, key=lambda name: (self.left.get(name, 0), -self.book.depth[name]))
