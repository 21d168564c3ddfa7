"""Imitation beside a policy gradient: what second tries did right is learned in the same steps as rewards are.

loss = policy gradient + weight * 1/E * sum over second tries e and their calls r of 1/R_e * mean over tokens of -log p

E is the number of episodes with a signal, as for the policy gradient (``credit.rows``), R_e that of the calls of e that earned
being imitated (``training.rft``). TRL's surrogate has this gradient where the ratio is 1, there is no KL and ``weight`` is the
advantage: a token's old and reference log-probabilities are therefore taken to be what they are now.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch

from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.rollout.records import Episode, Row
from amemgym_train.training.batch import Tensors
from amemgym_train.training.rft import candidates


def imitation_rows(episodes: Iterable[Episode], operations: Sequence[str], weight: float) -> list[Row]:
    """A row for each call of ``operations`` in second tries that was made anew and earned it; unscorable episodes have none."""
    rows = []
    for episode in episodes:
        if episode.error is None:
            earned = [one for one in candidates(episode, diagnose(episode)) if one.turn.operation in operations]
            rows += [_row(Row.from_turn(one.turn, episode, one.reason), weight, len(earned)) for one in earned]
    return rows


def hold(inputs: Tensors, logps: torch.Tensor) -> None:
    """Let imitated tokens of a micro-batch have the log-probabilities (B, T) of now as old ones and as the reference's."""
    for name in ("old_per_token_logps", "ref_per_token_logps"):
        if name in inputs:
            inputs[name] = torch.where(inputs["imitated"], logps.detach(), inputs[name])


def _row(row: Row, weight: float, calls: int) -> Row:
    share = 1 / (calls * sum(row.mask))
    nothing = [0.0] * len(row.ids)  # it was drawn with another prompt
    learned = {"advantage": [weight * m for m in row.mask], "weight": [share * m for m in row.mask]}
    return replace(row, logprobs=nothing, imitated=True, **learned)
