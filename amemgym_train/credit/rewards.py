"""Schemes: functions from (Episode, Diagnosis, CreditConfig) to the reward of each trained turn.

Built in are ``outcome``, ``operation`` and ``blend``. A function of one's own is named by its import path and returns {index of a
write, read or answer turn: Reward, plain number, or None for no signal}; a turn it leaves out has no signal.
"""

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit import custom
from amemgym_train.credit.operation import operation
from amemgym_train.credit.records import Reward, Rewards, Scheme, trained
from amemgym_train.diagnosis.operations import Diagnosis
from amemgym_train.rollout.records import Episode

__all__ = ["SCHEMES", "Reward", "Rewards", "Scheme", "blend", "operation", "outcome", "resolve", "rewarded", "trained"]


def outcome(episode: Episode, diagnosis: Diagnosis, config: CreditConfig) -> Rewards:
    """r = (number of right answers) / (number of answers), the same for every trained turn."""
    right = sum(answer.correct for answer in episode.answers)
    reward = Reward(right / len(episode.answers), f"{right} of {len(episode.answers)} answers right")
    return dict.fromkeys(trained(episode, config), reward)


def blend(episode: Episode, diagnosis: Diagnosis, config: CreditConfig) -> Rewards:
    """r = operation_share * operation + (1 - operation_share) * outcome.

    Where ``operation`` gives no signal, r = (1 - operation_share) * outcome: the outcome weighs the same for every turn, and is
    not raised where it stands alone. In the baseline of its slot such a turn stands like one whose operation earned 0.
    """
    share, own = config.operation_share, operation(episode, diagnosis, config)
    return {index: _blended(own[index], reward, share) for index, reward in outcome(episode, diagnosis, config).items()}


SCHEMES: dict[str, Scheme] = {"outcome": outcome, "operation": operation, "blend": blend}


def resolve(config: CreditConfig) -> Scheme:
    """The scheme that the recipe names. One of the user's own is tried on the episodes of ``credit.canned`` first.

    UserError when it cannot be imported, or returns what no trainer could use.
    """
    scheme = _scheme(config)
    if config.scheme not in SCHEMES:
        custom.try_out(scheme, config)
    return scheme


def rewarded(episode: Episode, diagnosis: Diagnosis, config: CreditConfig) -> Rewards:
    """The reward of every trained turn, by the recipe's scheme. UserError when a function of the user's own misbehaves."""
    return _scheme(config)(episode, diagnosis, config)


def _scheme(config: CreditConfig) -> Scheme:
    return SCHEMES[config.scheme] if config.scheme in SCHEMES else custom.load(config.scheme)


def _blended(own: Reward | None, shared: Reward, share: float) -> Reward:
    if own is None:
        return Reward((1 - share) * shared.value, shared.reason)
    return Reward(share * own.value + (1 - share) * shared.value, f"{own.reason}; {shared.reason}")
