"""How tokens are drawn while episodes are played for training; how long a reply may be is the agent's own setting."""

from pydantic import Field

from amemgym_train.config.base import Section


class SamplingConfig(Section):
    """``temperature`` 0 is greedy; ``top_k`` 0 and ``top_p`` 1 cut nothing."""

    temperature: float = Field(1.0, ge=0)
    top_k: int = Field(0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
