"""Several environments in one recipe: each with users of its own, its weight in training and its gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from amemgym_train.config.base import Section
from amemgym_train.config.scenarios import ROLES, RolesConfig, ScenarioConfig, ScenariosConfig
from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario
    from amemgym_train.config.recipe import Recipe
    from amemgym_train.config.tasks import Goal

Name = Annotated[str, Field(pattern=r"^\w[\w-]*$")]  # no dot: it ends where the first dot of a user's id is
Problem = tuple[str, str]


class EnvironmentGate(Section):
    """What an iteration may not do to the validation users of one environment, whatever the others gain: their mean difference
    must be at least ``min_delta`` (None: anything goes), and so must a share ``confidence`` of its bootstrap's means."""

    min_delta: float | None = None
    confidence: float = Field(0.5, ge=0, lt=1)


class EnvironmentConfig(RolesConfig):
    """Users as in ``scenarios``. ``weight``: of its users among those that training plays, against the weights of the other
    environments (None: ``train.num_users``)."""

    weight: float | None = Field(None, gt=0)
    gate: EnvironmentGate = EnvironmentGate()


def sources(recipe: Recipe, role: str) -> dict[str, ScenarioConfig]:
    """Where the users of ``role`` come from, by environment; that of ``scenarios`` is called "" (no recipe has both). Nowhere,
    in a recipe of tasks."""
    if recipe.tasks is not None:
        return {}
    found = recipe.environments or {"": recipe.scenarios}
    return {name: getattr(roles, role) for name, roles in found.items()}


def key(name: str, role: str) -> str:
    """The dotted key of a source."""
    return f"environments.{name}.{role}" if name else f"scenarios.{role}"


def with_sources(recipe: Recipe, role: str, changed: dict[str, ScenarioConfig]) -> Recipe:
    """``recipe`` with other ``sources``."""
    if not recipe.environments:
        return recipe.model_copy(update={"scenarios": recipe.scenarios.model_copy(update={role: changed[""]})})
    made = {name: one.model_copy(update={role: changed[name]}) for name, one in recipe.environments.items()}
    return recipe.model_copy(update={"environments": made})


def users(recipe: Recipe, role: str) -> list[Scenario] | list[Goal]:
    """The users of ``role`` (in a recipe of tasks: those), of one environment after the other; of training the first ones.

    In a recipe of several environments the id of a user begins with that of its environment and a dot. UserError: as
    ``ScenarioConfig.build``.
    """
    if role == "train":
        return training_users(recipe, 0)
    if recipe.tasks is not None:
        return recipe.tasks.goals(role)
    return [user for name, source in sources(recipe, role).items() for user in _named(name, source.build())]


def training_users(recipe: Recipe, number: int) -> list[Scenario] | list[Goal]:
    """The users of the ``number``-th rollout (0, 1, ...) of a run, always the next ones of the generators unless the recipe keeps
    them. Environments take turns, so that any first part of the list has their shares, too.

    UserError: as ``ScenarioConfig.build``, or a file has fewer users than its share.
    """
    number = number if recipe.rollout.new_users_each_iteration else 0
    if recipe.tasks is not None:
        return recipe.tasks.goals("train", number)
    found = sources(recipe, "train")
    if not recipe.environments:
        return found[""].at(number).build()
    size = rollout_size(recipe)
    turns = list(islice(_turns(recipe), size * (number + 1)))
    before, now = Counter(turns[: size * number]), turns[size * number :]
    played = {name: iter(_next_users(name, found[name], before[name], count)) for name, count in Counter(now).items()}
    return [next(played[name]) for name in now]


def rollout_size(recipe: Recipe) -> int:
    """How many users a rollout plays, all environments together. Only of a recipe with ``environments``."""
    return recipe.rollout.users or sum(_size(source) for source in sources(recipe, "train").values())


def shares(recipe: Recipe, rollouts: int) -> Counter[str]:
    """How many training users ``rollouts`` of them play, by environment; only of a recipe with ``environments``."""
    return Counter(islice(_turns(recipe), rollout_size(recipe) * rollouts))


def alike(recipe: Recipe, role: str) -> list[Scenario] | list[Goal]:
    """One user of each generator and all of each file: users of one generator differ in their stories and not in how often an
    agent is called."""
    if recipe.tasks is not None:
        return recipe.tasks.goals(role)[:1]
    found = []
    for name, source in sources(recipe, role).items():
        few = source if source.data is not None else source.model_copy(update={"num_users": 1})
        found += _named(name, few.build())
    return found


def environment_of(recipe: Recipe, user: str) -> str:
    """The environment of a user's id; "" where the recipe has but one."""
    return user.partition(".")[0] if recipe.environments else ""


def problems(recipe: Recipe) -> Iterator[Problem]:
    """Environments beside users of ``scenarios``, or without a size."""
    if not recipe.environments:
        if recipe.rollout.users is not None:
            yield "rollout.users", "is shared out among environments, and there are none; set scenarios.train.num_users"
        return
    unset = ScenariosConfig.model_validate({})
    for role in ROLES:
        if getattr(recipe.scenarios, role) != getattr(unset, role):
            yield f"scenarios.{role}", f"users come from environments; move it to environments.NAME.{role}, or remove it"
    weights = {name: one.weight for name, one in recipe.environments.items()}
    weighed = any(weight is not None for weight in weights.values())
    for name, weight in weights.items():
        if weighed and weight is None:
            yield f"environments.{name}.weight", "other environments have a weight, so this one needs one, too"
        source = recipe.environments[name].train
        if source.data is not None and not source.users and not (weighed and recipe.rollout.users):
            missing = "how many users of a file a rollout plays is not said; set weights and rollout.users, or choose ids"
            yield f"{key(name, 'train')}.users", missing


def _turns(recipe: Recipe) -> Iterator[str]:
    """Whose turn it is, for ever: the environment that is most behind its weight (Webster's method: the largest weight by twice
    its turns plus one), so that the shares of any number of turns are as near to the weights as whole numbers can be."""
    had = dict.fromkeys(recipe.environments, 0)
    weights = {name: one.weight or float(_size(one.train)) for name, one in recipe.environments.items()}
    while True:
        name = max(had, key=lambda name: weights[name] / (2 * had[name] + 1))
        had[name] += 1
        yield name


def _size(source: ScenarioConfig) -> int:
    return source.num_users if source.data is None else len(source.users or ())


def _next_users(name: str, source: ScenarioConfig, before: int, count: int) -> list[Scenario]:
    """``count`` users after the first ``before``; a file begins again where it ends."""
    if source.data is None:
        offset = source.user_offset + before
        return _named(name, source.model_copy(update={"user_offset": offset, "num_users": count}).build())
    known = _named(name, source.build())
    if count > len(known):
        has = f"{source.data} has {len(known)} for training"
        raise UserError(f"{key(name, 'train')}: a rollout plays {count} of its users, {has}; lower its weight or rollout.users")
    return [known[(before + place) % len(known)] for place in range(count)]


def _named(name: str, scenarios: list[Scenario]) -> list[Scenario]:
    return [replace(one, id=f"{name}.{one.id}") for one in scenarios] if name else scenarios
