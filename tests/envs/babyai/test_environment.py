"""The environment on minigrid: fixed episodes, an expert that gets there, no action that breaks it."""

import random
import struct
import sys
import zlib

import numpy as np
import pytest

pytest.importorskip("minigrid", minversion="3.2")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from amemgym_envs.babyai import levels  # noqa: E402
from amemgym_envs.registry import make  # noqa: E402

MODES = ("fixed", "agentgym")


def drawn(mode, tasks, seed=0):
    """Every observation, reward and info of episodes played at random."""
    env, rng, seen = make("BabyAI", mode=mode), np.random.default_rng(seed), []
    for task in tasks:
        step = env.reset(options={"task": task})
        seen.append(step)
        while len(step) == 2 or not (step[2] or step[3]):
            step = env.step(env.random_action(rng))
            seen.append(step)
    return seen


def solved(env, task):
    env.reset(options={"task": task})
    done = truncated = False
    while not (done or truncated):
        _, _, done, truncated, info = env.step(env.expert())
    return info


@pytest.mark.parametrize("mode", MODES)
def test_gymnasium_has_nothing_to_object(mode):
    check_env(make("BabyAI", mode=mode), skip_render_check=True)


def test_splits_are_fixed_disjoint_and_numbered_as_in_agentgym():
    env = make("BabyAI")
    assert {split: len(tasks) for split, tasks in env.splits.items()} == env.card.splits
    assert len(set(env.tasks)) == len(env.tasks) == sum(env.card.splits.values())
    assert env.splits is make("BabyAI", mode="agentgym").splits
    assert (env.item(0), env.item(415), env.item(899)) == ("GoToRedBallGrey/0", "OpenDoorsOrderN4Debug/10", "PickupDistDebug/22")
    assert all(env.item(n) == f"{levels.LEVELS[n % 40]}/{n // 40}" for n in range(len(env.tasks)))
    assert {env.item(n) for n in range(900)} <= set(env.splits["train"])


@pytest.mark.parametrize("mode", MODES)
def test_task_and_actions_fix_an_episode(mode):
    tasks = [f"{level}/{seed}" for seed in (23, 28) for level in levels.LEVELS[::3]]
    assert drawn(mode, tasks) == drawn(mode, tasks)


@pytest.mark.parametrize("mode", MODES)
def test_rewards_sum_up_to_the_score_and_every_observation_lists_the_actions(mode):
    total = 0.0
    for step in drawn(mode, make("BabyAI").splits["validation"][:80], seed=1):
        total = 0.0 if len(step) == 2 else total + step[1]
        assert total == pytest.approx(step[-1]["score"])
        assert step[0].count("\nAvailable actions: [") == 1 and step[0].endswith('"check available actions"]')


@pytest.mark.parametrize("level", levels.LEVELS)
def test_the_expert_solves_every_level_in_every_split(level):
    env = make("BabyAI", max_steps=500)
    for seed in (0, 23, 28):
        info = solved(env, f"{level}/{seed}")
        assert info["success"] is True and info["score"] == 1.0, seed


def test_the_expert_goes_on_from_wherever_it_is_asked():
    env, rng = make("BabyAI", max_steps=500), np.random.default_rng(5)
    wanted = 0
    for level in ("GoToSeqS5R2", "UnlockPickupDist", "PutNextS7N4Carrying", "OpenDoorsOrderN4Debug", "SynthS5R2"):
        env.reset(options={"task": f"{level}/29"})
        over = False
        while not over:
            random_step = rng.random() < 0.2
            action = str(rng.choice(["turn left", "move forward", "turn right"])) if random_step else env.expert()
            _, _, done, truncated, info = env.step(action)
            over = done or truncated
        wanted += info["success"]
    assert wanted == 5


@pytest.mark.parametrize("task", ["KeyInBox/0", "OpenDoorsOrderN4Debug/28"])
def test_the_expert_says_what_agentgyms_rules_do_not_allow(task):
    assert solved(make("BabyAI"), task)["success"] is True
    with pytest.raises(NotImplementedError, match="minigrid's bot"):
        solved(make("BabyAI", mode="agentgym", max_steps=100), task)


def test_minigrids_reward_is_a_choice():
    info = solved(make("BabyAI", reward="minigrid"), "GoToRedBall/0")
    assert info["success"] is True and 0.1 < info["score"] < 1


def test_agentgym_counts_a_success_by_minigrids_reward_and_rewards_refused_actions_again():
    env = make("BabyAI", mode="agentgym")
    info = solved(env, "GoToRedBall/0")
    assert info["success"] is True and 0.5 < info["score"] < 1
    env.reset(options={"task": "GoToRedBall/0"})
    env.expert()  # makes its plan
    env._world.max_steps = 1  # a success is worth less than 0.5 now: AgentGym goes on
    worth = []
    while not worth or not worth[-1][1]:
        worth.append(env.step(env.expert()))
    assert worth[-1][2] is False and "The task is completed." in worth[-1][0]
    assert env.step("dance")[1] == worth[-1][1]


def test_a_level_out_of_steps_is_truncated_and_the_next_episode_has_all_of_them():
    env = make("BabyAI", max_steps=500)
    env.reset(options={"task": "GoToRedBallGrey/1"})
    done = truncated = False
    while not (done or truncated):
        *_, done, truncated, info = env.step("turn left")
    assert (done, truncated, info["success"]) == (False, True, False)
    assert info["steps"] == info["max_steps"] == env._world.max_steps < 500
    assert env.reset(options={"task": "GoToRedBallGrey/1"})[1]["max_steps"] == 500


def test_a_mission_that_failed_ends_without_success():
    env = make("BabyAI")
    for seed in range(10):
        env.reset(options={"task": f"PickupDistDebug/{seed}"})
        wrong = next((action for action in reversed(env.available()) if action.startswith("pickup")), "turn left")
        observation, _, done, _, info = env.step(wrong)
        if done and not info["success"]:
            break
    assert info["success"] is False and "can no longer be reached" in observation


def test_both_spellings_of_pick_up_and_a_leading_label_are_understood():
    env = make("BabyAI")
    for action in (" Action:  Pick  Up {}\n", "pickup {}"):
        info = env.reset(options={"task": "PickupLoc/0"})[1]
        thing = next(action for action in info["available_actions"] if action.startswith("pickup ")).removeprefix("pickup ")
        assert f"carrying a {thing.rpartition(' ')[0]}." in env.step(action.format(thing))[0]
    env = make("BabyAI", mode="agentgym")
    env.reset(options={"task": "PickupLoc/0"})
    assert env.step(f"pick up {thing}")[0].startswith("The action is not recognized.")


def test_agentgym_hides_the_order_of_a_mission():
    both = [make("BabyAI", mode=mode) for mode in MODES]
    goals = [[env.reset(options={"task": f"SynthSeq/{seed}"})[0].split("\n")[0] for env in both] for seed in range(12)]
    assert all(own.replace(", then ", ", and ").replace("after you", "and") == theirs for own, theirs in goals)
    assert all(any(words in own for own, _ in goals) for words in (", then ", " after you "))


@pytest.mark.parametrize("mode", MODES)
def test_no_string_raises_or_changes_the_world(mode):
    rng = random.Random(3)
    env = make("BabyAI", mode=mode, max_steps=10_000)
    env.reset(options={"task": "Pickup/1"})
    pieces = ["go to", "pickup", "red ball 1", "drop;", "1e999", "\x00", "\u202e", "{'a': [", "x" * 3000, "🗝", "\n", "'); --"]
    before, begun = env._world.hash(), env.step("nonsense")[0]
    assert begun.startswith("The action is not recognized.")
    for action in ["", " ", "Action:", "a" * 100_000, *(" ".join(rng.choices(pieces, k=rng.randint(1, 6))) for _ in range(2000))]:
        observation, reward, done, truncated, _ = env.step(action)
        assert (reward, done, truncated) == (0, False, False) and "\nAvailable actions: [" in observation
    assert env._world.hash() == before and env._world.step_count == 0


@pytest.mark.parametrize("mode", MODES)
def test_the_instruction_names_every_action_that_is_offered(mode):
    env = make("BabyAI", mode=mode)
    offered = {action for step in drawn(mode, env.splits["test"][:40]) for action in step[-1].get("available_actions", [])}
    told = ("go to ", "pickup ", "go through ", "toggle and go through ")
    plain = {action for action in offered if not action.startswith(told)}
    assert all(f"- {verb}" in env.instruction and any(action.startswith(verb) for action in offered) for verb in told)
    assert plain <= {"turn left", "turn right", "move forward", "drop", "toggle", "check available actions"}
    assert all(action in env.instruction for action in plain)


def test_without_minigrid_the_extra_is_named(monkeypatch):
    levels._maker.cache_clear()
    monkeypatch.setitem(sys.modules, "minigrid.envs.babyai.core", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'amemgym-train\[babyai\]'"):
        make("BabyAI").reset(seed=0)


def test_wrong_options_are_named():
    for options, message in (({"mode": "easy"}, "mode is 'easy'"), ({"reward": "dense"}, "reward is 'dense'")):
        with pytest.raises(ValueError, match=message):
            make("BabyAI", **options)


def test_nothing_is_printed_where_layouts_are_rejected(capfd):
    env = make("BabyAI")
    for seed in range(23):
        env.reset(options={"task": f"SynthLoc/{seed}"})
    assert capfd.readouterr() == ("", "")


def test_the_picture_is_a_png_of_the_grid():
    env = make("BabyAI")
    env.reset(options={"task": "GoToRedBall/0"})
    data = env.png()
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT") + 4
    rows = zlib.decompress(data[start : start + struct.unpack(">I", data[start - 8 : start - 4])[0]])
    assert data.startswith(b"\x89PNG\r\n\x1a\n") and (width, height) == (128, 128) and len(rows) == height * (1 + 3 * width)
    pixels = np.frombuffer(rows, np.uint8).reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)
    assert (pixels == env._world.get_frame(tile_size=16)).all()
