"""How tokens are drawn while episodes are played for training; how long a reply may be is the agent's own setting."""

from pydantic import Field, field_validator

from amemgym_train.config.base import Section


class SamplingConfig(Section):
    """``temperature`` 0 is greedy; ``top_k`` 0 and ``top_p`` 1 cut nothing."""

    temperature: float = Field(1.0, ge=0)
    top_k: int = Field(0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)

    @field_validator("temperature")
    @classmethod
    def _no_division_by_almost_nothing(cls, value: float) -> float:
        if 0 < value < 0.01:
            raise ValueError("0 (greedy) or at least 0.01")
        return value
