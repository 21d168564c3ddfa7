import time
import zlib

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs import make
from amemgym_envs.maze.mazes import DOUBLE_T, FAR, GOAL, MOVES, NEAR, STARTS, beside, dug

MODES = ["default", "agentgym"]


def at(task, seed=1):
    return {"seed": seed, "options": {"task": task}}


def to_the_end(env, choose):
    steps, over = [], False
    while not over:
        steps.append(env.step(choose()))
        over = steps[-1][2] or steps[-1][3]
    return steps


@pytest.fixture(scope="module")
def mazes():
    """The maze of every default task."""
    env = make("Maze")
    return {task: env.reset(options={"task": task}) and env.maze for task in env.tasks}


@pytest.mark.parametrize("mode", MODES)
def test_gymnasium_has_nothing_to_object(mode):
    check_env(make("Maze", mode=mode), skip_render_check=True)


def test_mazes_are_closed_around_and_connected(mazes):
    for maze in mazes.values():
        height, width = len(maze.rows), len(maze.rows[0])
        assert {height, width} <= {7, 9, 11} and {len(row) for row in maze.rows} == {width}
        assert maze.rows[0] == maze.rows[-1] == "#" * width and all(row[0] == row[-1] == "#" for row in maze.rows)
        assert len(maze.distances) == "".join(maze.rows).count(".")
        assert all(maze.rows[r][c] == "." for r in range(1, height, 2) for c in range(1, width, 2))
        rooms = (height // 2) * (width // 2)
        assert 2 * rooms - 1 <= len(maze.distances) <= 2 * rooms + 2
        assert NEAR <= maze.distances[maze.start] <= FAR
    assert len({len(maze.distances) - 2 * (len(maze.rows) // 2) * (len(maze.rows[0]) // 2) for maze in mazes.values()}) == 4


def test_no_task_comes_twice_and_no_layout_is_in_two_splits(mazes):
    assert len({(maze.rows, maze.start, maze.goal) for maze in mazes.values()}) == len(mazes) == 4000
    layouts = {split: {mazes[task].rows for task in tasks} for split, tasks in make("Maze").splits.items()}
    assert sum(map(len, layouts.values())) == len(set.union(*layouts.values()))


def test_tasks_stay_what_they_are(mazes):
    """Results of different days are compared by task id."""
    text = "\n".join(f"{task} {maze.rows} {maze.start} {maze.goal}" for task, maze in mazes.items())
    assert zlib.crc32(text.encode()) == 3532137302


@pytest.mark.parametrize("options", [{}, {"mode": "agentgym"}, {"smallest": 21, "largest": 41}])
def test_the_expert_takes_a_shortest_way(options):
    env = make("Maze", **options)
    for tasks in env.splits.values():
        for task in tasks[:: 1 + len(tasks) // 60]:
            env.reset(options={"task": task})
            steps = to_the_end(env, env.expert)
            assert len(steps) == env.maze.distances[env.maze.start]
            assert steps[-1][0] == "Success" and steps[-1][2] and steps[-1][4]["success"] is True
            assert sum(step[1] for step in steps) == 1.0


@pytest.mark.parametrize("mode", MODES)
def test_the_expert_goes_on_from_wherever_one_is(mode):
    env, rng = make("Maze", mode=mode), np.random.default_rng(3)
    for task in env.tasks[::200]:
        env.reset(options={"task": task})
        for _ in range(5):
            if env.position != env.maze.goal:
                env.step(env.random_action(rng))
        if env.position != env.maze.goal:
            assert to_the_end(env, env.expert)[-1][4]["success"] is True


def test_what_is_seen_agrees_with_what_can_be_walked(mazes):
    sides = {"move up": "above you", "move down": "below you", "move left": "to your left", "move right": "to your right"}
    env, rng = make("Maze", max_steps=200), np.random.default_rng(0)
    for task in list(mazes)[::400]:
        seen, info = env.reset(options={"task": task})
        assert info["available_actions"] == list(MOVES)
        for _ in range(30):
            before, action = env.position, env.random_action(rng)
            goal = "The goal is at position {}, {}. ".format(*env.maze.goal)
            assert seen.startswith(goal + "Your current position is at position {}, {}. ".format(*before))
            blocked = sides[action] in seen
            seen, _, done, *_ = env.step(action)
            assert env.position == (before if blocked else beside(before, MOVES[action]))
            if done:
                break


def test_walls_are_told_in_agentgyms_words():
    env = make("Maze", mode="agentgym")
    told = {STARTS.index(start): env.reset(options={"task": f"start-{n}"})[0] for n, start in enumerate(STARTS)}
    opening = "The goal is at position 8, 6. Your current position is at position "
    assert told[0] == opening + "1, 1. There are walls to your left, above you, below you."
    assert told[2] == opening + "1, 3. There is a wall above you."
    assert told[10] == opening + "2, 3. There are walls to your right, to your left."
    assert told[8] == opening + "1, 1 0. There are walls above you, below you."
    open_all_around = make("Maze")
    for task in open_all_around.tasks:
        if "no walls" in open_all_around.reset(options={"task": task})[0]:
            assert not open_all_around.maze.walls(open_all_around.position)
            break
    else:
        pytest.fail("no task starts where four ways meet")


def test_the_map_of_agentgym_has_its_free_cells_and_no_other():
    free = {(r, c) for r, row in enumerate(DOUBLE_T) for c, sign in enumerate(row) if sign == "."}
    assert free == {*STARTS, GOAL} and len(STARTS) == len(set(STARTS)) == 25
    env = make("Maze", mode="agentgym")
    for number, start in enumerate(STARTS):
        env.reset(options={"task": env.item(number)})
        assert env.position == start
    assert sorted(env.tasks) == sorted(map(env.item, range(25))) and env.card.splits == {"train": 15, "validation": 5, "test": 5}
    for number in (-1, 25):
        with pytest.raises(ValueError, match="expected 0 to 24"):
            env.item(number)


@pytest.mark.parametrize(("mode", "end", "score"), [("default", (False, True), 0.0), ("agentgym", (True, False), -1.0)])
def test_fifty_steps_are_the_end(mode, end, score):
    env = make("Maze", mode=mode)
    env.reset(options={"task": env.tasks[0]})
    steps = to_the_end(env, lambda: "wait")
    assert len(steps) == 50 and steps[-1][0] == "Failure" and steps[-1][2:4] == end
    assert steps[-1][4]["score"] == sum(step[1] for step in steps) == score and steps[-1][4]["success"] is False
    short = make("Maze", mode=mode, max_steps=3)
    short.reset(options={"task": env.tasks[0]})
    steps = to_the_end(short, lambda: "wait")
    assert len(steps) == 3 and steps[-1][2:4] == (False, True) and steps[-1][4]["score"] == 0.0


@pytest.mark.parametrize("text", ["move {}", " Move {}\n", "MOVE   {}", "Action: move {}", "action:\nmove {}"])
def test_a_move_is_read_leniently(text):
    env = make("Maze")
    for way in ("up", "down", "left", "right"):
        env.reset(options={"task": "train-7"})
        plain = env.step(f"move {way}")
        env.reset(options={"task": "train-7"})
        assert env.step(text.format(way)) == plain and "no such action" not in plain[0]


@pytest.mark.parametrize("mode", MODES)
def test_nothing_that_is_said_harms_an_episode(mode, garbage):
    env = make("Maze", mode=mode)
    first, _ = env.reset(options={"task": env.tasks[0]})
    for action in garbage:
        env.reset(options={"task": env.tasks[0]})
        observation, reward, done, truncated, _ = env.step(action)
        assert (env.position, reward, done, truncated) == (env.maze.start, 0.0, False, False)
        assert observation == first if mode == "agentgym" else observation.endswith(first) and "move left" in observation


def test_a_long_action_is_read_in_a_moment():
    env = make("Maze")
    env.reset(options={"task": "train-0"})
    started = time.process_time()
    for action in (" " * 20_000, "action" * 3333, "move " * 4000, " action: move up" * 1250):
        assert "no such action" in env.step(action)[0]
    assert time.process_time() - started < 0.2  # a search for the prefix anywhere would take seconds


@pytest.mark.parametrize("mode", MODES)
def test_task_and_seed_fix_an_episode(mode):
    one, other = make("Maze", mode=mode), make("Maze", mode=mode)
    rng = np.random.default_rng(0)
    for task in one.tasks[::100]:
        moves = [one.random_action(rng) for _ in range(50)]
        assert one.reset(**at(task)) == other.reset(**at(task))
        steps = to_the_end(one, iter(moves).__next__)
        assert steps == to_the_end(other, iter(moves).__next__)


def test_other_sides_keep_layouts_apart():
    layouts = {split: {dug(split, number, 7, 7).rows for number in range(100)} for split in ("train", "validation", "test")}
    assert not layouts["train"] & layouts["test"] and not layouts["validation"] & (layouts["train"] | layouts["test"])


WRONG = [{"smallest": 5}, {"largest": 43}, {"smallest": 8}, {"smallest": 11, "largest": 9}, {"mode": "x"}]


@pytest.mark.parametrize("options", WRONG)
def test_wrong_options_are_refused(options):
    with pytest.raises(ValueError, match="Maze-v0: .* expected "):
        make("Maze", **options)
