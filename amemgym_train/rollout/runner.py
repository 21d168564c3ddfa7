"""Playing episodes: the loop of one environment and one agent, and an episode's questions asked again from given memories."""

import asyncio
import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec

from amemgym_train.agents.base import Agent
from amemgym_train.errors import UserError
from amemgym_train.rollout.pool import AgentFactory, Script, Task, run_scripts
from amemgym_train.rollout.progress import Progress
from amemgym_train.rollout.records import Answer, Episode, Probe

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario
    from amemgym_envs.core import TextEnv

P = ParamSpec("P")
EnvironmentFactory = Callable[[Task], "TextEnv"]
Act = Callable[[str, dict[str, Any]], Awaitable[str]]  # observation, info -> action


@dataclass(frozen=True)
class Inquiry:
    """One episode's questions to ask again; ``states[p]`` is the agent state (from ``Agent.save``) for those of period p."""

    task: Task
    scenario: "Scenario"
    states: Sequence[dict[str, Any]]


async def play_all(
    environment_factory: EnvironmentFactory,
    tasks: Sequence[Task],
    agent_factory: AgentFactory,
    seed: int = 0,
    concurrency: int = 64,
    label: str | None = "play",
) -> list[Episode]:
    """Play every task once, at most ``concurrency`` at a time; the episodes come back in the order of ``tasks``.

    ``seed`` resets every environment, so that a group meets the same user, and goes to every agent; ``Task.seed``, a part of the
    episode's id, tells the draws of a group's episodes apart. ``label`` heads the progress display, None shows none.
    """
    jobs = [(task, _playing(environment_factory, task, seed)) for task in tasks]
    return await run_scripts(jobs, agent_factory, seed, concurrency, label)


async def ask_all_again(
    inquiries: Sequence[Inquiry],
    agent_factory: AgentFactory,
    seed: int = 0,
    concurrency: int = 64,
    label: str | None = "ask again",
) -> list[Episode]:
    """Episodes with answers only: each inquiry's questions, asked of an agent that is given its memories.

    With an episode's own states, task and ``seed`` the answers are that episode's own; with another user's states (a scrambled
    memory) or with ``{}`` for each period (an empty one) they show what the memory is worth.

    ValueError: an inquiry has not one state per period, or its scenario is not its task's.
    """
    jobs = [(inquiry.task, _asking(inquiry, seed)) for inquiry in inquiries]
    return await run_scripts(jobs, agent_factory, seed, concurrency, label)


def _blocking(function: Callable[P, Coroutine[Any, Any, list[Episode]]]) -> Callable[P, list[Episode]]:
    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> list[Episode]:
        return asyncio.run(function(*args, **kwargs))

    return run


play = _blocking(play_all)
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


def _playing(environment_factory: EnvironmentFactory, task: Task, seed: int) -> Script:
    async def script(agent: Agent, episode: Episode, shown: Progress) -> None:
        async def act(observation: str, info: dict[str, Any]) -> str:
            action = await agent.act(observation, info)
            if info.get("period_end"):
                episode.states.append(agent.save())
            return action

        await _drive(environment_factory(task), act, agent, episode, seed, shown)

    return script


def _asking(inquiry: Inquiry, seed: int) -> Script:
    scenario, states = inquiry.scenario, inquiry.states
    if len(states) != len(scenario.periods) or inquiry.task.id != scenario.id:
        raise ValueError(
            f"asking task {inquiry.task.id} again: {len(states)} agent states for scenario {scenario.id} with "
            f"{len(scenario.periods)} periods; expected one state per period of the task's own scenario"
        )

    async def script(agent: Agent, episode: Episode, shown: Progress) -> None:
        from amemgym_envs.amemgym.environment import AMemGymEnv

        async def act(observation: str, info: dict[str, Any]) -> str:
            if info["kind"] != "question":
                return ""  # sessions are passed over: what they would have left behind is in the state
            agent.load(states[info["period"]])
            return await agent.act(observation, info)

        await _drive(AMemGymEnv([scenario], probes=False), act, agent, episode, seed, shown)

    return script


async def _drive(environment: "TextEnv", act: Act, agent: Agent, episode: Episode, seed: int, shown: Progress) -> None:
    """Step through one task with the actions of ``act``, and keep what the environment says about them."""
    try:
        observation, info = environment.reset(seed=seed, options={"task": episode.task})
        over = False
        while not over:
            action = await act(observation, info)
            observation, reward, terminated, truncated, info = environment.step(action)
            episode.rewards.append(float(reward))
            if info.get("scored"):
                _record(episode, info["scored"], agent.acted)
            shown.step()
            over = terminated or truncated
        episode.score, episode.success = info.get("score"), info.get("success")
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
