import hashlib

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs import make
from amemgym_envs.textcraft.environment import TextCraftEnv


def play(env, task, *actions):
    env.reset(options={"task": task})
    return [env.step(action)[0] for action in actions]


def solve(env):
    """Play on by the expert; the last step's info."""
    while True:
        *_, done, truncated, info = env.step(env.expert())
        if done or truncated:
            return info


def test_gymnasium_has_nothing_to_object(env):
    check_env(env, skip_render_check=True)


def test_splits_are_as_the_card_says_and_disjoint(env):
    assert {split: len(tasks) for split, tasks in env.splits.items()} == env.card.splits
    assert len(set(env.tasks)) == len(env.tasks) == len(env.book.goals)
    assert make("TextCraft").splits is env.splits
    assert {env.book.depth[goal] for goal in env.splits["test"]} == {1, 2, 3, 4}


def test_tasks_are_the_same_for_ever(env):
    """Scores are comparable only as long as this holds: a change of it is a new version of the environment."""
    openings = [f"{split} {env.reset(options={'task': task})[0]}" for split, tasks in env.splits.items() for task in tasks]
    assert hashlib.sha256("\n".join(openings).encode()).hexdigest()[:16] == "b89efe8fbb54679e"


def test_the_expert_makes_every_goal_within_the_cap(env):
    for task in env.tasks:
        env.reset(options={"task": task})
        info = solve(env)
        assert info["success"] and info["score"] == 1.0, task


def test_the_expert_goes_on_from_wherever_others_got_to(env):
    rng = np.random.default_rng(0)
    for task in env.tasks[::3]:
        env = make("TextCraft", max_steps=60)
        env.reset(options={"task": task})
        for _ in range(15):
            *_, done, _, info = env.step(env.random_action(rng))
            if done:
                break
        assert done or solve(env)["success"], task


def test_task_alone_fixes_an_episode(env):
    first = [env.reset(seed=1, options={"task": "cyan_bed"})[0], *play(env, "cyan_bed", "get 1 bamboo", "inventory")]
    other = make("TextCraft")
    other.reset(seed=5)
    assert first == [other.reset(seed=2, options={"task": "cyan_bed"})[0], *play(other, "cyan_bed", "get 1 bamboo", "inventory")]


def test_a_listing_holds_what_is_needed_and_a_few_others(env):
    bare = make("TextCraft", distractors=0)
    for task in env.tasks:
        needed = [recipe.text for recipe in env.book.called_for(task)]
        full, few = (e.reset(options={"task": task})[0].split("\n")[1:-2] for e in (env, bare))
        assert sorted(few) == sorted(needed) and len(full) <= len(few) + 10
        assert [line for line in full if line in needed] == few


@pytest.mark.parametrize(
    ("actions", "answers"),
    [
        (["inventory", "inventory, please"], ["Inventory: You are not carrying anything."] * 2),
        (["get 2 oak logs", "inventory"], ["Got 2 oak logs", "Inventory: [oak logs] (2) "]),
        (["  Action: get 1 coal\n", "ACTION:\nget 1 coal"], ["Got 1 coal", "Got 1 coal"]),
        (["get 1 stick", "get 1 sticks", "get 1 planks", "get 1 stone, coal", "get 1 Coal"],
         ["Could not find stick", "Could not find sticks", "Could not find planks", "Could not find stone, coal",
          "Could not find Coal"]),
        (["get 2 oak logs", "craft 99 oak planks using 1 oak logs", "craft oak planks using 1 oak logs", "inventory"],
         ["Got 2 oak logs", "Crafted 4 minecraft:oak_planks", "Crafted 4 minecraft:oak_planks", "Inventory: [oak planks] (8) "]),
        (["get 1 oak logs", "craft 4 oak planks using 1 oak logs", "craft 4 stick using 2 planks",
          "craft 4 stick using 2 oak planks"],
         ["Got 1 oak logs", "Crafted 4 minecraft:oak_planks", "Could not find enough items to craft minecraft:stick",
          "Crafted 4 minecraft:stick"]),
        (["get 4 clay ball", "craft clay using 3 clay ball", "craft clay using 4 clay ball, 1 coal",
          "craft 2 coal using 1 clay ball", "craft 4 planks using 1 clay ball"],
         ["Got 4 clay ball",
          "Could not find a valid recipe for ItemTagWithCount(item_tag=ItemTag(tag=None, item_id='minecraft:clay'), count=1)",
          "Could not find enough items to craft minecraft:clay",
          "Could not find a valid recipe for ItemTagWithCount(item_tag=ItemTag(tag=None, item_id='minecraft:coal'), count=2)",
          "Could not find a valid recipe for ItemTagWithCount(item_tag=ItemTag(tag='minecraft:planks', item_id=None), count=4)"]),
        (["craft 1 clay using clay ball", "craft 1 clay using", "craft 1 clay using 4 clay ball,", "get 3.5 coal"],
         ["Wrong item format: clay ball", "Could not execute craft 1 clay using", "Wrong item format: ",
          "Could not execute get 3.5 coal"]),
        (["get 1 string", "get 1 honeycomb", "craft candle using 1 honeycomb, 1 string", "inventory"],
         ["Got 1 string", "Got 1 honeycomb", "Crafted 1 minecraft:candle", "Inventory: [candle] (1) "]),
    ],
)  # fmt: skip
def test_what_an_action_does_and_how_it_is_told(env, actions, answers):
    assert play(env, "lectern", *actions) == answers


def test_one_stock_is_not_used_twice(env):
    env.reset(options={"task": "lectern"})
    env.inventory = {"oak_planks": 2}
    recipe = env.book.recipes["stick"][0]
    parts = (recipe.ingredients[0], recipe.ingredients[0]._replace(name="oak_planks", tag=False))
    env.book.recipes["twice"] = [recipe._replace(item="twice", ingredients=parts)]
    try:
        answer = env.step("craft twice using 2 oak planks, 2 oak planks")[0]
    finally:
        del env.book.recipes["twice"]
    assert answer == "Could not find enough items to craft minecraft:twice" and env.inventory == {"oak_planks": 2}


def test_the_goal_ends_the_episode_with_its_only_reward(env):
    env.reset(options={"task": "bread"})
    assert env.step("get 3 wheat")[1:4] == (0.0, False, False)
    observation, reward, done, truncated, info = env.step("craft 1 bread using 3 wheat")
    assert (observation, reward, done, truncated, info["success"]) == ("Crafted 1 minecraft:bread", 1.0, True, False, True)


def test_a_craft_takes_and_makes_what_its_recipe_says(env):
    rng = np.random.default_rng(3)
    crafted = 0
    for task in env.tasks[::10]:
        env.reset(options={"task": task})
        done = truncated = False
        while not (done or truncated):
            before = dict(env.inventory)
            action = env.expert() if rng.integers(2) else env.random_action(rng)
            observation, _, done, truncated, _ = env.step(action)
            changed = {name: env.inventory.get(name, 0) - before.get(name, 0) for name in {*before, *env.inventory}}
            gained = {name: count for name, count in changed.items() if count > 0}
            lost = sorted(-count for count in changed.values() if count < 0)
            if observation.startswith("Crafted"):
                [(name, count)] = gained.items()
                ways = [(recipe.count, sorted(part.count for part in recipe.ingredients)) for recipe in env.book.recipes[name]]
                assert (count, lost) in ways
                crafted += 1
            elif observation.startswith("Got"):
                assert not lost and len(gained) <= 1
            else:
                assert not any(changed.values()), action
    assert crafted > 50


@pytest.mark.parametrize("depths", [1, (2, 4), [3]])
def test_depths_leave_out_tasks_and_change_none(env, depths):
    some = make("TextCraft", depths=depths)
    wanted = {depths} if isinstance(depths, int) else set(depths)
    for split, tasks in env.splits.items():
        assert list(some.splits[split]) == [task for task in tasks if env.book.depth[task] in wanted]
    assert some.item(0) in some.tasks
    assert some.reset(options={"task": some.tasks[0]})[0] == env.reset(options={"task": some.tasks[0]})[0]


def test_numbers_are_goals_by_depth_and_name_round_and_round(env):
    numbered = [env.item(number) for number in range(len(env.tasks))]
    assert sorted(numbered) == sorted(env.tasks)
    assert numbered == sorted(numbered, key=lambda goal: (env.book.depth[goal], goal))
    assert env.item(len(numbered) + 7) == numbered[7]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depths": 9}, "depths is 9, expected some of 1, 2, 3, 4"),
        ({"depths": ()}, r"depths is \(\)"),
        ({"depths": "easy"}, "depths is 'easy'"),
        ({"distractors": -1}, "distractors is -1, expected a number from 0 on"),
        ({"distractors": "many"}, "distractors is 'many'"),
        ({"max_steps": 0}, "max_steps is 0"),
    ],
)
def test_wrong_options_are_told(options, message):
    with pytest.raises(ValueError, match=f"^TextCraft-v0: {message}"):
        TextCraftEnv(**options)
