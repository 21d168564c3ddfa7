"""Splits: train, validation and test share neither users nor what they promise not to, whatever their files are called."""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations

from amemgym_envs.amemgym.consistency import Fault
from amemgym_envs.amemgym.dataset.stream import canonical
from amemgym_envs.amemgym.languages import SPLITS
from amemgym_envs.amemgym.records import Scenario
from amemgym_envs.amemgym.validation.report import Report

_NAMES = (*SPLITS, "all")
Told = dict[str, set[str]]  # what is told in a message: by file, or by split


def _told() -> Told:
    return defaultdict(set)


@dataclass
class Splits:
    """``add`` every scenario with its file's name, then ``report`` what different splits have in common.

    Items of one split may share what they like, in how many files they lie; those that name no split count as one of their file.
    No two files share ids.
    """

    _ids: Told = field(default_factory=_told)  # by file
    _named: Told = field(default_factory=_told)  # variables by file
    _files: Told = field(default_factory=_told)  # by split
    _variables: Told = field(default_factory=_told)
    _people: Told = field(default_factory=_told)
    _promises: dict[str, set[str | None]] = field(default_factory=lambda: defaultdict(set))

    def add(self, file: str, scenario: Scenario) -> None:
        split = scenario.origin.get("split")
        group = f"split {split}" if split in _NAMES else f"file {file}"
        profile = {key: value for key, value in scenario.user_profile.items() if key != "uuid"}
        self._ids[file].add(scenario.id)
        self._named[file].update(scenario.state_schema)
        self._files[group].add(file)
        self._variables[group].update(scenario.state_schema)
        self._people[group].add(canonical(profile))
        self._promises[group].add(scenario.origin.get("disjoint"))

    @property
    def several(self) -> bool:
        """Whether there is more than one named split."""
        return sum(group.startswith("split ") for group in self._files) > 1

    def report(self, data: str) -> Report:
        report = Report(data)
        for a, b in combinations(self._ids, 2):
            report.violations += _shared("id", self._ids[a] & self._ids[b], f"{a} and {b}")
        for a, b in combinations(self._files, 2):
            both = f"{self._title(a)} and {self._title(b)}"
            promises = self._promises[a] | self._promises[b]
            if promises == {"variables"}:
                report.violations += _shared("state_schema", self._variables[a] & self._variables[b], both)
            elif promises == {"personas"}:
                report.violations += _shared("user_profile", self._people[a] & self._people[b], both)
            else:
                report.lacks.append(f"{both} do not both say what keeps them apart: only their ids were compared")
        report.figures = {f"variables in {file}": len(names) for file, names in self._named.items()}
        return report

    def _title(self, group: str) -> str:
        """The files of a split; the split too where one of them holds others as well."""
        files = sorted(self._files[group])
        mixed = any(set(files) & others for other, others in self._files.items() if other != group)
        return f"{group} in {', '.join(files)}" if mixed else ", ".join(files)


def _shared(name: str, shared: set[str], both: str) -> list[Fault]:
    return [Fault("-", name, f"{both} share {len(shared)}, such as {min(shared)!r}; expected none")] if shared else []
