"""What playing users with some prompts has shown."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Literal

from amemgym_train.reflection.feedback import Feedback

Metric = Literal["memory_score", "known"]


@dataclass(frozen=True)
class Trial:
    """Of each user that could be played the memory score, against a perfect upper bound, and ``known``, the share of the states
    asked for that its probes have right (without probes there is none); ``feedback`` where it was asked for.
    """

    memory_score: Mapping[str, float]
    known: Mapping[str, float]
    feedback: Feedback | None = None

    def by(self, metric: Metric) -> Mapping[str, float]:
        return self.known if metric == "known" else self.memory_score

    @property
    def mean(self) -> float:
        return round(fmean(self.memory_score.values()), 6)

    def to_dict(self) -> dict[str, Any]:
        """JSON values; ``from_dict`` is the inverse."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Trial":
        feedback = values["feedback"]
        return cls(**values | {"feedback": None if feedback is None else Feedback.from_dict(feedback)})
