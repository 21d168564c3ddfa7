"""One episode of the recipe's agent from end to end, with its diagnosis."""

from typing import TYPE_CHECKING

from amemgym_train.config.environments import alike
from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.finding import Finding, green, red
from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario
    from amemgym_train.rollout.records import Episode

SMALL, SHORT = 5_000_000, 20_000  # parameters, and tokens read, up to which the model itself plays: seconds on a CPU


def episode(recipe: Recipe) -> list[Finding]:
    """The first training user, by a policy that knows all: every answer must be diagnosed as correct."""
    from amemgym_train.diagnosis.operations import diagnose
    from amemgym_train.evaluation.controls import play_scripted

    [played] = play_scripted(recipe, "oracle", "train", alike(recipe, "train")[:1])
    what = f"{recipe.agent.name} agent, {len(played.turns)} calls, {len(played.answers)} answers"
    if played.error:
        return [red("episode", f"{what}: {played.error}", "agent.prompts=default, or agent.name=awi")]
    found = diagnose(played)
    wrong = len(found.cells) - found.counts["correct"]
    if wrong:
        missed = f"{wrong} of {len(found.cells)} are not diagnosed as correct though the scripted policy knows them all"
        return [red("episode", f"{what}: {missed}", "agent.prompts=default, or amemgym-train validate DATA of training users")]
    return [green("episode", f"{what}, by a scripted policy that knows all: all diagnosed as correct")]


def of_model(recipe: Recipe) -> list[Finding]:
    """The same user by the recipe's own model, where that is a matter of seconds; what it gets right is for a run to say."""
    from amemgym_train.diagnosis.operations import diagnose

    name, scenarios = "model's episode", alike(recipe, "train")[:1]
    if not _is_small(recipe, scenarios):
        return [green(name, "not played: models and episodes of this size take longer than a look")]
    try:
        played = _played_by_model(recipe, scenarios)
    except UserError as error:
        return [red(name, str(error), "policy.model=NAME of a model that can be loaded")]
    if played.error:
        return [red(name, played.error, "policy.model=NAME of a model with a longer window")]
    counts = ", ".join(f"{count} {outcome}" for outcome, count in diagnose(played).counts.items())
    return [green(name, f"{len(played.turns)} calls, {len(played.answers)} answers: {counts}")]


def _is_small(recipe: Recipe, scenarios: "list[Scenario]") -> bool:
    """Whether the model plays in this process, is there and takes seconds."""
    if recipe.policy.remote:
        return False
    from amemgym_train.evolution.forecast import episode_size
    from amemgym_train.evolution.sizes import model_sizes

    parameters = model_sizes(recipe).get("parameters")
    return parameters is not None and parameters <= SMALL and episode_size(recipe, "train", scenarios[0]).read <= SHORT


def _played_by_model(recipe: Recipe, scenarios: "list[Scenario]") -> "Episode":
    from amemgym_train.evaluation.controls import agents, environment
    from amemgym_train.evolution.policies import answering
    from amemgym_train.policy.base import Sampling
    from amemgym_train.rollout.pool import Task
    from amemgym_train.rollout.runner import play

    with answering(recipe, recipe.policy.adapter) as policy:
        factory = agents(recipe, policy, Sampling(**recipe.sampling.model_dump()), scenarios)
        users = environment(recipe, "train", scenarios, scripted=True)
        [played] = play(users, [Task(scenarios[0].id, scenarios[0].id, 0)], factory, recipe.seed, label=None)
    return played
