"""What validation found: violations, what the data lacks, and its figures."""

from dataclasses import asdict, dataclass, field
from typing import Any

from amemgym_envs.amemgym.consistency import Fault


@dataclass
class Report:
    """``violations`` make the data unfit; ``lacks`` says what could not be checked, or is missing in data from elsewhere.

    ``figures``: {name: value} over the whole data set, see docs/scenarios.md.
    """

    data: str
    violations: list[Fault] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        return not self.violations

    def to_dict(self) -> dict[str, Any]:
        return {"valid": self.valid} | asdict(self)
