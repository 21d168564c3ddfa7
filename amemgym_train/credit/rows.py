"""Turns to rows: weights so that an episode counts once, merging, and dealing to processes.

The loss that rows stand for is the sum over rows and tokens of weight * (loss of the token with its advantage). Merging, dealing,
padding and the order of rows leave that sum as it is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit.records import Rewards
from amemgym_train.rollout.records import Episode, Row

# A row that changes nothing: one token, which is not learned.
PADDING = Row([0], [0], [0.0], "respond", "padding", "", "", "", advantage=0.0, weight=0.0, reason="padding")


def rows_of(episode: Episode, rewards: Rewards, advantages: Mapping[int, float], config: CreditConfig, longest: int) -> list[Row]:
    """One row per turn with a signal, in the episode's order, with advantage and weight per token.

    R = number of turns with a signal, L_r = completion tokens of turn r, T = sum of L_r. Weight of a token of turn r:

    - grpo: 1 / (R * L_r), a mean over turns of means over tokens (DeepSeekMath, arXiv 2402.03300, eq. 3);
    - dapo: 1 / T, a mean over the episode's tokens (DAPO, arXiv 2503.14476, section 3.3, there over the tokens of a group);
    - dr_grpo: 1 / (R * longest), ``longest`` being the most tokens that a completion may have (arXiv 2503.20783).

    They sum to 1 over the episode, with dr_grpo to at most 1. R and T count turns whose advantage is 0, too, so that nothing
    changes when their rows are dropped. A turn without tokens (a scripted one) has nothing to learn and is not counted.

    ValueError: ``longest`` is less than a completion has.
    """
    signalled = [i for i, reward in sorted(rewards.items()) if reward is not None and episode.turns[i].completion_ids]
    lengths = [len(episode.turns[i].completion_ids) for i in signalled]
    if config.loss == "dr_grpo" and max(lengths, default=0) > longest:
        raise ValueError(f"episode {episode.id}: a completion has {max(lengths)} tokens; expected at most longest = {longest}")
    shares = {
        "grpo": [1 / (len(lengths) * length) for length in lengths],
        "dapo": [1 / sum(lengths) for _ in lengths],
        "dr_grpo": [1 / (len(lengths) * longest) for _ in lengths],
    }[config.loss]
    return [_row(episode, i, rewards[i].reason, advantages[i], share) for i, share in zip(signalled, shares, strict=True)]


def merged(rows: Sequence[Row]) -> list[Row]:
    """Rows of one episode whose context was only appended to, made one.

    A row is joined to the one before it in its episode when its prompt starts with all ids of that row, completion included, and
    the same weights drew both. Every learned token keeps its context, mask, logprob, advantage and weight; it is computed once
    rather than once per later call. Rows come in the order of their turns; a merged row stands in the place of its first.
    """
    result: list[Row] = []
    last: dict[str, int] = {}  # episode -> place in result
    for row in rows:
        place = last.get(row.episode)
        if place is not None and _extends(result[place], row):
            result[place] = _joined(result[place], row)
        else:
            last[row.episode] = len(result)
            result.append(row)
    return result


def without_zeros(rows: Sequence[Row]) -> list[Row]:
    """The rows that move anything: with no KL term, one whose advantages are all 0 has no gradient."""
    return [row for row in rows if any(row.advantages)]


def deal(rows: Sequence[Row], ranks: int, per_batch: int, batches: int | None = None) -> list[list[list[Row]]]:
    """``[rank][micro-batch][row]``: as many micro-batches of ``per_batch`` rows on every rank, filled up with ``PADDING``.

    Their number is ceil(rows / (ranks * per_batch)), at least 1, or ``batches``. Rows that begin alike are neighbours, so that a
    batch computes once what they share (``training.prefix``) and its rows are of like length; the longest batch goes first, so
    that what does not fit into memory shows at once. The order of ``rows`` does not matter. ValueError: they do not fit into
    ``batches``.
    """
    needed = max(1, math.ceil(len(rows) / (ranks * per_batch)))
    if batches is not None and batches < needed:
        raise ValueError(
            f"{len(rows)} rows for {ranks} ranks x {batches} batches x {per_batch}; expected {needed} batches or more"
        )
    block = ranks * per_batch
    ordered = sorted(rows, key=lambda row: (row.ids, row.episode, row.slot))
    ordered += [PADDING] * ((batches or needed) * block - len(ordered))
    blocks = [ordered[start : start + block] for start in range(0, len(ordered), block)]
    blocks.sort(key=lambda one: -sum(len(row.ids) for row in one))  # stable: equal ones stay in their order
    return [[one[rank::ranks] for one in blocks] for rank in range(ranks)]


def _row(episode: Episode, index: int, reason: str, advantage: float, weight: float) -> Row:
    row = Row.from_turn(episode.turns[index], episode, reason)
    return replace(row, advantage=[advantage * m for m in row.mask], weight=[weight * m for m in row.mask])


def _extends(first: Row, second: Row) -> bool:
    prompt = second.ids[: second.mask.index(1)]
    same = (first.group, first.policy_version) == (second.group, second.policy_version)
    return same and prompt[: len(first.ids)] == first.ids


def _joined(first: Row, second: Row) -> Row:
    """``first``'s operation stands for both; the slots and reasons of both are told."""
    cut = len(first.ids)
    return replace(
        second,
        mask=first.mask + second.mask[cut:],
        logprobs=first.logprobs + second.logprobs[cut:],
        advantage=first.advantages + second.advantages[cut:],
        weight=first.weights + second.weights[cut:],
        operation=first.operation,
        slot=f"{first.slot} + {second.slot}",
        reason=f"{first.reason} | {second.reason}",
    )
