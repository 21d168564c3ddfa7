import asyncio
import threading

import pytest

from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.policy.base import Completion
from amemgym_train.rollout.records import Episode
from amemgym_train.rollout.runner import Play, Task, check_unscorable, play, play_several

TASKS = [Task(id, group=id, seed=seed, environment="Chat") for id, seed in [("a", 0), ("a", 1), ("b", 0), ("c", 0)]]


class Chat:
    """``length`` session steps; raises ``error`` in place of step ``at`` where one is given."""

    blocking = False

    def __init__(self, length, error=None, at=0):
        self.length = length
        self.error = error
        self.at = at
        self.closed = False
        self.begun = None

    def _info(self):
        if self.taken == self.length:
            return {"kind": "end", "scored": None, "score": 0.5, "success": False}
        place = {"period": 0, "session": self.taken, "round": 0, "rounds": 1, "exposed": {}, "time": "2020-10-01 09:00:00"}
        return {"kind": "session", "ephemeral": False, "period_end": self.taken == self.length - 1, "scored": None, **place}

    def reset(self, seed=None, options=None):
        self.begun = (seed, options)
        self.taken = 0
        return "hello", self._info()

    def step(self, action):
        if self.error is not None and self.taken == self.at:
            raise self.error
        self.taken += 1
        return f"more {self.taken}", float(self.taken), self.taken == self.length, False, self._info()

    def close(self):
        self.closed = True


class Batching:
    """Replies when every live episode waits, as a model in this process does; keeps who was in each batch."""

    version = "batching"

    def __init__(self, error=None, breaks=None):
        self.alive = set()
        self.waiting = []
        self.batches = []
        self.error = error
        self.breaks = breaks

    def enter(self, episode):
        assert episode not in self.alive
        self.alive.add(episode)

    def leave(self, episode):
        self.alive.remove(episode)
        self._answer()

    async def complete(self, request):
        future = asyncio.get_running_loop().create_future()
        self.waiting.append((request, future))
        self._answer()
        return await future

    def _answer(self):
        if not self.waiting or self.alive - {request.episode for request, _ in self.waiting}:
            return
        batch, self.waiting = self.waiting, []
        self.batches.append(sorted(request.episode for request, _ in batch))
        for request, future in batch:
            if future.done():
                continue
            if request.episode == self.breaks:
                future.set_exception(self.error)
            else:
                future.set_result(Completion([1], [2], [-0.5], f"{request.episode} {request.slot} {request.seed}", "stop"))


def run(policy, environments, tasks=TASKS, **options):
    made = iter(environments)
    lookup = {(task.id, task.seed): next(made) for task in tasks}
    return play(
        lambda task: lookup[task.id, task.seed],
        tasks,
        lambda task, episode, seed: build_agent(AgentConfig(name="native"), policy, episode, seed),
        label=None,
        **options,
    )


def test_episodes_come_back_in_the_order_of_their_tasks_whatever_their_length():
    policy, environments = Batching(), [Chat(4), Chat(1), Chat(3), Chat(2)]
    episodes = run(policy, environments, seed=9)
    assert [episode.id for episode in episodes] == ["Chat/a/0", "Chat/a/1", "Chat/b/0", "Chat/c/0"]
    assert [episode.group for episode in episodes] == ["a", "a", "b", "c"]
    assert [len(episode.turns) for episode in episodes] == [4, 1, 3, 2]
    assert episodes[2].turns[1].text == "Chat/b/0 respond/p0/s1/r0 9"
    assert episodes[2].rewards == [1.0, 2.0, 3.0]
    assert [len(episode.states) for episode in episodes] == [1, 1, 1, 1]
    assert (episodes[0].score, episodes[0].success, episodes[0].error) == (0.5, False, None)
    assert environments[2].begun == (9, {"task": "b"})
    assert all(environment.closed for environment in environments)


def test_a_batching_policy_hears_of_every_live_episode_before_the_first_call():
    policy = Batching()
    run(policy, [Chat(2), Chat(1), Chat(2), Chat(1)])
    everybody = ["Chat/a/0", "Chat/a/1", "Chat/b/0", "Chat/c/0"]
    assert policy.batches == [everybody, ["Chat/a/0", "Chat/b/0"]]
    assert policy.alive == set()


@pytest.mark.parametrize("concurrency", [1, 2, 3, 4, 9])
def test_concurrency_bounds_the_live_episodes_and_changes_no_result(concurrency):
    policy = Batching()
    episodes = run(policy, [Chat(3), Chat(1), Chat(2), Chat(2)], concurrency=concurrency)
    assert episodes == run(Batching(), [Chat(3), Chat(1), Chat(2), Chat(2)])
    width = min(concurrency, 4)
    assert len(policy.batches[0]) == width == max(len(batch) for batch in policy.batches)
    assert policy.batches[0] == sorted(episode.id for episode in episodes[:width])


def test_batches_stay_full_while_episodes_remain():
    """The next episode is announced before a finished one leaves, so that nobody is answered alone in between."""
    policy = Batching()
    run(policy, [Chat(1), Chat(3), Chat(2), Chat(2)], concurrency=2)
    assert policy.batches == [["Chat/a/0", "Chat/a/1"], *[["Chat/a/1", "Chat/b/0"]] * 2, *[["Chat/c/0"]] * 2]


@pytest.mark.parametrize(
    "error", [Unscorable("server gone"), ConnectionResetError("reset"), TimeoutError("60 s"), OSError(5, "I/O")]
)
@pytest.mark.parametrize("where", ["environment", "policy"])
def test_one_broken_episode_touches_no_other(error, where):
    whole = run(Batching(), [Chat(2), Chat(3), Chat(2), Chat(3)])
    broken = {"environment": Chat(3, error, at=1)}.get(where, Chat(3))
    policy = Batching(error, breaks="Chat/a/1" if where == "policy" else None)
    episodes = run(policy, [Chat(2), broken, Chat(2), Chat(3)])
    assert episodes[1].error == f"{type(error).__name__}: {error}"
    assert episodes[1].score is None
    assert [episodes[i] for i in (0, 2, 3)] == [whole[i] for i in (0, 2, 3)]
    assert policy.alive == set() and broken.closed


def test_an_environment_that_cannot_be_reached_breaks_its_episode_only():
    def environment(task):
        if task.id == "b":
            raise ConnectionRefusedError("port closed")
        return Chat(1)

    policy = Batching()
    episodes = play(
        environment, TASKS, lambda task, name, seed: build_agent(AgentConfig(name="native"), policy, name), label=None
    )
    assert [episode.error for episode in episodes] == [None, None, "ConnectionRefusedError: port closed", None]
    assert policy.alive == set()


def test_a_bug_ends_the_rollout_and_nobody_stays_behind():
    policy, environments = Batching(), [Chat(2), Chat(3, KeyError("bug"), at=1), Chat(2), Chat(3)]
    with pytest.raises(KeyError, match="bug"):
        run(policy, environments)
    assert policy.alive == set()
    assert all(environment.closed for environment in environments)


def test_a_user_error_while_agents_are_built_leaves_nobody_announced():
    policy = Batching()

    def agent(task, episode, seed):
        prompts = "no such folder" if task.id == "c" else "default"
        return build_agent(AgentConfig(name="native", prompts=prompts), policy, episode)

    with pytest.raises(UserError, match="no such folder"):
        play(lambda task: Chat(1), TASKS, agent, label=None)
    assert policy.alive == set() and policy.batches == []


class Counting:
    """Replies after a moment; ``most`` is how many of its calls were in progress at once, ``agents`` whose they were."""

    version = "counting"

    def __init__(self):
        self.running, self.most, self.seeds = 0, 0, set()

    def enter(self, episode):
        pass

    leave = enter

    async def complete(self, request):
        self.running += 1
        self.most = max(self.most, self.running)
        self.seeds.add(request.seed)
        await asyncio.sleep(0)
        self.running -= 1
        return Completion([1], [2], [-0.5], f"{request.episode} {request.slot} {request.seed}", "stop")


@pytest.mark.parametrize("concurrency", [1, 5, 64])
def test_several_plays_share_the_places_and_each_is_as_it_is_alone(concurrency):
    """The same users with other seeds and agents: 3 x 4 episodes at once, where there is room."""

    def plays(policy):
        def agent(task, episode, seed):
            return build_agent(AgentConfig(name="native"), policy, episode, seed)

        return [Play(lambda task: Chat(2 + task.seed), TASKS, agent, seed) for seed in (1, 2, 3)]

    policy = Counting()
    found = play_several(plays(policy), concurrency, label=None)
    assert policy.most == min(concurrency, 12) and policy.seeds == {1, 2, 3}
    for alone, episodes in zip(plays(Counting()), found, strict=True):
        assert play_several([alone], label=None) == [episodes]
        assert [episode.id for episode in episodes] == ["Chat/a/0", "Chat/a/1", "Chat/b/0", "Chat/c/0"]
    assert play_several([], label=None) == []


def test_a_user_who_waits_holds_up_nobody_else():
    """Blocking environments step in threads: all of them are inside a step at the same time."""
    inside = threading.Barrier(len(TASKS))

    class Waiting(Chat):
        blocking = True

        def step(self, action):
            inside.wait(timeout=20)
            return super().step(action)

    episodes = run(Counting(), [Waiting(2) for _ in TASKS])
    assert [episode.error for episode in episodes] == [None] * 4 and not inside.broken
    assert episodes == run(Counting(), [Chat(2) for _ in TASKS])


def test_impossible_rollouts_are_refused():
    with pytest.raises(ValueError, match="Chat/a/0 would be played twice"):
        run(Batching(), [Chat(1)] * 2, tasks=[TASKS[0], TASKS[0]])
    with pytest.raises(ValueError, match="concurrency 0"):
        run(Batching(), [Chat(1)] * 4, concurrency=0)
    assert play(None, [], None, label=None) == []


def test_a_step_that_scores_something_unknown_is_a_bug():
    class Odd(Chat):
        def _info(self):
            return {**super()._info(), "scored": {"kind": "essay"}}

    with pytest.raises(ValueError, match="'essay'"):
        run(Batching(), [Odd(1)] * 4)


def test_off_a_terminal_progress_is_one_line(capsys):
    play(
        lambda task: Chat(2),
        TASKS,
        lambda task, name, seed: build_agent(AgentConfig(name="native"), Batching(), name),
        label="train rollout",
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("train rollout: 4 of 4 episodes, 8 steps in ")
    assert captured.err.count("\n") == 1


def test_on_a_terminal_progress_is_a_bar(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    episodes = play(
        lambda task: Chat(2),
        TASKS,
        lambda task, name, seed: build_agent(AgentConfig(name="native"), Batching(), name),
        label="train rollout",
    )
    assert len(episodes) == 4
    shown = capsys.readouterr().err
    assert "train rollout" in shown and "4/4" in shown and "8 steps" in shown


def broken_episodes(errors, scored):
    def episode(seed, error=None):
        return Episode("Chat", "a", seed, "a", error=error)

    return [*(episode(i, error) for i, error in enumerate(errors)), *(episode(100 + i) for i in range(scored))]


def test_too_many_unscorable_episodes_name_the_most_frequent_cause():
    errors = ["TimeoutError: 60 s", "Unscorable: server gone", "Unscorable: no reply"]
    episodes = broken_episodes(errors, scored=7)
    check_unscorable(episodes, 0.3)
    with pytest.raises(UserError) as caught:
        check_unscorable(episodes, 0.29)
    message = str(caught.value)
    assert "3 of 10 episodes" in message and "30.0%" in message and "29.0%" in message
    assert "2 times: Unscorable: server gone (first in episode Chat/a/1)" in message


def test_no_episode_and_no_error_are_within_any_limit():
    check_unscorable([], 0.0)
    check_unscorable(broken_episodes([], scored=3), 0.0)
    with pytest.raises(UserError, match="100.0%"):
        check_unscorable(broken_episodes(["OSError: full"], scored=0), 0.99)
