"""Running the scripts of many episodes at once.

An episode that infrastructure breaks (Unscorable, or an OSError such as a lost connection or a timeout) is kept with its error
and disturbs no other; any other exception is a bug or a user's mistake and ends the rollout.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from amemgym_train.agents.base import Agent
from amemgym_train.errors import Unscorable
from amemgym_train.rollout.progress import Progress, progress
from amemgym_train.rollout.records import Episode


@dataclass(frozen=True)
class Task:
    """One episode to play: the environment's task ``id``, the ``group`` it is compared in, and the ``seed`` of its own draws."""

    id: str
    group: str
    seed: int
    environment: str = "AMemGym-v0"


Script = Callable[[Agent, Episode, Progress], Awaitable[None]]  # plays one episode and fills in its record
AgentFactory = Callable[[Task, str, int], Agent]  # called with the task, the episode's id and the rollout's seed


@dataclass(frozen=True)
class Job:
    """One episode: its task, what is done in it, and whose agent does it with which seed."""

    task: Task
    script: Script
    agent_factory: AgentFactory
    seed: int


async def run_scripts(jobs: Sequence[Job], concurrency: int, label: str | None) -> list[Episode]:
    """Run every script, at most ``concurrency`` at a time; the episodes come back in the order of ``jobs``.

    ValueError: ``concurrency`` is below 1.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency {concurrency}; expected at least 1")
    pool = _Pool(jobs)
    workers: list[asyncio.Task[None]] = []
    with progress(label, len(jobs)) as shown:
        try:
            # all of the first episodes are announced before one of them runs, else a batching policy would not wait for them
            first = [pool.enter_next() for _ in range(min(concurrency, len(jobs)))]
            workers = [asyncio.create_task(pool.work(place, shown)) for place in first]
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            pool.leave_all()
    return pool.episodes


def episode_of(task: Task) -> Episode:
    """The record of the task's episode, of which nothing is played yet."""
    return Episode(task.environment, task.id, task.seed, task.group)


def check_different(tasks: Sequence[Task]) -> None:
    """ValueError when two of ``tasks`` would be the same episode."""
    ids = [episode_of(task).id for task in tasks]
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise ValueError(f"episode {twice} would be played twice; give each task of a group its own seed")


class _Pool:
    """The episodes of a rollout; ``alive`` are those announced to their policy and not yet finished, by place."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
        self.episodes = [episode_of(job.task) for job in jobs]
        self.alive: dict[int, Agent] = {}
        self.places = iter(range(len(jobs)))

    def enter_next(self) -> int | None:
        """Build the next agent and announce its episode; returns its place, or None when all have had their turn."""
        place = next(self.places, None)
        if place is not None:
            episode, job = self.episodes[place], self.jobs[place]
            agent = job.agent_factory(job.task, episode.id, job.seed)
            episode.turns, episode.memories = agent.turns, agent.memories
            agent.policy.enter(episode.id)
            self.alive[place] = agent
        return place

    def leave(self, place: int) -> None:
        self.alive.pop(place).policy.leave(self.episodes[place].id)

    def leave_all(self) -> None:
        for place in list(self.alive):
            self.leave(place)

    async def work(self, place: int | None, shown: Progress) -> None:
        """Run one episode after the other until none is left."""
        while place is not None:
            await self._run(place, shown)
            following = self.enter_next()  # before leaving, so that the number of live episodes does not dip
            self.leave(place)
            place = following

    async def _run(self, place: int, shown: Progress) -> None:
        episode = self.episodes[place]
        try:
            await self.jobs[place].script(self.alive[place], episode, shown)
        except (Unscorable, OSError) as error:
            episode.error = f"{type(error).__name__}: {error}"
        shown.finish()
