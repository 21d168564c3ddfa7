import json
from importlib.resources import files

import pytest

from amemgym_envs import make
from amemgym_envs.textcraft.book import Book
from amemgym_envs.textcraft.minecraft import read_folder, read_recipe
from amemgym_envs.textcraft.recipes import Ingredient, Recipe, read_recipes

SHAPED, SHAPELESS = '{"type": "minecraft:crafting_shaped", ', '{"type": "minecraft:crafting_shapeless", '


def as_json(recipe: Recipe, shaped: bool) -> str:
    """``recipe`` in Minecraft's layout."""
    sides = [{"tag" if part.tag else "item": f"minecraft:{part.name}"} for part in recipe.ingredients]
    made = {"result": {"item": f"minecraft:{recipe.item}", "count": recipe.count}}
    made |= {"group": recipe.kind} if recipe.kind else {}
    if shaped:
        letters = "ABCDEFGHI"
        pattern = "".join(letter * part.count for letter, part in zip(letters, recipe.ingredients, strict=False))
        rows = [pattern[place : place + 3] for place in range(0, len(pattern), 3)]
        body = {"type": "minecraft:crafting_shaped", "pattern": rows, "key": dict(zip(letters, sides, strict=False))}
    else:
        parts = [side for side, part in zip(sides, recipe.ingredients, strict=True) for _ in range(part.count)]
        body = {"type": "minecraft:crafting_shapeless", "ingredients": parts}
    return json.dumps(body | made)


@pytest.fixture
def ours(env):
    return [recipe for recipes in env.book.recipes.values() for recipe in recipes]


@pytest.fixture
def folder(tmp_path, ours):
    """Our recipes as a folder of the game's."""
    (tmp_path / "recipes").mkdir()
    for number, recipe in enumerate(ours):
        path = tmp_path / "recipes" / f"{number:04}.json"
        path.write_text(as_json(recipe, number % 2 == 0), encoding="utf-8")
    return tmp_path


def test_a_line_and_what_it_stands_for():
    assert read_recipes("# words\n\nfor a, b: x, p q; y, #k\n  2 {a} z [kind] = 3 {b}, w\nv = 1 x z") == [
        Recipe("x_z", 2, (Ingredient("p_q", 3), Ingredient("w", 1)), "kind"),
        Recipe("y_z", 2, (Ingredient("k", 3, True), Ingredient("w", 1)), "kind"),
        Recipe("v", 1, (Ingredient("x_z", 1),)),
    ]


def test_ours_are_all_sound_and_none_is_there_twice(env, ours):
    written = read_recipes(files("amemgym_envs.textcraft").joinpath("recipes.txt").read_text(encoding="utf-8"))
    assert sorted(ours) == sorted(written) and len({recipe.text for recipe in ours}) == len(ours)
    assert set(env.book.goals) == set(env.book.recipes) and env.book.tags == {"planks", "wooden_slab", "sticks"}


def test_a_goal_is_one_deeper_than_the_deepest_thing_of_its_shallowest_recipe(env):
    depth = env.book.depth
    for goal in env.book.goals:
        assert depth[goal] == min(1 + max(depth[part.name] for part in recipe.ingredients) for recipe in env.book.recipes[goal])


def test_a_folder_of_the_game_s_layout_is_the_same_world(env, folder, ours):
    other = make("TextCraft", recipes=folder)
    assert read_folder(folder) == read_folder(str(folder / "recipes")) == ours
    assert other.splits == env.splits and other.book.depth == env.book.depth and other.book.tags == env.book.tags
    for task in env.tasks[::50]:
        assert other.reset(options={"task": task})[0] == env.reset(options={"task": task})[0]
        while not (step := other.step(other.expert()))[2]:
            pass
        assert step[4]["success"]


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        ({"type": "minecraft:crafting_shapeless", "ingredients": [[{"item": "minecraft:a"}, {"item": "minecraft:b"}]] * 2,
          "result": "minecraft:c"}, Recipe("c", 1, (Ingredient("a", 2),))),
        ({"type": "minecraft:crafting_shaped", "pattern": ["X ", "XY"], "key": {"X": "#minecraft:a", "Y": "minecraft:b"},
          "result": {"id": "minecraft:c", "count": 3}, "group": "g"},
         Recipe("c", 3, (Ingredient("a", 2, True), Ingredient("b", 1)), "g")),
        ({"type": "minecraft:smelting", "ingredient": {"item": "minecraft:a"}, "result": "minecraft:c"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_layouts_of_the_game(recipe, expected):
    assert read_recipe(json.dumps(recipe)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "b.json: Expecting"),
        ("[]", "b.json: expected an object"),
        ("[" * 100_000, "b.json: "),
        ("\udcff", "b.json: .*utf-8"),
        (SHAPELESS + '"result": "a"}', "b.json: no key 'ingredients'"),
        (SHAPELESS + '"result": "a", "ingredients": []}', "b.json: .*no ingredients"),
        (SHAPELESS + '"result": "a", "ingredients": [7]}', "b.json: ingredient 7, expected an object"),
        (SHAPELESS + '"result": "a", "ingredients": [{"item": 7}]}', "b.json: 7 is not the id"),
        (SHAPELESS + '"result": {"item": "a", "count": -1}, "ingredients": ["b"]}', "b.json: .*count -1"),
        (SHAPED + '"result": "a", "pattern": ["X"], "key": {"Y": "b"}}', "b.json: .*used nowhere"),
        (SHAPED + '"result": "a", "pattern": ["X"], "key": ["Y"]}', "b.json: "),
    ],
)
def test_a_damaged_file_is_named(tmp_path, text, message):
    (tmp_path / "a.json").write_text(as_json(Recipe("a", 1, (Ingredient("b", 1),)), False))
    (tmp_path / "b.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=f"^TextCraft-v0: .*{message}"):
        make("TextCraft", recipes=tmp_path)


def test_a_folder_without_recipes_is_told(tmp_path):
    with pytest.raises(ValueError, match="no crafting recipe"):
        make("TextCraft", recipes=tmp_path)
    with pytest.raises(ValueError, match="expected a folder of recipe files"):
        make("TextCraft", recipes=str(tmp_path / "none"))


def test_rules_of_kinds_cycles_and_blocks():
    world = Book(read_recipes("""
ingot = 9 nugget
9 nugget = 1 ingot
9 gem = 1 gem_block
gem_block = 9 gem
red wool [wool] = 1 dye
bed = 3 #wool, 2 #logs
x = 1 y
y = 1 z, 1 x
"""))  # fmt: skip
    assert world.goals == ["gem_block", "ingot", "red_wool", "x", "bed"]
    assert world.fetched("nugget") and world.fetched("gem") and not world.fetched("ingot")
    assert world.tags == {"wool"} and world.fetched("logs") and not world.fetched("wool")
