"""What a recipe is, and the layout that ours are written in (described at the head of recipes.txt)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

NUMBERED = re.compile(r"(?:(\d+) )?(.+)")
KIND = re.compile(r"(.+) \[(.+)\]")


def spoken(name: str) -> str:
    """An item's name as observations write it."""
    return name.replace("_", " ")


class Ingredient(NamedTuple):
    name: str  # with underscores, as an item's id after "minecraft:"
    count: int
    tag: bool = False  # ``name`` is a kind of items, and any one of them will do


class Recipe(NamedTuple):
    item: str
    count: int
    ingredients: tuple[Ingredient, ...]
    kind: str | None = None  # what ``item`` is one of

    @property
    def text(self) -> str:
        return f"craft {self.count} {spoken(self.item)} using " + ", ".join(
            f"{part.count} {spoken(part.name)}" for part in self.ingredients
        )


def _ident(name: str) -> str:
    return name.strip().replace(" ", "_")


def _part(text: str) -> Ingredient:
    count, name = NUMBERED.fullmatch(text.strip()).groups()
    return Ingredient(_ident(name.removeprefix("#")), int(count or 1), name.startswith("#"))


def _recipe(line: str) -> Recipe:
    made, _, parts = line.partition(" = ")
    count, name = NUMBERED.fullmatch(made.strip()).groups()
    of_kind = KIND.fullmatch(name)
    item, kind = of_kind.groups() if of_kind else (name, None)
    return Recipe(_ident(item), int(count or 1), tuple(map(_part, parts.split(","))), kind and _ident(kind))


def _lines(text: str) -> Iterator[str]:
    """The recipe lines of ``text``, those below a ``for`` once for each of its groups of values."""
    values: list[dict[str, str]] = []
    for line in text.splitlines():
        if line.startswith("for "):
            names, _, groups = line[4:].partition(":")
            keys = [name.strip() for name in names.split(",")]
            values = [dict(zip(keys, map(str.strip, group.split(",")), strict=True)) for group in groups.split(";")]
        elif line.startswith(" "):
            yield from (line.format_map(value) for value in values)
        elif line and not line.startswith("#"):
            yield line


def read_recipes(text: str) -> list[Recipe]:
    """The recipes of a text in our layout, in order."""
    return [_recipe(line) for line in _lines(text)]
