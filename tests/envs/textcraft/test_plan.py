"""The expert in worlds that nobody designed: recipes drawn at random, with cycles and kinds that overlap."""

import numpy as np
import pytest

from amemgym_envs.textcraft.book import Book
from amemgym_envs.textcraft.recipes import Ingredient, Recipe

ITEMS, KINDS = [f"item_{number}" for number in range(12)], ["kind_a", "kind_b", "kind_c"]


def recipe(rng: np.random.Generator) -> Recipe:
    parts = {}
    for _ in range(rng.integers(1, 4)):
        tag = rng.integers(3) == 0
        name = str(rng.choice(KINDS if tag else ITEMS))
        parts[name] = Ingredient(name, int(rng.integers(1, 4)), bool(tag))
    kind = str(rng.choice(KINDS)) if rng.integers(2) else None
    return Recipe(str(rng.choice(ITEMS)), int(rng.integers(1, 5)), tuple(parts.values()), kind)


@pytest.mark.parametrize("seed", range(60))
def test_the_expert_makes_every_goal_with_no_action_refused(env, seed):
    rng = np.random.default_rng(seed)
    env.book = world = Book(recipe(rng) for _ in range(25))
    for goal in world.goals:
        env.begin(goal)
        env.inventory = {item: int(rng.integers(1, 5)) for item in sorted(world.items) if item != goal and rng.integers(4) == 0}
        for _ in range(300):
            observation, score, done, _ = env.act(env.expert())
            assert observation.startswith(("Got", "Crafted"))
            if done:
                break
        assert score == 1.0, goal
