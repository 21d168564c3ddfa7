"""A new run that begins with what another has done by some iteration."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amemgym_train.config.load import recipe_hash
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution.folder import changed, stored
from amemgym_train.evolution.inputs import named_files
from amemgym_train.evolution.manifest import PRUNED, entries_of, write_entries
from amemgym_train.files import write_json

NAME = "fork.json"
# Keys that decided how the iterations that are taken over were scored, or what an adapter and prompts of theirs are.
FIXED = (
    *("seed", "policy.model", "policy.dtype", "policy.adapter", "policy.chat", "agent", "evaluation.upper"),
    *("scenarios.validation", "scenarios.test", "scenarios.user", "reflection.prompts.cadence", "evolution.gate.metric"),
    *("tasks.environment", "tasks.options", "tasks.max_steps", "tasks.seed", "tasks.validation", "tasks.test"),
)


@dataclass(frozen=True)
class Origin:
    """Where a run came from: ``given[i]`` is what iteration i was given, for those that it took over from another run."""

    given: dict[int, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> "Origin":
        """That of the run in ``folder``. UserError: its fork.json cannot be read."""
        path = folder / NAME
        if not path.is_file():
            return cls()
        try:
            return cls({int(key): dict(value) for key, value in json.loads(path.read_text(encoding="utf-8"))["given"].items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} is damaged ({error}); put it back as it was, or fork again under another name") from error


def fork(recipe: Recipe, name: str, iteration: int | None = None) -> Recipe:
    """Begin the run ``name`` with iterations 0 to ``iteration`` (None: all that passed their gate or failed it) of the run that
    ``recipe`` names; returns the recipe of the new run. Forking again goes on with it.

    Files are linked where the disk allows it. UserError: there is nothing to begin with, the recipe changes what was scored, or
    ``name`` is taken.
    """
    source, made = recipe.run_dir, renamed(recipe, name)
    target = made.run_dir
    done = list(_judged(source))
    last = iteration if iteration is not None else len(done) - 1
    if not 0 <= last < len(done):
        there = f"iterations 0 to {len(done) - 1} are finished" if done else "no iteration of it is finished"
        raise UserError(f"{source}: cannot be forked from iteration {last}, {there}")
    told = {"run": str(source), "iteration": last}
    if (target / NAME).is_file():
        before = json.loads((target / NAME).read_text(encoding="utf-8"))
        if {key: before.get(key) for key in told} != told:
            of = f"iteration {before.get('iteration')} of {before.get('run')}"
            raise UserError(f"{target} is a fork already, of {of}; choose another name for --fork")
        return made
    if target.exists():
        raise UserError(f"{target} exists and is no fork of {source}; choose another name for --fork")
    old = stored(source)
    _check_kept(old, made, source)
    _check_there(source, last)
    given = {"recipe": recipe_hash(old), **named_files(old)}
    earlier = Origin.of(source).given
    scratch = target.with_name(f".{name}.forking")
    shutil.rmtree(scratch, ignore_errors=True)
    for number in range(last + 1):
        part = Path("iterations", f"{number:03d}")
        _take(source / part, scratch / part)
    _take_before(source / "test", scratch / "test")
    write_json(scratch / "config.json", made.model_dump(mode="json"))
    write_json(scratch / NAME, told | {"given": {str(number): earlier.get(number, given) for number in range(last + 1)}})
    scratch.rename(target)
    return made


def renamed(recipe: Recipe, name: str) -> Recipe:
    """UserError: ``name`` cannot be that of a run."""
    try:
        return Recipe.model_validate(recipe.model_dump() | {"name": name})
    except ValueError as error:
        raise UserError(f"--fork {name}: no name for a run; use letters, digits, dots, dashes and underscores") from error


def _judged(source: Path) -> Iterator[int]:
    """The iterations from 0 on that are over."""
    number = 0
    while ("gate" if number else "evaluate") in entries_of(_manifest(source, number)):
        yield number
        number += 1


def _check_kept(old: Recipe, new: Recipe, source: Path) -> None:
    keys = [key for key in changed(old, new) if _fixed(key)]
    if (old.training.method == "none") != (new.training.method == "none"):
        keys.append("training.method")
    if keys:
        raise UserError(
            f"--fork: {', '.join(keys)} decided how the iterations of {source} were scored and cannot change; begin a new run "
            f"from its adapter instead: name=... policy.adapter={source / 'best' / 'adapter'}"
        )


def _fixed(key: str) -> bool:
    if key.startswith("environments"):  # which there are, and who validates and tests in them
        return key.split(".")[2:3] not in (["train"], ["weight"], ["gate"])
    return any(key == one or key.startswith(f"{one}.") for one in FIXED)


def _check_there(source: Path, last: int) -> None:
    """UserError when the best adapter by then is no longer there."""
    best = 0
    for number in range(1, last + 1):
        gate = entries_of(_manifest(source, number))["gate"]
        best = number if gate["result"]["passed"] else best
    pruned = [name for entry in entries_of(_manifest(source, best)).values() for name in entry.get(PRUNED, ())]
    if "adapter" in pruned or "eval_episodes" in pruned:
        raise UserError(
            f"{source}: iteration {best} was the best by iteration {last}, and evolution.keep_last has removed it; fork from a "
            "later one with --from"
        )


def _manifest(source: Path, number: int) -> Path:
    return source / "iterations" / f"{number:03d}" / "manifest.json"


def _take(source: Path, target: Path) -> None:
    """A folder with the files of ``source``, but for what is unfinished."""
    shutil.copytree(source, target, copy_function=_link, ignore=shutil.ignore_patterns(".*"))


def _take_before(source: Path, target: Path) -> None:
    """The test before the first iteration; the one after the last is of the other run."""
    entry = entries_of(source / "manifest.json").get("before")
    if entry is None:
        return
    target.mkdir(parents=True)
    for name in entry["outputs"]:
        (_take if (source / name).is_dir() else _link)(source / name, target / name)
    write_entries(target / "manifest.json", {"before": entry})


def _link(source: Any, target: Any) -> None:
    """No file of a run is ever changed in place, so that two runs can share it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
