"""Environments with a goal, in place of AMemGym's users: which one is played, and which of its tasks in which role."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from amemgym_train.config.base import Section
from amemgym_train.config.task_server import TaskServerConfig
from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from amemgym_envs.core import TextEnv
    from amemgym_train.config.recipe import Recipe

Problem = tuple[str, str]
ROLES = ("train", "validation", "test")
DEFAULTS: dict[str, dict[str, Any]] = {  # of other sections, where a recipe has tasks
    "agent": {"name": "react"},
    "credit": {"scheme": "outcome", "operations": ["act"]},
    "training": {"operations": ["act"]},
}
CONTROLS = ("random", "oracle")


@dataclass(frozen=True)
class Goal:
    """A task to play. It stands where a user of AMemGym stands elsewhere."""

    id: str


class TaskSource(Section):
    """``ids``, or ``num_tasks`` of ``split`` after the first ``offset``, in an order that ``tasks.seed`` draws."""

    split: str
    ids: list[str] | None = Field(None, min_length=1)
    num_tasks: int = Field(16, ge=1)
    offset: int = Field(0, ge=0)

    @property
    def size(self) -> int:
        return self.num_tasks if self.ids is None else len(self.ids)


class TasksConfig(Section):
    """``environment``: a name that ``amemgym-train envs`` lists; ``options``: of its class, by their names.

    ``max_steps``: actions of an episode at most (None: as the environment says). ``server``: it runs there, with the options that
    it was started with. Each role has the split of its name, unless
    said otherwise. An iteration, or an on-policy step, plays the next ``train.num_tasks`` of the training split, and begins again
    where it ends.
    """

    environment: str
    options: dict[str, Any] = {}
    max_steps: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0)
    server: TaskServerConfig | None = None
    train: TaskSource
    validation: TaskSource
    test: TaskSource

    @model_validator(mode="before")
    @classmethod
    def _splits_of_roles(cls, section: Any) -> Any:
        if not isinstance(section, dict):
            return section
        given = {role: section.get(role, {}) for role in ROLES}
        return section | {role: {"split": role} | one if isinstance(one, dict) else one for role, one in given.items()}

    def build(self, number: int = 0) -> TextEnv:
        """The environment, for the ``number``-th episode. UserError: there is no such one, it lacks a package, its options are
        wrong."""
        if self.server is not None:
            try:
                return self.server.client(self.environment, number, self.max_steps)
            except ValueError as error:
                raise UserError(f"tasks.environment: {error}") from error
        from amemgym_envs import registry

        try:
            card = registry.class_of(self.environment).card
        except ValueError as error:
            raise UserError(f"tasks.environment: {error}. They are listed by: amemgym-train envs") from error
        if missing := registry.lacking(card):
            mend = f"pip install 'amemgym-train[{card.extra}]'" if card.extra else f"pip install {' '.join(missing)}"
            raise UserError(f"tasks.environment: {self.environment} needs {', '.join(missing)}, not installed: {mend}")
        steps = {} if self.max_steps is None else {"max_steps": self.max_steps}
        try:
            return registry.make(self.environment, **steps, **self.options)
        except (ValueError, TypeError, OSError) as error:
            raise UserError(f"tasks.options: {self.environment} refuses them ({error}); mend them in the recipe") from error

    def longest(self) -> int:
        """The actions of an episode at most. UserError: neither the recipe nor the environment bounds them."""
        environment = self.build()
        most = self.max_steps or self._asked(lambda: environment.card.step_cap)
        if most is None:
            raise UserError(f"tasks.max_steps: {self.environment} does not bound an episode, so the recipe has to; set it")
        return most

    def goals(self, role: str, number: int = 0) -> list[Goal]:
        """The tasks of ``role``; of training those of the ``number``-th rollout. UserError: there are not as many."""
        source: TaskSource = getattr(self, role)
        known = self._splits()
        if source.ids is not None:
            everything = {task for tasks in known.values() for task in tasks}
            if absent := [task for task in source.ids if task not in everything]:
                raise UserError(f"tasks.{role}.ids: {self.environment} has no task {', '.join(absent)}")
            return [Goal(task) for task in source.ids]
        if source.split not in known:
            mend = "name tasks by ids" if list(known) == ["all"] else f"it has {', '.join(known)}"
            raise UserError(f"tasks.{role}.split: {self.environment} has no split {source.split}; {mend}")
        tasks = list(known[source.split])
        if source.offset + source.num_tasks > len(tasks):
            asked = f"{source.num_tasks} tasks after the first {source.offset}"
            raise UserError(f"tasks.{role}: {asked} are wanted, split {source.split} has {len(tasks)}; lower num_tasks")
        Random(f"{self.seed}/{source.split}").shuffle(tasks)
        tasks = tasks[source.offset :]
        start = number * source.num_tasks
        return [Goal(tasks[(start + place) % len(tasks)]) for place in range(source.num_tasks)]


    def _splits(self) -> Mapping[str, Sequence[str]]:
        environment = self.build()
        try:
            return self._asked(lambda: environment.splits if hasattr(type(environment), "splits") else {"all": environment.tasks})
        finally:
            environment.close()

    def _asked(self, question: Callable[[], Any]) -> Any:
        """What a server says. UserError: it cannot be reached, or serves something else."""
        try:
            return question()
        except OSError as error:
            start = f"start it with: amemgym-train serve {self.environment}"
            raise UserError(f"tasks.server: {error}; {start}") from error
        except ValueError as error:
            raise UserError(f"tasks.server: {error}") from error


def problems(recipe: Recipe) -> Iterator[Problem]:
    """What does not go together with tasks, or with none."""
    if recipe.tasks is None:
        yield from _without(recipe)
        return
    yield from _of_other_sections(recipe)
    try:
        for role in ROLES:
            recipe.tasks.goals(role)
    except UserError as error:
        key, _, problem = str(error).partition(": ")
        yield key, problem
        return
    yield from _overlaps(recipe)


def _without(recipe: Recipe) -> Iterator[Problem]:
    if recipe.agent.name == "react":
        yield "agent.name", "the react agent plays environments with a goal; add the section tasks, or take awi"
    if recipe.credit.scheme == "return":
        yield "credit.scheme", "return is of environments with a goal; set operation, outcome or blend"
    for key in ("credit", "training"):
        if "act" in getattr(recipe, key).operations:
            yield f"{key}.operations", "acts are calls in environments with a goal; add the section tasks, or remove act"


def _of_other_sections(recipe: Recipe) -> Iterator[Problem]:
    instead = "tasks are played in place of users; remove one of the two"
    if recipe.environments:
        yield "environments", instead
    if recipe.scenarios != type(recipe).model_fields["scenarios"].get_default(call_default_factory=True):
        yield "scenarios", instead
    if recipe.agent.name != "react":
        yield "agent.name", f"{recipe.agent.name} plays AMemGym's users; environments with a goal are played by react"
    if recipe.credit.scheme in ("operation", "blend"):
        yield "credit.scheme", f"{recipe.credit.scheme} pays for what AMemGym's diagnosis tells; set outcome or return"
    for key in ("credit", "training"):
        if getattr(recipe, key).operations != ["act"]:
            yield f"{key}.operations", "all calls in environments with a goal are acts; set it to [act]"
    if recipe.training.known_answers_only:
        yield "training.known_answers_only", "is of AMemGym's questions; remove it"
    if recipe.reflection.retry.episodes or recipe.reflection.prompts.cadence != "none":
        yield "reflection", "reflects on AMemGym's diagnosis, which environments with a goal have not; remove it"
    if recipe.evaluation.upper != "oracle":
        yield "evaluation.upper", "is of the memory score; remove it"
    if recipe.tasks.server is not None:
        yield from _of_servers(recipe)
    if others := [name for name in recipe.evaluation.controls if name not in CONTROLS]:
        yield "evaluation.controls", f"{', '.join(others)} are of a memory; expected {' or '.join(CONTROLS)}"


def _of_servers(recipe: Recipe) -> Iterator[Problem]:
    tasks = recipe.tasks
    if tasks.options:
        yield "tasks.options", "a server has the options that it was started with; remove them here"
    if tasks.server.protocol == "native" and tasks.max_steps is not None:
        yield "tasks.max_steps", "a server has the bound that it was started with; remove it here"
    if recipe.evaluation.controls:
        yield "evaluation.controls", "nobody plays a server's tasks without a model; set it to []"
    if tasks.server.protocol == "agentgym" and tasks.server.token_env is not None:
        yield "tasks.server.token_env", "AgentGym's servers know no token; remove it"


def _overlaps(recipe: Recipe) -> Iterator[Problem]:
    """A task seen in two roles would make a score of the second one meaningless."""
    tasks, rounds = recipe.tasks, 1
    if recipe.rollout.new_users_each_iteration:
        on_policy = recipe.training.on_policy
        rounds = recipe.evolution.iterations * (on_policy.steps if on_policy else 1)
    played = {role: {goal.id for goal in tasks.goals(role)} for role in ROLES}
    for number in range(1, rounds):
        more = {goal.id for goal in tasks.goals("train", number)}
        if more <= played["train"]:
            break  # the split began again
        played["train"] |= more
    for first, second in combinations(ROLES, 2):
        if shared := sorted(played[first] & played[second]):
            yield f"tasks.{second}", f"shares {len(shared)} tasks with tasks.{first}, such as {shared[0]}; give it another split"
