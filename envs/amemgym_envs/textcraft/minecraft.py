"""Recipes from a folder in Minecraft's own JSON layout: shaped and shapeless crafting, other kinds of recipes are left out.

An ingredient is ``{"item": id}``, ``{"tag": id}``, a list of such (the first counts, as in AgentGym), or an id with a leading
"#" for a tag (as newer versions of the game write it). A result is an id, or ``{"item" | "id": id, "count": n}``.
"""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from amemgym_envs.textcraft.recipes import Ingredient, Recipe

SHAPED, SHAPELESS = "minecraft:crafting_shaped", "minecraft:crafting_shapeless"
BIGGEST = 1_000_000  # bytes of a recipe file; the game's have less than 2,000


def bare(ident: Any) -> str:
    if not isinstance(ident, str) or not ident:
        raise ValueError(f"{ident!r} is not the id of an item")
    return ident.removeprefix("minecraft:")


def _choice(value: Any) -> tuple[str, bool]:
    """The name of an ingredient, and whether it is a tag."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, str):
        return bare(value.removeprefix("#")), value.startswith("#")
    if not isinstance(value, dict) or not ("item" in value or "tag" in value):
        raise ValueError(f"ingredient {value!r}, expected an object with item or tag")
    return (bare(value["item"]), False) if "item" in value else (bare(value["tag"]), True)


def _shaped(recipe: dict[str, Any]) -> Iterable[Ingredient]:
    pattern = "".join(recipe["pattern"])
    for letter, value in recipe["key"].items():
        yield Ingredient(_choice(value)[0], pattern.count(letter), _choice(value)[1])


def _shapeless(recipe: dict[str, Any]) -> Iterable[Ingredient]:
    for (name, tag), count in Counter(map(_choice, recipe["ingredients"])).items():
        yield Ingredient(name, count, tag)


def _result(value: Any) -> tuple[str, int]:
    if isinstance(value, str):
        return bare(value), 1
    count = value.get("count") or 1
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"result count {count!r}, expected a number from 1 on")
    return bare(value["item"] if "item" in value else value["id"]), count


def read_recipe(text: str) -> Recipe | None:
    """The recipe of one file; None where it is not crafting. ValueError: it is damaged."""
    recipe = json.loads(text)
    if not isinstance(recipe, dict):
        raise ValueError("expected an object")
    if recipe.get("type") not in (SHAPED, SHAPELESS):
        return None
    ingredients = tuple(_shaped(recipe) if recipe["type"] == SHAPED else _shapeless(recipe))
    if not ingredients or any(not part.count for part in ingredients):
        raise ValueError("an ingredient that is used nowhere, or no ingredients")
    item, count = _result(recipe["result"])
    kind = recipe.get("group")
    return Recipe(item, count, ingredients, bare(kind) if kind else None)


def read_folder(folder: str | Path) -> list[Recipe]:
    """The recipes of ``folder``, or of its subfolder ``recipes``, in the order of file names. ValueError: there is no folder, it
    holds no recipe, or a file is damaged."""
    path = Path(folder)
    path = path / "recipes" if (path / "recipes").is_dir() else path
    if not path.is_dir():
        raise ValueError(f"TextCraft-v0: recipes is {str(folder)!r}, expected a folder of recipe files (*.json)")
    recipes = []
    for file in sorted(path.glob("*.json")):
        try:
            if file.stat().st_size > BIGGEST:
                raise ValueError(f"{file.stat().st_size} bytes, expected at most {BIGGEST}")
            recipe = read_recipe(file.read_text(encoding="utf-8"))
        except KeyError as error:
            raise ValueError(f"TextCraft-v0: {file}: no key {error}; expected a recipe in Minecraft's layout") from error
        except (ValueError, TypeError, AttributeError, RecursionError, OSError) as error:
            raise ValueError(f"TextCraft-v0: {file}: {error or type(error).__name__}") from error
        if recipe:
            recipes.append(recipe)
    if not recipes:
        raise ValueError(f"TextCraft-v0: no crafting recipe (*.json) in {str(path)!r}")
    return recipes
