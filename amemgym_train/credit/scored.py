"""From rewards and a critic's values to what PPO trains on: rows with advantages for the policy and returns for the critic."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.on_policy import PPOSettings
from amemgym_train.credit.gae import token_advantages, turn_advantages, whitened
from amemgym_train.credit.records import Rewards
from amemgym_train.credit.rows import merged, rows_of
from amemgym_train.rollout.records import Episode, Row


@dataclass
class Scored(Row):
    """A row with what was said of its tokens before the first update. Each list has one entry per id, 0 where the mask is.

    ``old``, ``reference``: log-probabilities under the policy, and without its adapter; ``values``: the critic's, of the state in
    which the token was drawn; ``returns``: what it should have said; ``heads``: weight of that token in the critic's loss.
    """

    old: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    heads: list[float] = field(default_factory=list)

    LISTS = ("old", "reference", "values", "returns", "heads")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.advantage, self.weight = self.advantages, self.weights
        for name in self.LISTS:
            if not getattr(self, name):
                setattr(self, name, [0.0] * len(self.ids))


@dataclass
class Call:
    """A turn with a signal: ``row.ids[start:stop]`` is its completion."""

    row: Scored
    start: int
    stop: int
    turn: int
    reward: float

    @property
    def span(self) -> slice:
        return slice(self.start, self.stop)

    @property
    def drift(self) -> list[float]:
        """log(policy / reference) of each token drawn: a sample of the KL between them."""
        return [one - other for one, other in zip(self.row.old[self.span], self.row.reference[self.span], strict=True)]


def calls_of(episode: Episode, rewards: Rewards, config: CreditConfig, longest: int) -> list[Call]:
    """The turns with a signal in the episode's order; a row holds several of them where the context was only appended to."""
    single = rows_of(episode, rewards, dict.fromkeys(rewards, 0.0), config, longest)
    whole = iter([Scored(**vars(row)) for row in merged(single)])
    turns = [i for i, reward in sorted(rewards.items()) if reward is not None and episode.turns[i].completion_ids]
    calls: list[Call] = []
    left = 0  # tokens of the present row whose turn has not come yet
    for turn, row in zip(turns, single, strict=True):
        if not left:
            holder = next(whole)
            left = sum(holder.mask)
        start, length = row.mask.index(1), sum(row.mask)  # a row's ids begin with those of each of its turns
        calls.append(Call(holder, start, start + length, turn, rewards[turn].value))
        left -= length
    return calls


def rows_with(calls: Sequence[Call]) -> list[Scored]:
    """The rows of ``calls``, each once."""
    return list({id(call.row): call.row for call in calls}.values())


def estimate(calls: Sequence[Call], settings: PPOSettings, kl_coef: float = 0.0, last: float = 0.0) -> None:
    """Set advantages, returns and the critic's weights of an episode's calls, from its rewards and the critic's values.

    A token's KL to the reference, times ``kl_coef``, comes off the reward. At level turn a call's value is that of its first
    token's state, and its KL that of all of its tokens. At level token it is that of the last token's state (``credit.gae``):
    what lies between two such states is the last token of a call, its reward, and all tokens but the last of the next one.
    """
    drifts = [[kl_coef * drift for drift in call.drift] if kl_coef else [0.0] * (call.stop - call.start) for call in calls]
    tokens = settings.level == "token"
    if tokens:
        between = [math.fsum(drift[:-1]) for drift in drifts[1:]] + [0.0]
        costs = [drift[-1] + following for drift, following in zip(drifts, between, strict=True)]
    else:
        costs = [math.fsum(drift) for drift in drifts]
    states = [call.row.values[call.stop - 1 if tokens else call.start] for call in calls]
    rewards = [call.reward - cost for call, cost in zip(calls, costs, strict=True)]
    found = turn_advantages(rewards, states, settings.gamma_turn, settings.lambda_turn, last)
    for call, advantage, drift in zip(calls, found, drifts, strict=True):
        if tokens:
            _token_level(call, advantage, drift, settings)
        else:
            _turn_level(call, advantage)


def judged(calls: Sequence[Call]) -> list[tuple[float, float, float]]:
    """(weight, value, return) wherever the critic's loss acts."""
    rows = rows_with(calls)
    return [one for row in rows for one in zip(row.heads, row.values, row.returns, strict=True) if one[0]]


def weighed(calls: Sequence[Call]) -> list[tuple[float, float]]:
    """(weight, advantage) of every learned token."""
    return [one for row in rows_with(calls) for one in zip(row.weights, row.advantages, strict=True) if one[0]]


def whiten(calls: Sequence[Call], moments: tuple[float, float]) -> None:
    """Advantages to mean 0 and deviation 1, by the moments of all of a step's tokens."""
    for row in rows_with(calls):
        row.advantage = [whitened(a, moments) if learned else 0.0 for a, learned in zip(row.advantage, row.mask, strict=True)]


def _turn_level(call: Call, advantage: float) -> None:
    row, span = call.row, call.span
    row.advantage[span] = [advantage] * (call.stop - call.start)
    row.returns[call.start] = advantage + row.values[call.start]
    row.heads[call.start] = math.fsum(row.weight[span])


def _token_level(call: Call, advantage: float, drift: Sequence[float], settings: PPOSettings) -> None:
    row, span = call.row, call.span
    values, costs = row.values[span], [-cost for cost in drift]
    found = token_advantages(advantage, values, settings.gamma_token, settings.lambda_token, costs)
    row.advantage[span] = found
    row.returns[span] = [a + v for a, v in zip(found, values, strict=True)]
    row.heads[span] = row.weight[span]
