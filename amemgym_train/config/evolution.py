"""How often the loop turns, how its stages are started, and when a new adapter is kept."""

from typing import Literal

from pydantic import Field

from amemgym_train.config.base import Section
from amemgym_train.config.curriculum import CurriculumConfig


class GateConfig(Section):
    """An adapter is kept when its validation ``metric`` beats the best so far by at least ``min_delta``."""

    metric: Literal["memory_score"] = "memory_score"
    min_delta: float = 0.0


class EvolutionConfig(Section):
    """``launcher``: all stages run in the process (or processes) that the run was started as ("inline").

    ``start_from``: every iteration trains on from the best adapter so far, or anew from what the run started with.
    ``curriculum``: how long the episodes of training are in each iteration.
    """

    iterations: int = Field(3, ge=1)
    launcher: Literal["inline"] = "inline"
    gate: GateConfig = GateConfig()
    start_from: Literal["best", "base"] = "best"
    curriculum: CurriculumConfig = CurriculumConfig()
