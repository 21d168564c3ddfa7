"""Playing episodes: the loop of one environment and one agent, and an episode's questions asked again from given memories."""

import asyncio
import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from amemgym_train.agents.base import Agent, Asked
from amemgym_train.errors import UserError
from amemgym_train.rollout.pieces import Pieces, lengths
from amemgym_train.rollout.pool import AgentFactory, Job, Script, Task, check_different, run_scripts
from amemgym_train.rollout.progress import Progress
from amemgym_train.rollout.records import Answer, Episode, Probe

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario
    from amemgym_envs.core import TextEnv

ASKED = ("question", "probe")  # steps that change nothing in a memory
P = ParamSpec("P")
Result = TypeVar("Result")
EnvironmentFactory = Callable[[Task], "TextEnv"]
PiecesOf = Callable[[Task], Pieces]
Replies = list[tuple[str, int | None]]  # actions, each with the turn that made it
Act = Callable[[list[Asked]], Awaitable[Replies]]
Take = Callable[["TextEnv", Callable[..., Any]], Awaitable[Any]]


@dataclass(frozen=True)
class Inquiry:
    """One episode's questions to ask again; ``states[p]`` is the agent state (from ``Agent.save``) for those of period p."""

    task: Task
    scenario: "Scenario"
    states: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Play:
    """Tasks that one kind of agent plays, each once.

    ``seed`` resets every environment, so that a group meets the same user, and goes to every agent; ``Task.seed``, a part of the
    episode's id, tells the draws of a group's episodes apart. ``together``: a period's questions and probes, none of which
    changes the memory, are asked at once. ``pieces``: where each period is kept as soon as it is over, and taken from when it is
    there already.
    """

    environment_factory: EnvironmentFactory
    tasks: Sequence[Task]
    agent_factory: AgentFactory
    seed: int = 0
    together: bool = False
    pieces: PiecesOf | None = None


@dataclass(frozen=True)
class Manner:
    """How environments are stepped through. ``seed`` resets each; ``take`` makes a call of one; ``together``: see ``Play``."""

    seed: int
    take: Take
    together: bool


async def play_all(
    environment_factory: EnvironmentFactory,
    tasks: Sequence[Task],
    agent_factory: AgentFactory,
    seed: int = 0,
    concurrency: int = 64,
    label: str | None = "play",
    together: bool = False,
    pieces: PiecesOf | None = None,
) -> list[Episode]:
    """Play every task once (see ``Play``), at most ``concurrency`` at a time; the episodes come back in the order of ``tasks``.

    ``label`` heads the progress display, None shows none.
    """
    plays = [Play(environment_factory, tasks, agent_factory, seed, together, pieces)]
    [episodes] = await play_side_by_side(plays, concurrency, label)
    return episodes


async def play_side_by_side(
    plays: Sequence[Play], concurrency: int = 64, label: str | None = "play"
) -> list[list[Episode]]:
    """The episodes of each of ``plays``, at most ``concurrency`` of all of them at a time.

    A policy that batches knows episodes by their ids: with such a one, plays of the same users go one after another.
    """
    with _taking(concurrency) as take:
        jobs = []
        for play in plays:
            check_different(play.tasks)
            manner = Manner(play.seed, take, play.together)
            scripts = [_playing(play.environment_factory, task, manner, play.pieces) for task in play.tasks]
            jobs += [Job(task, script, play.agent_factory, play.seed) for task, script in zip(play.tasks, scripts, strict=True)]
        episodes = iter(await run_scripts(jobs, concurrency, label))
        return [list(islice(episodes, len(play.tasks))) for play in plays]


async def ask_all_again(
    inquiries: Sequence[Inquiry],
    agent_factory: AgentFactory,
    seed: int = 0,
    concurrency: int = 64,
    label: str | None = "ask again",
    together: bool = False,
) -> list[Episode]:
    """Episodes with answers only: each inquiry's questions, asked of an agent that is given its memories.

    With an episode's own states, task and ``seed`` the answers are that episode's own; with another user's states (a scrambled
    memory) or with ``{}`` for each period (an empty one) they show what the memory is worth.

    ValueError: an inquiry has not one state per period, or its scenario is not its task's.
    """
    check_different([inquiry.task for inquiry in inquiries])
    with _taking(concurrency) as take:
        manner = Manner(seed, take, together)
        jobs = [Job(inquiry.task, _asking(inquiry, manner), agent_factory, seed) for inquiry in inquiries]
        return await run_scripts(jobs, concurrency, label)


def _blocking(function: Callable[P, Coroutine[Any, Any, Result]]) -> Callable[P, Result]:
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> Result:
        return asyncio.run(function(*args, **kwargs))

    return run


play = _blocking(play_all)
play_several = _blocking(play_side_by_side)
ask_again = _blocking(ask_all_again)


def check_unscorable(episodes: Sequence[Episode], limit: float) -> None:
    """UserError when a share above ``limit`` (0 to 1) of the episodes is unscorable; it names the most frequent kind of error."""
    broken = [episode for episode in episodes if episode.error is not None]
    share = len(broken) / max(len(episodes), 1)
    if share <= limit:
        return
    kinds = [str(episode.error).partition(":")[0] for episode in broken]
    kind, count = Counter(kinds).most_common(1)[0]
    example = broken[kinds.index(kind)]
    raise UserError(
        f"{len(broken)} of {len(episodes)} episodes could not be played to their end ({share:.1%}, "
        f"rollout.max_unscorable allows {limit:.1%}). Most frequent cause, {count} times: {example.error} (first in episode "
        f"{example.id}). Mend it and run the same command again"
    )


@contextmanager
def _taking(threads: int) -> Iterator[Take]:
    """Makes resets and steps; where the environment may wait for a network, in one of so many threads."""
    with ThreadPoolExecutor(max(threads, 1), "environment") as pool:  # starts a thread when it needs one

        async def take(environment: "TextEnv", made: Callable[[], Any]) -> Any:
            if not environment.blocking:
                return made()
            return await asyncio.get_running_loop().run_in_executor(pool, made)

        yield take


def _playing(environment_factory: EnvironmentFactory, task: Task, manner: Manner, pieces: PiecesOf | None) -> Script:
    async def script(agent: Agent, episode: Episode, shown: Progress) -> None:
        kept, options = pieces(task) if pieces else None, {}
        if kept and (period := kept.resume(episode)):
            if episode.success is not None:
                return
            agent.load(episode.states[-1])
            await _reflect(agent, episode, period - 1)
            options = {"period": period, "right": [answer.correct for answer in episode.answers]}
        since = lengths(episode)

        async def over(period: int) -> None:
            nonlocal since
            episode.states.append(agent.save())
            if kept:
                kept.keep(episode, since, period)
                since = lengths(episode)
            await _reflect(agent, episode, period)

        async def act(asked: list[Asked]) -> Replies:
            return await _replies(agent, asked)

        await _drive(environment_factory(task), manner, act, over, episode, shown, options)

    return script


def _asking(inquiry: Inquiry, manner: Manner) -> Script:
    scenario, states = inquiry.scenario, inquiry.states
    if len(states) != len(scenario.periods) or inquiry.task.id != scenario.id:
        raise ValueError(
            f"asking task {inquiry.task.id} again: {len(states)} agent states for scenario {scenario.id} with "
            f"{len(scenario.periods)} periods; expected one state per period of the task's own scenario"
        )

    async def script(agent: Agent, episode: Episode, shown: Progress) -> None:
        from amemgym_envs.amemgym.environment import AMemGymEnv

        async def act(asked: list[Asked]) -> Replies:
            if asked[0][1]["kind"] != "question":
                return [("", None)]  # sessions are passed over: what they would have left behind is in the state
            agent.load(states[asked[0][1]["period"]])
            return await _replies(agent, asked)

        await _drive(AMemGymEnv([scenario], probes=False), manner, act, _nothing, episode, shown, {})

    return script


async def _reflect(agent: Agent, episode: Episode, period: int) -> None:
    """What an agent changes about itself after a period. Its state is saved before: the next one begins with this."""
    if agent.after_period is not None:
        await agent.after_period(agent, episode, period)


async def _nothing(period: int) -> None:
    """What there is to do after a period of questions that are asked again."""


async def _replies(agent: Agent, asked: list[Asked]) -> Replies:
    if len(asked) > 1:
        return await agent.act_together(asked)
    return [(await agent.act(*asked[0]), agent.acted)]


async def _drive(
    environment: "TextEnv",
    manner: Manner,
    act: Act,
    over: Callable[[int], Awaitable[None]],
    episode: Episode,
    shown: Progress,
    options: dict[str, Any],
) -> None:
    """Step through one task with the actions of ``act``, keep what the environment says about them, and call ``over`` after each
    period."""
    try:
        begin = functools.partial(environment.reset, seed=manner.seed, options={"task": episode.task} | options)
        observation, info = await manner.take(environment, begin)
        ended = False
        while not ended:
            asked = environment.inquiries() if manner.together and info["kind"] in ASKED else [(observation, info)]
            last = asked[-1][1]
            for action, turn in await act(asked):
                step = functools.partial(environment.step, action)
                observation, reward, terminated, truncated, info = await manner.take(environment, step)
                episode.rewards.append(float(reward))
                if info.get("scored"):
                    _record(episode, info["scored"], turn)
                shown.step()
                ended = terminated or truncated
            if ended:
                episode.score, episode.success = info.get("score"), info.get("success")
            if last.get("period_end") or (ended and last["kind"] == "act"):
                await over(last.get("period", 0))
    finally:
        environment.close()


def _record(episode: Episode, scored: dict[str, Any], turn: int | None) -> None:
    """Keep what the environment says about the last action, made by ``turn``."""
    values = {key: value for key, value in scored.items() if key != "kind"}
    if scored["kind"] == "answer":
        episode.answers.append(Answer(**values, turn=turn))
    elif scored["kind"] == "probe":
        episode.probes.append(Probe(**values, turn=turn))
    else:
        raise ValueError(f"episode {episode.id}: scored a {scored['kind']!r}; expected answer or probe")
