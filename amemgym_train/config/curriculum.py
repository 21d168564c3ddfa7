"""A horizon that grows: how long the episodes of training are, iteration by iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from amemgym_train.config.base import Section
from amemgym_train.config.environments import key, sources, with_sources

if TYPE_CHECKING:
    from amemgym_train.config.recipe import Recipe

Rounds = Annotated[int, Field(ge=1)]
SCHEDULED = ("num_periods", "rounds_init", "rounds_update", "max_steps")


class CurriculumConfig(Section):
    """``num_periods``, ``rounds_init``, ``rounds_update``, and of tasks ``max_steps``: values that replace those of training
    users, one after the other, each for ``every`` iterations and the last one from then on. Validation and test users stay as
    they are.
    """

    every: int = Field(1, ge=1)
    num_periods: list[Annotated[int, Field(ge=0)]] = []
    rounds_init: list[Rounds] = []
    rounds_update: list[Rounds] = []
    max_steps: list[Annotated[int, Field(ge=1)]] = []

    @property
    def schedules(self) -> dict[str, list[int]]:
        """Of the keys that have one."""
        found = {key: getattr(self, key) for key in SCHEDULED}
        return {key: values for key, values in found.items() if values}

    def at(self, iteration: int) -> dict[str, int]:
        """The values of ``iteration`` (1, 2, ...): a function of its number alone, so that a resumed run has the same."""
        stage = (iteration - 1) // self.every
        return {key: values[min(stage, len(values) - 1)] for key, values in self.schedules.items()}


def scheduled(recipe: Recipe, iteration: int) -> Recipe:
    """``recipe`` with the training users of ``iteration``."""
    now = recipe.evolution.curriculum.at(iteration)
    if not now:
        return recipe
    if recipe.tasks is not None:
        return recipe.model_copy(update={"tasks": recipe.tasks.model_copy(update=now)})
    changed = {name: source.model_copy(update=now) for name, source in sources(recipe, "train").items()}
    return with_sources(recipe, "train", changed)


def longest(recipe: Recipe) -> Recipe:
    """``recipe`` with the training users of that of its iterations in which an episode has the most exchanges."""
    curriculum = recipe.evolution.curriculum
    stages = max((len(values) for values in curriculum.schedules.values()), default=1)
    reached = range(1, min(recipe.evolution.iterations, (stages - 1) * curriculum.every + 1) + 1, curriculum.every)
    return max((scheduled(recipe, iteration) for iteration in reached), key=lambda one: _exchanges(one, curriculum))


def problems(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """What makes a schedule one that cannot be played."""
    from amemgym_envs.amemgym.scenario import ScenarioError

    for name in recipe.evolution.curriculum.schedules:
        if (name == "max_steps") != (recipe.tasks is not None):
            meant = "episodes of users" if recipe.tasks is not None else "tasks"
            yield f"evolution.curriculum.{name}", f"is a schedule of {meant}, which the recipe does not play; remove it"
            return
    periods, found = recipe.evolution.curriculum.num_periods, sources(recipe, "train")
    read = next((source.data for source in found.values() if source.data is not None), None)
    if periods and read is not None:
        problem = f"the users come from {read} and have the periods they have; remove it, or have them generated"
        yield "evolution.curriculum.num_periods", problem
        return
    for value in dict.fromkeys(periods):
        for name, train in found.items():
            try:
                train.model_copy(update={"num_periods": value}).generator()
            except ScenarioError as error:
                where = f" in {key(name, 'train')}" if name else ""
                yield "evolution.curriculum.num_periods", f"{value}{where}: {error}"


def _exchanges(recipe: Recipe, curriculum: CurriculumConfig) -> int:
    """A number that grows with each key of a schedule."""
    if recipe.tasks is not None:
        return recipe.tasks.max_steps or 0
    return sum(
        (train.rounds_init or 1) + (train.rounds_update or 1) * (train.num_periods if curriculum.num_periods else 1)
        for train in sources(recipe, "train").values()
    )
