"""Pairs for DPO: the best and the worst reply to one prompt, and what each earned."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from statistics import fmean
from typing import Any

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.training import TrainingConfig
from amemgym_train.credit.rewards import Reward, rewarded
from amemgym_train.diagnosis.operations import Diagnosis
from amemgym_train.rollout.records import Episode, Turn
from amemgym_train.training.rft import new_and_grounded, share_out


@dataclass(frozen=True)
class Reply:
    """A trained call and what it earned."""

    episode: str
    turn: Turn
    reward: Reward

    @property
    def whole(self) -> bool:
        """It ended by itself and could be read."""
        return self.turn.finish_reason == "stop" and self.turn.meta.get("parsed") != "failed"

    @property
    def rank(self) -> tuple[float, bool, int, str]:
        """Sorts best first: reward, whole before broken, short before long."""
        return (-self.reward.value, not self.whole, len(self.turn.completion_ids), self.episode)


@dataclass(frozen=True)
class Pair:
    """Two replies to the same prompt, token for token; ``chosen`` earned more."""

    chosen: Reply
    rejected: Reply

    @property
    def operation(self) -> str:
        return self.chosen.turn.operation

    @property
    def episode(self) -> str:
        """Whose reply is chosen."""
        return self.chosen.episode

    @property
    def margin(self) -> float:
        """How much more the chosen reply earned."""
        return self.chosen.reward.value - self.rejected.reward.value

    def ids(self) -> dict[str, list[int]]:
        """As TRL's DPOTrainer takes them."""
        return {
            "prompt_ids": self.chosen.turn.prompt_ids,
            "chosen_ids": self.chosen.turn.completion_ids,
            "rejected_ids": self.rejected.turn.completion_ids,
        }

    def shown(self) -> dict[str, Any]:
        """For display."""
        told = {
            side: {"episode": one.episode, "text": one.turn.text, "reward": one.reward.value, "reason": one.reward.reason}
            for side, one in (("chosen", self.chosen), ("rejected", self.rejected))
        }
        return {"slot": self.chosen.turn.slot, "operation": self.operation, **told}


def pairs(
    episodes: Sequence[Episode], diagnoses: dict[str, Diagnosis], credit: CreditConfig, training: TrainingConfig, seed: int = 0
) -> list[Pair]:
    """The pairs of a rollout: at each prompt of a (group, slot) the best against the worst, the next best against the next worst.

    At most ``keep_per_slot`` of them per slot, and ``max_rows`` in all, shared out evenly between operations. Rewards are those
    of the recipe's scheme and must differ by ``dpo.margin``; a call without a signal takes no part. What is chosen is whole: a
    reply that was cut off or that nothing could read earned what it did by luck. The same tokens are one reply however often they
    were drawn, and it earned the mean.
    """
    prompts: dict[tuple[str, str], dict[tuple[int, ...], list[Reply]]] = defaultdict(lambda: defaultdict(list))
    for episode in episodes:
        if episode.id not in diagnoses:  # it could not be played
            continue
        for index, reward in sorted(rewarded(episode, diagnoses[episode.id], credit).items()):
            turn = episode.turns[index]
            if reward is not None and turn.completion_ids and new_and_grounded(turn):
                prompts[episode.group, turn.slot][tuple(turn.prompt_ids)].append(Reply(episode.id, turn, reward))
    found: list[Pair] = []
    for slot in sorted(prompts):
        here = [pair for replies in prompts[slot].values() for pair in _matched(replies, training.dpo.margin)]
        here.sort(key=lambda pair: -pair.margin)  # stable
        found += here[: training.keep_per_slot]
    return found if training.max_rows is None else share_out(found, training.max_rows, seed)


def _matched(replies: Sequence[Reply], margin: float) -> list[Pair]:
    """From the outside in, until they are closer than ``margin``: so each reply is in one pair at most."""
    drawn: dict[tuple[int, ...], list[Reply]] = defaultdict(list)
    for one in replies:
        drawn[tuple(one.turn.completion_ids)].append(one)
    ranked = sorted(map(_mean, drawn.values()), key=lambda one: one.rank)
    outside_in = map(Pair, [one for one in ranked if one.whole], reversed(ranked))
    return list(takewhile(lambda pair: pair.margin >= margin, outside_in))


def _mean(same: Sequence[Reply]) -> Reply:
    """One reply for those of the same tokens."""
    values = [one.reward.value for one in same]
    told = same[0].reward.reason + (f" (mean of {len(same)})" if len(same) > 1 else "")
    return replace(same[0], reward=Reward(fmean(values), told))
