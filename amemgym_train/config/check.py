"""What must hold between the keys of a recipe, and on disk, before any model is loaded."""

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

from amemgym_train.config.agent import problems as agent_problems
from amemgym_train.config.chat import problems as chat_problems
from amemgym_train.config.credit import problems as credit_problems
from amemgym_train.config.curriculum import problems as curriculum_problems
from amemgym_train.config.curriculum import scheduled
from amemgym_train.config.environments import key as source_key
from amemgym_train.config.environments import problems as environment_problems
from amemgym_train.config.environments import shares, sources
from amemgym_train.config.evolution import problems as evolution_problems
from amemgym_train.config.on_policy import problems as on_policy_problems
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.reflection import problems as reflection_problems
from amemgym_train.config.scenarios import ROLES, ScenarioConfig
from amemgym_train.config.server import problems as server_problems
from amemgym_train.config.tasks import problems as task_problems

Problem = tuple[str, str]  # the dotted key to mend, and what is wrong with it


def check(recipe: Recipe) -> list[Problem]:
    """Every problem of a recipe whose single keys are valid; empty when it can be run."""
    own = (_paths, _groups, _operations, _of_one_method, _writes, _generators, _overlaps, _controls)
    of_sections = (agent_problems, credit_problems, reflection_problems, curriculum_problems, on_policy_problems)
    checks = (*own, environment_problems, task_problems, *of_sections, evolution_problems, server_problems, chat_problems)
    return [problem for one in checks for problem in one(recipe)]


def _paths(recipe: Recipe) -> Iterator[Problem]:
    model = recipe.policy.model
    if model.startswith(("/", ".", "~")) and not Path(model).is_dir():
        yield "policy.model", f"no folder {model}; expected a folder with a model, a hub id, smollm2 or quickstart"
    for key, scenarios in _sources(recipe):
        if scenarios.data is not None and not Path(scenarios.data).is_file():
            hint = f"write one with: amemgym-train generate --out {scenarios.data}"
            yield f"{key}.data", f"no file {scenarios.data}; {hint}"


def _groups(recipe: Recipe) -> Iterator[Problem]:
    size, kept = recipe.rollout.group_size, recipe.training.keep_per_slot
    if recipe.sampling.temperature == 0 and size > 1:
        yield "sampling.temperature", f"0 is greedy, so the {size} episodes of a group would be the same; set it above 0"
    if kept > size:
        yield "training.keep_per_slot", f"{kept} is more than the {size} completions that rollout.group_size draws"


def _operations(recipe: Recipe) -> Iterator[Problem]:
    operations = recipe.training.operations
    if len(set(operations)) < len(operations):
        yield "training.operations", f"{', '.join(operations)} names one twice"
    named = "operations" in recipe.training.model_fields_set  # the default is of what there is
    if named and "write" in operations and not recipe.agent.makes_writes:
        never = f"the {recipe.agent.name} agent never makes a write call"
        yield "training.operations", f"{never}; remove write, or set agent.name to awi"


def _of_one_method(recipe: Recipe) -> Iterator[Problem]:
    """Keys that the recipe changes and only another method looks at."""
    training, dpo = recipe.training, recipe.training.dpo
    if training.known_answers_only and training.method != "rft":
        yield "training.known_answers_only", f"is how rft chooses rows, training.method is {training.method}; remove it"
    if training.method != "dpo":
        return
    if recipe.credit.loss != type(recipe.credit).model_fields["loss"].default:
        yield "credit.loss", "has no effect with training.method dpo, whose loss is of whole replies; remove it"
    if dpo.label_smoothing and dpo.loss != "sigmoid":
        yield "training.dpo.label_smoothing", f"has no effect with training.dpo.loss {dpo.loss}; remove it, or set sigmoid"


def _writes(recipe: Recipe) -> Iterator[Problem]:
    """An agent that waits for more messages than an episode has answers every question from raw messages alone."""
    agent = recipe.agent
    if agent.name == "native" or agent.flush != "never":
        return
    for name, train in sources(scheduled(recipe, 1), "train").items():
        messages, needed = _messages(train), agent.update_bsz + agent.local_length
        if train.data is None and messages < needed:
            where = f" of {name}" if name else ""
            problem = f"a first write needs update_bsz + local_length = {needed} messages, an episode{where} to train on has"
            yield "agent.local_length", f"{problem} {messages}; lower it, or set agent.flush to period"


def _messages(train: ScenarioConfig) -> int:
    """How many a generated episode has."""
    told = -(-train.num_variables // train.states_per_session) * (train.rounds_init or 1)
    changed = train.num_periods * -(-train.num_changes_per_period // train.changes_per_session) * (train.rounds_update or 1)
    return 2 * (told + changed)


def scenario_problems(recipe: Recipe) -> list[Problem]:
    """Those that concern whoever wants a recipe's users and nothing else of it."""
    return [*_generators(recipe), *_overlaps(recipe)]


def _generators(recipe: Recipe) -> Iterator[Problem]:
    from amemgym_envs.amemgym.scenario import ScenarioError

    for key, scenarios in _sources(recipe):
        if scenarios.data is None:
            try:
                scenarios.generator()
            except ScenarioError as error:
                yield key, str(error)


def _overlaps(recipe: Recipe) -> Iterator[Problem]:
    """A user seen in two roles would make a score of the second one meaningless."""
    for (one, first, a), (other, second, b) in _pairs(recipe):
        ours, theirs = source_key(one, first), source_key(other, second)
        if a.data is not None and b.data is not None:
            same_file = Path(a.data).resolve() == Path(b.data).resolve()
            if same_file and (a.users is None or b.users is None or set(a.users) & set(b.users)):
                yield f"{theirs}.data", f"shares users with {ours}; give each its own by users"
        elif a.data is None and b.data is None and a.seed == b.seed and (a.split == b.split or "all" in (a.split, b.split)):
            of_a, of_b = _generated(recipe, one, first, a), _generated(recipe, other, second, b)
            if max(of_a.start, of_b.start) < min(of_a.stop, of_b.stop):
                problem = f"users {of_b.start}..{of_b.stop - 1} overlap users {of_a.start}..{of_a.stop - 1} of {ours}"
                yield f"{theirs}.user_offset", problem


def _controls(recipe: Recipe) -> Iterator[Problem]:
    if len(set(recipe.evaluation.controls)) < len(recipe.evaluation.controls):
        yield "evaluation.controls", f"{', '.join(recipe.evaluation.controls)} names one twice"
    if "scrambled" not in recipe.evaluation.controls or len(recipe.environments) > 1:
        return
    for role in ("validation", "test"):
        for name, scenarios in sources(recipe, role).items():
            users = scenarios.num_users if scenarios.data is None else len(scenarios.users or "..")
            if users < 2:
                place = source_key(name, role)
                yield "evaluation.controls", f"scrambled answers from another user's memory, but {place} has one user"


def _generated(recipe: Recipe, name: str, role: str, scenarios: ScenarioConfig) -> range:
    """The generator's user numbers that a whole run plays of this environment in this role."""
    rounds = 1
    if role == "train" and recipe.rollout.new_users_each_iteration:
        on_policy = recipe.training.on_policy
        rounds = recipe.evolution.iterations * (on_policy.steps if on_policy else 1)  # each step plays users of its own
    shared = role == "train" and recipe.environments
    users = shares(recipe, rounds)[name] if shared else rounds * scenarios.num_users
    return range(scenarios.user_offset, scenarios.user_offset + users)


def _pairs(recipe: Recipe) -> Iterator[tuple[tuple[str, str, ScenarioConfig], ...]]:
    """Every two sources of different roles, of whatever environments, each with its environment and role."""
    for first, second in combinations(ROLES, 2):
        ours, theirs = ([(name, role, one) for name, one in sources(recipe, role).items()] for role in (first, second))
        yield from product(ours, theirs)


def _sources(recipe: Recipe) -> list[tuple[str, ScenarioConfig]]:
    return [(source_key(name, role), source) for role in ROLES for name, source in sources(recipe, role).items()]
