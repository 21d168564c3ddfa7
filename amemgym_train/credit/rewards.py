"""Schemes: functions from (Episode, Diagnosis, CreditConfig) to the reward of each trained turn.

Built in are ``outcome``, ``operation``, ``blend`` and, in environments with a goal, ``return``. A function of one's own is named
by its import path and returns {index of a trained turn: Reward, plain number, or None for no signal}; a turn it leaves out has no
signal.
"""

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit import custom
from amemgym_train.credit.operation import operation
from amemgym_train.credit.records import Reward, Rewards, Scheme, trained
from amemgym_train.diagnosis.operations import Diagnosis
from amemgym_train.rollout.records import Episode

__all__ = ["SCHEMES", "Reward", "Rewards", "Scheme", "blend", "operation", "outcome", "resolve", "returns", "rewarded", "trained"]


def outcome(episode: Episode, diagnosis: Diagnosis, config: CreditConfig) -> Rewards:
    """r = (number of right answers) / (number of answers), or the score of a goal, the same for every trained turn."""
    if episode.acts:
        reached = "success" if episode.success else "no success"
        reward = Reward(episode.score, f"score {episode.score:g}, {reached}", whole=True)
        return dict.fromkeys(trained(episode, config), reward)
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


def returns(episode: Episode, diagnosis: Diagnosis, config: CreditConfig) -> Rewards:
    """G_t = sum over k >= t of discount^(k - t) * r_k: what the environment pays from the turn's step on (Sutton and Barto,
    Reinforcement Learning, eq. 3.8). With discount 0 a step's own reward, with 1 what the score still rises by.

    ValueError: the episode has not one step per turn.
    """
    if not episode.acts or len(episode.rewards) != len(episode.turns):
        found = f"{len(episode.rewards)} rewards for {len(episode.turns)} turns"
        raise ValueError(f"episode {episode.id}: {found}; expected one each")
    found: Rewards = {}
    later = 0.0
    for index in reversed(range(len(episode.turns))):
        later = episode.rewards[index] + config.discount * later
        found[index] = Reward(later, f"return {later:g} from its step on")
    return {index: found[index] for index in trained(episode, config)}


SCHEMES: dict[str, Scheme] = {"outcome": outcome, "operation": operation, "blend": blend, "return": returns}


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
