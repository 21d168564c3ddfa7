"""All checks in their order. One that breaks is a red finding, and one that rests on a broken one is left out."""

import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from amemgym_train.doctor.finding import Finding, green, red, yellow
from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from amemgym_train.config.recipe import Recipe

KEY = re.compile(r"[a-z_]+(\.[a-z_]+)+(?=:)")  # of a recipe, at the beginning of a message
REPORT = "amemgym-train doctor --json"


@dataclass(frozen=True)
class Check:
    """``function`` of the module ``module`` of this package takes a recipe and returns findings.

    It runs when none of ``needs``, checks before it, is red, and all of ``needs_green`` are green. ``alone``: also without a
    recipe.
    """

    name: str
    module: str
    function: str
    needs: tuple[str, ...] = ()
    needs_green: tuple[str, ...] = ()
    alone: bool = False


PLANNED = ("recipe", "users", "model", "adapter", "run folder")
CHECKS = (
    Check("devices", "devices", "devices", alone=True),
    Check("launch", "devices", "launch"),
    Check("rewards", "rewards", "rewards", ("recipe",), alone=True),
    Check("users", "users", "users", ("recipe",)),
    Check("model", "model", "model", ("recipe",)),
    Check("adapter", "model", "adapter", ("recipe", "model")),
    Check("template", "template", "template", ("recipe",), ("model",)),
    Check("lengths", "lengths", "lengths", ("recipe", "users", "template"), ("model",)),
    Check("server", "servers", "servers", ("recipe", "users")),
    Check("chat", "chat", "chat"),
    Check("tracking", "tracking", "tracking"),
    Check("run folder", "room", "run_folder"),
    Check("batch", "batch", "batch", PLANNED),
    Check("disk", "room", "disk", PLANNED),
    Check("episode", "episode", "episode", ("recipe", "users"), alone=True),
    Check("model's episode", "episode", "of_model", ("recipe", "users", "adapter"), ("model", "template")),
)


def findings(path: str | Path | None, overrides: list[str]) -> Iterator[Finding]:
    """What there is to say, check by check; of no recipe (None) what holds for all. UserError: it cannot be read."""
    seen: dict[str, list[Finding]] = {}

    def told(name: str, check: Callable[[], list[Finding]]) -> Iterator[Finding]:
        seen[name] = _guarded(name, check)
        yield from seen[name]

    from amemgym_train.doctor.versions import packages, python

    yield from told("python", lambda: python(None))
    yield from told("packages", lambda: packages(None))
    try:
        from amemgym_train.config.load import examine_recipe

        recipe, problems, _ = examine_recipe(path, overrides)
    except ImportError as error:
        yield _missing("recipe", error)
        return
    if path is not None:
        yield from told("recipe", lambda: _recipe(recipe.name, problems))
    for check in CHECKS:
        if path is None and not check.alone:
            continue
        yield from told(check.name, lambda check=check: _left_out(check, seen) or _run(check, recipe))


def _run(check: Check, recipe: "Recipe") -> list[Finding]:
    return getattr(import_module(f"amemgym_train.doctor.{check.module}"), check.function)(recipe)


def _left_out(check: Check, seen: dict[str, list[Finding]]) -> list[Finding]:
    """Why a check cannot be made, if it cannot."""
    levels = {name: {finding.level for finding in found} for name, found in seen.items()}
    for need in (*check.needs, *check.needs_green):
        worst = next(level for level in ("red", "yellow", "green") if level in levels.get(need, {"green"}))
        if worst == "red" or (worst == "yellow" and need in check.needs_green):
            return [yellow(check.name, f"not checked because {need} is {worst}")]
    return []


def _recipe(name: str, problems: list[str]) -> list[Finding]:
    if not problems:
        return [green("recipe", f"{name} is valid")]
    return [red("recipe", problem, f"change {problem.partition(':')[0]}") for problem in problems]


def _guarded(name: str, check: Callable[[], list[Finding]]) -> list[Finding]:
    """What ``check`` finds. Whatever else it raises is a finding, too: a doctor must not be the one who falls ill."""
    try:
        return check()
    except ImportError as error:
        return [_missing(name, error)]
    except UserError as error:
        key = KEY.match(str(error))
        return [red(name, str(error), f"{key.group()}=..." if key else "the same command again, once that is mended")]
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
        return [red(name, f"the check itself broke with {what}", f"{REPORT} and send what it prints to the authors")]


def _missing(name: str, error: ImportError) -> Finding:
    package = (error.name or "").partition(".")[0] or "amemgym-train"
    return red(name, f"cannot be checked: {error}", f"pip install {package}")
