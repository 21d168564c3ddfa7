"""From a recipe file and its overrides to a checked Recipe."""

import hashlib
import json
from pathlib import Path

from pydantic import ValidationError

from amemgym_train.config.check import check, scenario_problems
from amemgym_train.config.problems import explain
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.scenarios import ScenariosConfig
from amemgym_train.config.source import Source, read_source
from amemgym_train.errors import UserError

# Where a run lives and what stays of it, where its metrics go, how long it lasts, who starts its processes and where its servers
# are: none of these changes what one iteration computes.
UNHASHED = {
    **{"name": True, "output": True, "tracking": True},
    "evolution": {"iterations", "launcher", "launch", "keep_last"},
    "tasks": {"server": {"urls", "timeout_s", "token_env"}},
    "policy": {"server": {"urls", "timeout_s", "retries", "max_requests", "api_key_env"}},
    "training": {"save_steps": True, "grpo": {"save_steps"}, "ppo": {"save_steps"}},
}


def load_recipe(path: str | Path | None, overrides: list[str] | None = None) -> Recipe:
    """The recipe of a YAML file (None: nothing but defaults) with dotted overrides (``evolution.iterations=3``) applied.

    Raises UserError naming every problem at once: first those of single keys, and once none is left those between keys.
    """
    recipe, problems, source = examine_recipe(path, overrides)
    if problems:
        raise _refuse(source, problems)
    return recipe


def examine_recipe(path: str | Path | None, overrides: list[str] | None = None) -> tuple[Recipe, list[str], Source]:
    """The recipe, what is wrong between its keys (``key (place): problem``), and where it was written.

    UserError as ``load_recipe`` for what is wrong with single keys: there is no recipe then.
    """
    source = read_source(path, overrides or [])
    try:
        recipe = Recipe.model_validate(source.values)
    except ValidationError as error:
        raise _refuse(source, source.problems + explain(error, Recipe, source)) from error
    return recipe, source.problems + [f"{key} ({source.place(key)}): {problem}" for key, problem in check(recipe)], source


def load_scenarios(path: str | Path | None, overrides: list[str] | None = None) -> ScenariosConfig:
    """The users of a recipe, for whoever only wants those: its other sections are not looked at.

    Raises UserError as ``load_recipe`` does, for the section ``scenarios`` and for sections that a recipe does not have.
    """
    source = read_source(path, overrides or [])
    if source.values.get("environments"):
        meant = "name them as scenarios.train and so on, or take a recipe without environments"
        raise UserError(f"{source.path}: the users of a recipe with environments are not those of scenarios; {meant}")
    others = set(Recipe.model_fields) - {"scenarios"}
    values = {key: value for key, value in source.values.items() if key not in others}
    noted = [problem for problem in source.problems if problem.partition(" ")[0].partition(".")[0] not in others]
    try:  # a file holds the users of one iteration
        recipe = Recipe.model_validate({"name": "unnamed", "evolution": {"iterations": 1}} | values)
    except ValidationError as error:
        raise _refuse(source, noted + explain(error, Recipe, source)) from error
    problems = noted + [f"{key} ({source.place(key)}): {problem}" for key, problem in scenario_problems(recipe)]
    if problems:
        raise _refuse(source, problems)
    return recipe.scenarios


def recipe_hash(recipe: Recipe) -> str:
    """16 hex digits, equal for two recipes that differ in nothing but what UNHASHED names; files they point at are not read.

    Keys at their defaults are left out, so that a run goes on when the toolkit has got new ones. That a default has changed
    since is seen in the run's config.json, which holds them all.
    """
    values = recipe.model_dump(mode="json", exclude=UNHASHED, exclude_defaults=True)
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]


def _refuse(source: Source, problems: list[str]) -> UserError:
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return UserError("\n".join([f"{source.path}: {count}, nothing was started", *(f"  - {problem}" for problem in problems)]))
