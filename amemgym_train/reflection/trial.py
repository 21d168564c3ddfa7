"""What playing users with some prompts has shown."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from amemgym_train.config.reflection import FeedbackKind
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.evaluation.memory import report
from amemgym_train.reflection.cases import cases_of
from amemgym_train.reflection.feedback import Feedback, summarise
from amemgym_train.rollout.records import Episode

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario

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


def tried(
    episodes: Sequence[Episode],
    scenarios: "Mapping[str, Scenario]",
    kind: FeedbackKind | None = None,
    max_chars: int = 0,
) -> Trial:
    """The trial that ``episodes`` are, with feedback of ``kind`` (None: without). ValueError: none could be played to its end."""
    scored = [episode for episode in episodes if episode.error is None]
    if not scored:
        raise ValueError(f"none of {len(episodes)} episodes could be played to its end")
    memory, known, cases = {}, {}, []
    for episode in scored:
        figures = report([episode])
        memory[episode.task] = round(figures.memory_score or 0.0, 6)  # none only if every question has a single choice
        diagnosis = diagnose(episode) if episode.probes else None
        if diagnosis is not None:
            known[episode.task] = round(fmean(right for cell in diagnosis.cells for right in cell.known.values()), 6)
        if kind is not None:
            cases += cases_of(episode, scenarios[episode.task], diagnosis)
    return Trial(memory, known, summarise(cases, kind, max_chars) if kind is not None else None)
