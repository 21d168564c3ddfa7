"""Tasks of environments with a goal: the figures of their episodes, and playing them with a policy that needs no model."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from amemgym_train.agents import build_agent
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.tasks import Goal
from amemgym_train.policy.base import Sampling
from amemgym_train.policy.guide import GuidePolicy
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.records import Episode
from amemgym_train.rollout.runner import play

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from amemgym_envs.core import TextEnv


@dataclass
class GoalReport:
    """Means over the scorable ``episodes``: the environment's ``score``, the share of ``success``, the ``steps`` made.

    ``unparsed``: share of replies without an action in the layout asked for; ``cut``: share of replies that were too long.
    """

    score: float
    success: float
    steps: float
    unparsed: float
    cut: float
    episodes: int
    unscorable: int

    def to_dict(self) -> dict[str, Any]:
        """JSON values; ``GoalReport(**value)`` is the inverse."""
        return asdict(self)


def goal_report(episodes: Iterable[Episode]) -> GoalReport:
    """Raises ValueError if none of ``episodes`` is scorable."""
    episodes = list(episodes)
    scored = [episode for episode in episodes if episode.error is None]
    if not scored:
        first = f"; the first one: {episodes[0].id}: {episodes[0].error}" if episodes else ""
        raise ValueError(f"none of {len(episodes)} episodes is scorable{first}")
    turns = [turn for episode in scored for turn in episode.turns]
    return GoalReport(
        score=sum(episode.score for episode in scored) / len(scored),
        success=sum(bool(episode.success) for episode in scored) / len(scored),
        steps=sum(len(episode.rewards) for episode in scored) / len(scored),
        unparsed=sum(turn.meta.get("parsed") == "failed" for turn in turns) / len(turns),
        cut=sum(turn.finish_reason == "length" for turn in turns) / len(turns),
        episodes=len(scored),
        unscorable=len(episodes) - len(scored),
    )


class Environments:
    """Makes the environment of each task, and knows it again for as long as somebody plays it."""

    def __init__(self, recipe: Recipe) -> None:
        self.config = recipe.tasks
        self.made: WeakValueDictionary[Task, TextEnv] = WeakValueDictionary()
        self.numbers = count()

    def __call__(self, task: Task) -> "TextEnv":
        self.made[task] = environment = self.config.build(next(self.numbers))
        return environment


def play_guided(
    recipe: Recipe,
    name: str,
    goals: Sequence[Goal],
    times: int = 1,
    tokenizer: "PreTrainedTokenizerBase | None" = None,
) -> list[Episode]:
    """The recipe's agent on each goal, ``times`` over; its policy knows the solution (``oracle``) or draws (``random``)."""
    environments = Environments(recipe)

    def agent(task: Task, episode: str, seed: int):
        policy = GuidePolicy(lambda: environments.made[task], name, recipe.agent.style, recipe.seed, tokenizer)
        return build_agent(recipe.agent, policy, episode, seed, Sampling(temperature=0.0))

    tasks = [task_of(recipe, goal.id, number) for goal in goals for number in range(times)]
    return play(environments, tasks, agent, recipe.seed, recipe.rollout.concurrency, label=None)


def task_of(recipe: Recipe, id: str, number: int) -> Task:
    """The ``number``-th episode of a group that plays the user or the task ``id``."""
    if recipe.tasks is None:
        return Task(id, id, number)
    from amemgym_envs.registry import full_name

    return Task(id, id, number, full_name(recipe.tasks.environment))
