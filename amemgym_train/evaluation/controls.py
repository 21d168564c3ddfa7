"""Controls beside a score: agents that cannot remember, or that remember everything, on the same users."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from amemgym_train.agents import build_agent
from amemgym_train.agents.base import Agent
from amemgym_train.config.environments import environment_of, sources
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evaluation.goals import Environments, play_guided
from amemgym_train.evaluation.users import user_factory
from amemgym_train.policy.base import Policy, Sampling
from amemgym_train.policy.oracle import OraclePolicy, RandomPolicy
from amemgym_train.reflection.period import PeriodReflection
from amemgym_train.rollout.pool import AgentFactory, Task
from amemgym_train.rollout.records import Episode
from amemgym_train.rollout.runner import Inquiry, ask_again, play

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario
    from amemgym_envs.amemgym.simulator import User

GREEDY = Sampling(temperature=0.0)
RANDOM_EPISODES = 8  # per user: guesses cost nothing, and a control should not be a matter of luck


def environment(
    recipe: Recipe,
    role: str,
    scenarios: "Sequence[Scenario]",
    *,
    scripted: bool = False,
    user: "Callable[[Scenario, int], User] | None" = None,
):
    """A factory of the environment in which the recipe plays ``scenarios`` of ``role``.

    ``scripted``: with no model as user. ``user``: (scenario, seed) -> who talks in place of the recipe's user.
    """
    from amemgym_envs.amemgym.environment import AMemGymEnv

    if recipe.tasks is not None:
        return Environments(recipe)
    found = sources(recipe, role)
    by_id = {scenario.id: scenario for scenario in scenarios}
    talking = user or user_factory(None if scripted else recipe.scenarios.user)

    def made(task: Task) -> AMemGymEnv:
        config = found[environment_of(recipe, task.id)]
        rounds = {"rounds_init": config.rounds_init, "rounds_update": config.rounds_update}
        return AMemGymEnv([by_id[task.id]], **rounds, user=talking)

    return made


def agents(recipe: Recipe, policy: Policy, sampling: Sampling, scenarios: "Sequence[Scenario]" = ()) -> AgentFactory:
    """The recipe's agents, all answering with ``policy``. ``scenarios``: those that they play, which agents that rewrite their
    prompts after each period are told of."""
    rewrites, by_id = recipe.reflection.prompts.cadence == "period", {scenario.id: scenario for scenario in scenarios}

    def agent(task: Task, episode: str, seed: int) -> Agent:
        made = build_agent(recipe.agent, policy, episode, seed, sampling)
        if rewrites and task.id in by_id:
            made.after_period = PeriodReflection(recipe, policy, by_id[task.id])
        return made

    return agent


def play_scripted(recipe: Recipe, name: str, role: str, scenarios: "Sequence[Scenario]") -> list[Episode]:
    """The recipe's agent with a policy that needs no model: ``oracle`` knows every state, ``random`` none."""
    if recipe.tasks is not None:
        return play_guided(recipe, name, scenarios, RANDOM_EPISODES if name == "random" else 1)
    by_id = {scenario.id: scenario for scenario in scenarios}

    def agent(task: Task, episode: str, seed: int):
        policy = OraclePolicy(by_id[task.id]) if name == "oracle" else RandomPolicy(recipe.seed)
        return build_agent(recipe.agent, policy, episode, seed, GREEDY)

    times = RANDOM_EPISODES if name == "random" else 1
    tasks = [Task(scenario.id, scenario.id, number) for scenario in scenarios for number in range(times)]
    factory = environment(recipe, role, scenarios, scripted=True)  # what a model would say changes nothing here, and costs
    return play(factory, tasks, agent, recipe.seed, recipe.rollout.concurrency, label=None)


def ask_with_memory(
    recipe: Recipe,
    name: str,
    policy: Policy,
    scenarios: "Sequence[Scenario]",
    episodes: Sequence[Episode],
    sampling: Sampling = GREEDY,
    together: bool = False,
) -> list[Episode]:
    """The questions of ``scenarios`` asked again of an agent with the wrong memory; ``together``: those of a period at once.

    ``empty``: none at all. ``scrambled``: that of the next user of ``episodes`` (in a circle) at the end of the same period.
    ``instruction``: none, of an agent that shows nothing but its history, so that only the instruction and the question are left.
    """
    if name == "instruction":
        recipe = recipe.model_copy(update={"agent": recipe.agent.model_copy(update={"name": "native"})})
    states = {episode.task: episode.states for episode in episodes if episode.error is None}
    users = [scenario for scenario in scenarios if scenario.id in states or name == "instruction"]
    if name == "scrambled" and len(users) < 2:  # the next in the circle would be the user itself
        raise UserError(f"scrambled control: {len(users)} of {len(scenarios)} users could be played; it needs two. Run again")
    inquiries = []
    for place, scenario in enumerate(users):
        given: list[dict[str, Any]] = [{}] * len(scenario.periods)
        if name == "scrambled":
            other = states[users[(place + 1) % len(users)].id]
            given = [other[min(p, len(other) - 1)] for p in range(len(scenario.periods))]
        inquiries.append(Inquiry(Task(scenario.id, scenario.id, 0), scenario, given))
    factory = agents(recipe, policy, sampling)
    label = f"{name} memory"
    return ask_again(inquiries, factory, recipe.seed, recipe.rollout.concurrency, label, together)
