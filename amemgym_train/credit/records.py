"""What a scheme gives: a reward per trained turn, with its reason."""

from collections.abc import Callable
from dataclasses import dataclass

from amemgym_train.config.credit import CreditConfig
from amemgym_train.diagnosis.operations import Diagnosis
from amemgym_train.rollout.records import Episode


@dataclass(frozen=True)
class Reward:
    """``reason`` is shown to people: "cheese known right after it". ``whole``: it is the episode's, which is compared with
    others as a whole; other calls are compared with those at their slot."""

    value: float
    reason: str
    whole: bool = False


Rewards = dict[int, Reward | None]  # index of each trained turn -> its reward; None: no signal, it enters no baseline
Scheme = Callable[[Episode, Diagnosis, CreditConfig], Rewards]


def trained(episode: Episode, config: CreditConfig) -> list[int]:
    """The turns that a scheme gives rewards to: those whose operation the recipe names. A reply to the user is never one."""
    return [index for index, turn in enumerate(episode.turns) if turn.operation in config.operations]
