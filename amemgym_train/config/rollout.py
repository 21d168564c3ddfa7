"""How many episodes are played, and how many of them may break."""

from pydantic import Field

from amemgym_train.config.base import Section


class RolloutConfig(Section):
    """``group_size`` episodes per user differ in their random draws only; ``concurrency`` of them are played at once.

    ``max_unscorable``: a share of episodes ended by infrastructure above this stops the run.
    ``new_users_each_iteration``: iteration i plays the generator's next users; scenarios from a file stay the same.
    ``users``: of all ``environments`` together that an iteration plays, or an on-policy step; None: their ``train.num_users``.
    """

    group_size: int = Field(4, ge=1)
    concurrency: int = Field(64, ge=1)
    max_unscorable: float = Field(0.1, ge=0, lt=1)
    new_users_each_iteration: bool = True
    users: int | None = Field(None, ge=1)
