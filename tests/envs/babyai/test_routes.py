"""Ways in the view against a plain breadth-first search that works as AgentGym's does, with copies and late parents."""

import random

import pytest

from amemgym_envs.babyai.menu import Menu
from amemgym_envs.babyai.routes import COLUMNS, FORWARD, HEADINGS, LEFT, RIGHT, ROWS, Routes
from amemgym_envs.babyai.view import Thing


def searched(goal, closed, columns, rows, onto):
    """The search that is to be matched: the parent of a state is the last one found before the state leaves the queue."""
    start = (0, 0, 0)
    queue, parents, left = [start], {}, set()
    while queue:
        state = queue.pop(0)
        right, ahead, heading = state
        left.add(state)
        dx, dy = HEADINGS[heading]
        if goal == ((right, ahead) if onto else (right + dx, ahead + dy)):
            way = []
            while state != start:
                state, action = parents[state]
                way.append(action)
            return way[::-1]
        turned = [(LEFT, (right, ahead, (heading - 1) % 4)), (RIGHT, (right, ahead, (heading + 1) % 4))]
        for action, new in [(FORWARD, (right + dx, ahead + dy, heading)), *turned]:
            if new not in left and new[:2] not in closed and new[0] in columns and new[1] in rows:
                parents[new] = state, action
                queue.append(new)
    return None


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("beside", [False, True])
def test_ways_are_those_of_the_plain_search(behind, beside):
    rng = random.Random(1)
    columns, rows = range(-3, 4 + beside), range(-behind, 7)
    for _ in range(6):
        cells = [(right, ahead) for right in COLUMNS for ahead in ROWS if (right, ahead) != (0, 0)]
        closed = set(rng.sample(cells, 30))
        routes = Routes(closed, behind, beside)
        for goal in rng.sample(cells, 12):
            assert routes.facing(*goal) == searched(goal, closed, columns, rows, False)
            if goal not in closed:
                assert routes.onto(*goal) == searched(goal, closed, columns, rows, True)


THINGS = [
    Thing("wall", "grey wall", 1, -1, 0),
    Thing("ball", "red ball", 1, 0, 1),  # in front
    Thing("wall", "grey wall", 2, 2, 0),
    Thing("goal", "green goal", 1, 1, 1),
    Thing("door", "blue closed door", 1, -3, 3),
]


def test_a_goal_can_be_walked_onto():
    assert Menu(THINGS, None, 3, legacy=False).actions["go to goal"] == [RIGHT, FORWARD, LEFT, FORWARD]


@pytest.mark.parametrize(("legacy", "offered"), [(True, True), (False, False)])
def test_agentgym_offers_to_walk_into_a_ball(legacy, offered):
    assert ("move forward" in Menu(THINGS, None, 3, legacy).actions) == offered


def test_agentgym_numbers_what_can_be_reached_and_we_what_is_told():
    walls = [Thing("wall", "grey wall", n, -2 + dx, dy) for n, (dx, dy) in enumerate(HEADINGS, 1) if dy >= 0]
    things = [Thing("key", "red key", 1, -2, 0), *walls, Thing("key", "red key", 2, 0, 3)]
    own, theirs = Menu(things, None, 3, legacy=False), Menu(things, None, 3, legacy=True)
    assert "pickup red key 2" in own.actions
    assert own.refusals["go to red key 1"].startswith("You cannot go to red key 1, as no way")
    assert theirs.actions["pickup red key 1"] == own.actions["pickup red key 2"] and "pickup red key 2" not in theirs.actions


def test_a_locked_door_asks_for_the_key_of_its_colour():
    class Key:
        type, color = "key", "red"

    door = [Thing("door", "red locked door", 1, 0, 2)]
    assert "you are not carrying a red key" in Menu(door, None, 3, False).refusals["toggle and go through red locked door 1"]
    assert Menu(door, Key, 3, False).actions["toggle and go through red locked door 1"] == [FORWARD, 5, FORWARD]
    Key.color = "blue"
    assert "toggle and go through red locked door 1" not in Menu(door, Key, 3, False).actions
