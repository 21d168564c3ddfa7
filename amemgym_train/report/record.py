"""What a run has left on disk, read for its report: no model, no network; a file that is damaged costs its own figures only."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amemgym_train.errors import UserError
from amemgym_train.evolution.manifest import PRUNED, digest, entries_of

Entries = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Evaluated:
    """``figures`` over ``users`` (memory score by user id, or score by task id; None without headroom; empty where that could not
    be read), and those of ``controls`` by name; ``environments``: the agent's figures in each of several."""

    figures: dict[str, Any]
    users: dict[str, float | None]
    controls: dict[str, dict[str, Any]] = field(default_factory=dict)
    environments: dict[str, Any] = field(default_factory=dict)

    def part(self, name: str) -> "Evaluated":
        """What was found with the users of one environment."""
        users = {user: score for user, score in self.users.items() if user.startswith(f"{name}.")}
        return Evaluated(section(self.environments, name), users)


@dataclass(frozen=True)
class Iteration:
    """``entries``: its manifest; ``log``: figures of its training, in the order of their steps."""

    number: int
    folder: Path
    entries: Entries
    evaluated: Evaluated | None
    log: list[dict[str, Any]]

    @property
    def gate(self) -> dict[str, Any] | None:
        return self.entries["gate"]["result"] if "gate" in self.entries else None

    def result(self, stage: str) -> dict[str, Any]:
        """What ``stage`` found; nothing while it is not finished."""
        return self.entries.get(stage, {}).get("result", {})

    def made(self, name: str) -> bool:
        """Whether a stage has made the folder ``name``, and it was not pruned."""
        return any(name in entry["outputs"] and name not in entry.get(PRUNED, ()) for entry in self.entries.values())


@dataclass(frozen=True)
class Record:
    """A run. ``iterations`` begins with number 0, what the run started with; ``problems``: what could not be read."""

    folder: Path
    config: dict[str, Any]
    versions: dict[str, Any]
    iterations: list[Iteration]
    test: Entries
    before: Evaluated | None
    after: Evaluated | None
    problems: list[str]

    @property
    def name(self) -> str:
        return str(self.config.get("name", self.folder.name))

    @property
    def of_tasks(self) -> bool:
        """Whether it played tasks of an environment with a goal, in place of AMemGym's users."""
        return bool(section(self.config, "tasks"))

    @property
    def whom(self) -> str:
        return "tasks" if self.of_tasks else "users"

    @property
    def measure(self) -> str:
        """The figure that says how good an agent is, in words."""
        return "score" if self.of_tasks else "memory score"

    @property
    def best(self) -> Iteration | None:
        """The iteration that passed its gate last, else the start; None where nothing was evaluated."""
        passed = [one for one in self.iterations if one.number == 0 or (one.gate or {}).get("passed")]
        return passed[-1] if passed else None

    @property
    def judged(self) -> list[Iteration]:
        return [one for one in self.iterations if one.gate]

    @property
    def wanted(self) -> int | None:
        """Iterations that the recipe asks for."""
        value = section(self.config, "evolution").get("iterations")
        return value if isinstance(value, int) else None

    @property
    def finished(self) -> bool:
        """Whether the gate has seen the last iteration and test users have met the best."""
        if self.after is None or not self.judged or self.best is None:
            return False
        ended = self.judged[-1].gate.get("decision") == "stop" or len(self.judged) == self.wanted
        weights = self.best.entries.get("train", {}).get("outputs", {}).get("adapter")
        return ended and (weights is None or self.test["after"]["inputs"].get("adapter") == weights)

    @property
    def given(self) -> dict[str, Any]:
        """The hash of the recipe and digests of the files that it names, by key."""
        for entry in self.iterations[0].entries.values() if self.iterations else ():
            return {key: value for key, value in entry["inputs"].items() if key == "recipe" or "." in key}
        return {}


def section(values: dict[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name)
    return found if isinstance(found, dict) else {}


def folder_of(run: str) -> Path:
    """The folder of ``run``, which is one or a name below runs/. UserError: there is no run."""
    places = [Path(run), Path("runs") / run]
    for place in places:
        if (place / "config.json").exists() or (place / "iterations").is_dir():
            return place
    looked = " nor ".join(map(str, places))
    raise UserError(f"no run in {looked}: neither has config.json or iterations. Name the folder that evolve wrote to")


def read_run(run: str) -> Record:
    """The record of ``run``, a folder or a name below runs/. UserError: there is no run."""
    folder = folder_of(run)
    read = _Reader(folder)
    config = read.json(folder / "config.json", "the recipe is left out; put it back as it was") or {}
    versions = read.json(folder / "versions.json", "versions and command are left out; evolve writes it at each start") or {}
    names = (path for path in (folder / "iterations").glob("[0-9]*") if path.is_dir() and path.name.isdecimal())
    iterations = [_iteration(read, path) for path in sorted(names, key=lambda path: int(path.name))]
    test = read.entries(folder / "test")
    before, after = (_evaluated(read, folder / "test", test, name, name) for name in ("before", "after"))
    return Record(folder, config, versions, iterations, test, before, after, read.problems)


def _iteration(read: "_Reader", folder: Path) -> Iteration:
    entries = read.entries(folder)
    log = read.output(folder, entries, "train", "training.json", list) or []
    steps = [entry for entry in log if isinstance(entry, dict)]
    return Iteration(int(folder.name), folder, entries, _evaluated(read, folder, entries, "evaluate", "eval"), steps)


def _evaluated(read: "_Reader", folder: Path, entries: Entries, stage: str, name: str) -> Evaluated | None:
    if stage not in entries:
        return None
    found = {key: value for key, value in entries[stage]["result"].items() if isinstance(value, dict)}
    users = read.output(folder, entries, stage, f"{name}_users.json", dict) or {}
    scored = {user: score for user, score in users.items() if score is None or isinstance(score, int | float)}
    return Evaluated(found.pop("agent", {}), scored, environments=found.pop("environments", {}), controls=found)


class _Reader:
    """Reads the files of a run; ``problems`` says of each that cannot be read what is left out and what to do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []

    def json(self, path: Path, left_out: str, kind: type = dict) -> Any:
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return self._lost(path, "is missing", left_out)
        except (OSError, ValueError, RecursionError) as error:
            return self._lost(path, f"cannot be read ({getattr(error, 'strerror', None) or error})", left_out)
        if not isinstance(value, kind):
            return self._lost(path, f"holds a {type(value).__name__}, expected a {kind.__name__}", left_out)
        return value

    def entries(self, folder: Path) -> Entries:
        try:
            return entries_of(folder / "manifest.json")
        except UserError as error:
            self.problems.append(str(error).replace(f"{self.folder}/", ""))
        except OSError as error:
            self._lost(folder / "manifest.json", f"cannot be read ({error.strerror})", "its stages are left out")
        return {}

    def output(self, folder: Path, entries: Entries, stage: str, name: str, kind: type) -> Any:
        """The file ``name`` as ``stage`` saved it; None where there is none, or another."""
        saved = entries.get(stage, {}).get("outputs", {}).get(name)
        if saved is None or name in entries[stage].get(PRUNED, ()):
            return None
        again, path = "what it holds is left out; evolve does that stage again", folder / name
        value = self.json(path, again, kind)
        if value is not None and (found := digest(path)) != saved:
            return self._lost(path, f"is not what its stage saved (SHA-256 {found[:12]}, expected {str(saved)[:12]})", again)
        return value

    def _lost(self, path: Path, what: str, left_out: str) -> None:
        self.problems.append(f"{path.relative_to(self.folder).as_posix()} {what}; {left_out}")
