"""Splits: files of one folder that say they are train, validation and test share neither users nor what they promise not to."""

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations

from amemgym_envs.amemgym.consistency import Fault
from amemgym_envs.amemgym.records import Scenario
from amemgym_envs.amemgym.validation.report import Report


@dataclass
class Splits:
    """``add`` every scenario with its file's name, then ``report`` what files of different splits have in common."""

    _ids: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _variables: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _people: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _promises: dict[str, set[str | None]] = field(default_factory=lambda: defaultdict(set))

    def add(self, file: str, scenario: Scenario) -> None:
        self._ids[file].add(scenario.id)
        self._variables[file].update(scenario.state_schema)
        self._people[file].add(str(scenario.user_profile.get("name")))
        self._promises[file].add(scenario.origin.get("disjoint"))

    def report(self, data: str) -> Report:
        report = Report(data)
        for a, b in combinations(self._ids, 2):
            report.violations += self._shared("id", self._ids, a, b)
            promises = self._promises[a] | self._promises[b]
            if promises == {"variables"}:
                report.violations += self._shared("state_schema", self._variables, a, b)
            elif promises == {"personas"}:
                report.violations += self._shared("user_profile.name", self._people, a, b)
            else:
                report.lacks.append(f"{a} and {b} do not both say what keeps them apart: only their ids were compared")
        report.figures = {f"variables in {file}": len(names) for file, names in self._variables.items()}
        return report

    def _shared(self, name: str, values: dict[str, set[str]], a: str, b: str) -> list[Fault]:
        shared = sorted(values[a] & values[b])
        return [Fault("-", name, f"{a} and {b} share {len(shared)}, such as {shared[0]!r}; expected none")] if shared else []
