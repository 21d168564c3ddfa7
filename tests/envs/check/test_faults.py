"""Each check finds the fault that it is for, in a toy that has no other."""

import itertools
import random

import numpy as np
import pytest

from amemgym_envs import Outcome, TaskEnv
from amemgym_envs.check import Plan, abuse, check, plan
from amemgym_envs.check.garbage import garbage
from amemgym_envs.core import EnvCard

COUNTS = {"one": 1, "two": 2, "nine": 9}
SPLITS = {"train": ["3", "4", "5"], "test": ["6"]}


class Sound(TaskEnv):
    """Count to the task's number."""

    card = EnvCard("Sound-v0", "Count.", "numbers", {"train": 3, "test": 1}, (0.0, 1.0), "counted", 12, "one | two | nine")
    splits = SPLITS
    instruction = "Say one or two until they sum up to the number."

    def begin(self, task):
        self.goal, self.count = int(task), 0
        return f"To {task}, drawn {self.np_random.integers(1000)}"

    def act(self, action):
        self.count += COUNTS.get(action, 0)
        done = self.count >= self.goal
        return Outcome(f"at {self.count}; say one or two", float(self.count == self.goal), done)

    def available(self):
        return list(COUNTS)

    def expert(self):
        return "one"


class Clocked(Sound):
    calls = itertools.count()

    def begin(self, task):
        return f"{super().begin(task)} {next(self.calls)}"


class Global(Sound):
    def begin(self, task):
        random.random()
        return super().begin(task)


class Lost(Sound):
    def expert(self):
        return "one" if self.goal != 5 else "three"


class Fragile(Sound):
    def act(self, action):
        action.encode()
        return super().act(action)


class Mute(Sound):
    def act(self, action):
        outcome = super().act(action)
        return outcome if action in COUNTS else outcome._replace(observation="")


class Echo(Sound):
    def act(self, action):
        return super().act(action)._replace(observation=f"{action}?")


class Scarred(Sound):
    """Remembers, from one episode to the next, that it was shouted at."""

    hurt = ""

    def begin(self, task):
        return super().begin(task) + self.hurt

    def act(self, action):
        if len(action) > 5000:
            self.hurt = "!"
        return super().act(action)


class Shared(Sound):
    """The count is the class's."""

    def begin(self, task):
        opening = super().begin(task)
        Shared.count = self.__dict__.pop("count")
        return opening

    def act(self, action):
        Shared.count += COUNTS.get(action, 0)
        return Outcome(f"at {Shared.count}; say one or two", float(Shared.count == self.goal), Shared.count >= self.goal)


class Generous(Sound):
    """Pays the score at every step instead of its increase."""

    def act(self, action):
        self.count += COUNTS.get(action, 0)
        return Outcome(f"at {self.count}; say one or two", min(1.0, self.count / self.goal), self.count >= self.goal)

    def step(self, action):
        observation, _, done, truncated, info = super().step(action)
        return observation, info["score"], done, truncated, info


class Boundless(Sound):
    def act(self, action):
        return super().act(action)._replace(score=float(self.count))


class Miscounted(Sound):
    splits = {"train": ["3", "4"], "test": ["6"]}


class Overlapping(Sound):
    splits = {"train": ["3", "4", "6"], "test": ["6"]}


class Rebuilt(Sound):
    @property
    def splits(self):
        return dict(SPLITS)


class Yielding(Sound):
    def choose_task(self, options):
        return (options or {}).get("task") if (options or {}).get("task") in self.tasks else "3"


class Typed(Sound):
    def step(self, action):
        observation, reward, done, truncated, info = super().step(action)
        return observation, reward, np.bool_(done), truncated, info


class Hasty(Sound):
    """Whether it is a success is told before the end."""

    def step(self, action):
        *rest, info = super().step(action)
        return *rest, info | {"success": bool(info["success"])}


class Unreadable(Sound):
    def reset(self, *, seed=None, options=None):
        return 5, super().reset(seed=seed, options=options)[1]


class Hoarding(Sound):
    kept = []

    def begin(self, task):
        self.kept.append(np.ones(2**15))  # a quarter of a megabyte
        return super().begin(task)


class Easy(Sound):
    def available(self):
        return ["one"]


class Alone(Sound):
    def expert(self):
        raise NotImplementedError

    def available(self):
        return None


class Uphill(Sound):
    """Needs more steps than an episode has."""

    def __init__(self, max_steps=4):
        super().__init__(max_steps)


def levels(toy):
    """{check: its result}"""
    return {result.name: result for result in check(Plan(toy, garbage=400, tasks=3, seconds=0.01))}


def test_a_sound_environment_is_green_but_for_what_needs_a_name():
    assert {name: one.level for name, one in levels(Sound).items() if one.level != "green"} == {"processes": "yellow"}


@pytest.mark.parametrize(
    ("toy", "name", "told"),
    [
        (Unreadable, "gymnasium", "AssertionError"),
        (Miscounted, "tasks", "the card says {'train': 3, 'test': 1}, there are {'train': 2, 'test': 1}"),
        (Overlapping, "tasks", "in two places: 6"),
        (Rebuilt, "tasks", "built anew at every call"),
        (Yielding, "tasks", "a task that there is not is played"),
        (Generous, "rewards", "rewards sum up to"),
        (Boundless, "rewards", "the card says 0 to 1"),
        (Typed, "rewards", "terminated and truncated are np.False_ and False"),
        (Hasty, "rewards", "info['success'] is False before the end"),
        (Clocked, "determinism", "at reset"),
        (Global, "determinism", "draws from the generators"),
        (Shared, "instances", "beside another instance"),
        (Lost, "expert", "9 of 12 episodes solved; not 5 (seed 0, score 0, 12 steps)"),
        (Fragile, "garbage", "raises UnicodeEncodeError"),
        (Mute, "garbage", "is answered by nothing"),
        (Echo, "garbage", "answered by half a character"),
        (Scarred, "garbage", "after an episode of garbage: "),
        (Shared, "garbage", "an instance beside one that was given garbage: "),
        (Hoarding, "memory", "MB more after 200 instances made"),
    ],
)
def test_a_fault_is_red_and_told_with_what_mends_it(toy, name, told):
    result = levels(toy)[name]
    Hoarding.kept.clear()
    assert result.level == "red" and told in result.message and result.remedy


@pytest.mark.parametrize(
    ("toy", "name", "told"),
    [
        (Alone, "expert", "there is none"),
        (Alone, "random", "no action can be drawn"),
        (Easy, "random", "100.0% of 12 episodes solved: the tasks ask for little"),
        (Uphill, "expert", "6 of 12 episodes solved, 6 with more steps than an episode has"),
    ],
)
def test_what_is_doubtful_is_yellow(toy, name, told):
    result = levels(toy)[name]
    assert result.level == "yellow" and told in result.message


@pytest.mark.parametrize(("limit", "level"), [("SLOW", "yellow"), ("TOO_SLOW", "red")])
def test_an_action_that_takes_too_long_is_told(limit, level, monkeypatch):
    monkeypatch.setattr(abuse, "SLOW", 0.0)
    monkeypatch.setattr(abuse, limit, 0.0)
    assert levels(Sound)["garbage"].level == level


def test_an_order_of_strings_that_another_process_has_otherwise_is_found(tmp_path, monkeypatch):
    toy = """
from amemgym_envs import Outcome, TaskEnv
from amemgym_envs.core import EnvCard

class Unordered(TaskEnv):
    card = EnvCard("Unordered-v0", "Wait.", "one", {"test": 1}, (0.0, 1.0), "waited", 2, "anything")
    splits = {"test": ["only"]}
    instruction = "Say anything."

    def begin(self, task):
        return " ".join(SORT({f"word {number}" for number in range(50)}))

    def act(self, action):
        return Outcome("yes", 1.0, True)
"""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, sort, level in (("unordered_toy", "list", "red"), ("ordered_toy", "sorted", "green")):
        (tmp_path / f"{name}.py").write_text(toy.replace("SORT", sort), encoding="utf-8")
        found = {one.name: one for one in check(plan(f"{name}:Unordered", seeds=1, tasks=1, garbage=5, seconds=0.01))}
        assert found["determinism"].level == "green" and found["processes"].level == level, name


def test_garbage_is_the_same_for_the_same_seed_and_holds_what_it_promises():
    def drawn(seed):
        rng = np.random.default_rng(seed)
        return [garbage(rng, "get 3 oak logs") for _ in range(2000)]

    some = drawn(0)
    assert some == drawn(0) != drawn(1)
    assert "" in some and max(map(len, some)) >= 10_000 and len(set(some)) > 1000
    assert any("\ud800" <= c <= "\udfff" for text in some for c in text) and any("DROP TABLE" in text for text in some)
    assert any("__import__" in text for text in some) and any(text.startswith("[" * 1000) for text in some)


@pytest.mark.parametrize("entry", ["chess", "no_such_module:Toy", "amemgym_envs.check:Nothing", "amemgym_envs.check:Plan"])
def test_what_is_no_environment_is_refused(entry):
    with pytest.raises(ValueError, match=entry.partition(":")[0]):
        plan(entry)
