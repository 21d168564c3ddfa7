"""From a step's episodes to the micro-batches of rows that every process trains on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit import advantages as estimators
from amemgym_train.credit.advantages import Signal, advantages
from amemgym_train.credit.gae import per_turn
from amemgym_train.credit.rewards import Reward, Rewards, rewarded
from amemgym_train.credit.rows import merged, rows_of, without_zeros
from amemgym_train.credit.scored import Call, calls_of, rows_with
from amemgym_train.credit.updates import dealt
from amemgym_train.diagnosis.operations import OUTCOMES, Diagnosis, diagnose, shares
from amemgym_train.rollout.records import Episode, Row, Turn

Gather = Callable[[list[Any]], list[Any]]  # the lists of all processes in one; the same on each of them
Drifted = Callable[[Sequence[Turn]], int]  # how many calls' tokens would change if their text was encoded again


@dataclass
class Credited:
    """``batches``: this process's micro-batches of all updates, in their order.

    ``tokens``: trained tokens of all processes. Weights of an episode sum to 1; times ``scale`` their sum over all processes is
    ``tokens``, so that a token weighs 1 on average and means over tokens come out as means.
    """

    batches: list[list[Row]]
    tokens: int
    scale: float
    figures: dict[str, float] = field(default_factory=dict)


def credited(
    episodes: Sequence[Episode],
    config: CreditConfig,
    *,
    method: str,
    gather: Gather,
    per_batch: int,
    batches: int,
    longest: int,
    keep_zeros: bool,
    epochs: int = 1,
    parts: int = 1,
    seed: str = "",
    drifted: Drifted = lambda turns: 0,
    extra: Sequence[Row] = (),
) -> Credited:
    """This process's ``episodes``, rewarded and compared with those of all, as ``batches`` micro-batches of ``per_batch`` rows.

    So many for each of ``epochs`` x ``parts`` updates; ``seed`` says which rows meet in a part (``credit.updates``).

    Unscorable episodes take no part. ``longest``: most tokens of a completion, for Dr. GRPO's weights. ``keep_zeros``: rows
    without an advantage stay (a KL term acts on them, too). ``drifted`` counts for the figures only: rows hold the tokens drawn.
    ``extra``: rows of other origin, with advantages and weights of their own, which are dealt with the rest.
    """
    diagnoses = _diagnosed(episodes)
    played = [episode for episode in episodes if episode.id in diagnoses]
    rewards = {episode.id: rewarded(episode, diagnoses[episode.id], config) for episode in played}
    signals = gather([signal for episode in played for signal in signals_of(episode, rewards[episode.id])])
    values = advantages(signals, method, config)
    by_call = {(signal.episode, signal.slot): value for signal, value in zip(signals, values, strict=True)}
    rows: list[Row] = []
    joined = 0
    for episode in played:
        earned = {i: by_call[episode.id, _place(episode.turns[i], reward)] for i, reward in rewards[episode.id].items()}
        single = rows_of(episode, rewards[episode.id], earned, config, longest)
        rows += (whole := merged(single))
        joined += len(single) - len(whole)
    kept = rows if keep_zeros else without_zeros(rows)
    own = dealt([*kept, *extra], gather=gather, seed=seed, epochs=epochs, parts=parts, per_batch=per_batch, batches=batches)
    total = _total(
        {
            "tokens": sum(map(learned, [*kept, *extra])),
            "rows": len(kept),
            "dropped": len(rows) - len(kept),
            "merged": joined,
            **_counted(episodes, diagnoses, drifted),
        },
        gather,
    )
    trained_on = len({signal.episode for signal in signals if signal.value is not None})
    figures = estimators.figures(signals, values) | _shown(total)
    scale = total["tokens"] / trained_on if trained_on else 0.0
    return Credited(own, total["tokens"], scale, figures)


def called(
    episodes: Sequence[Episode],
    config: CreditConfig,
    *,
    gather: Gather,
    longest: int,
    drifted: Drifted = lambda turns: 0,
) -> tuple[list[list[Call]], Credited]:
    """The calls of each of this process's ``episodes`` for a critic to judge, and a batch whose rows are still to be dealt.

    ``reward/<operation>`` are the scheme's rewards as ``credited`` shows them, before an outcome is made to enter once.
    """
    diagnoses = _diagnosed(episodes)
    played = [episode for episode in episodes if episode.id in diagnoses]
    shown = [signal for episode in played for signal in signals_of(episode, rewarded(episode, diagnoses[episode.id], config))]
    calls = [calls_of(episode, per_turn(episode, diagnoses[episode.id], config), config, longest) for episode in played]
    calls = [one for one in calls if one]
    rows = [row for one in calls for row in rows_with(one)]
    total = _total(
        {
            "tokens": sum(map(learned, rows)),
            "rows": len(rows),
            "dropped": 0,
            "merged": sum(map(len, calls)) - len(rows),
            "trained_on": len(calls),
            **_counted(episodes, diagnoses, drifted),
        },
        gather,
    )
    scale = total["tokens"] / total["trained_on"] if total["trained_on"] else 0.0
    return calls, Credited([], total["tokens"], scale, estimators.figures(gather(shown)) | _shown(total))


def signals_of(episode: Episode, rewards: Rewards) -> list[Signal]:
    """One per trained turn, in the episode's order; one for all turns that share the reward of the whole."""
    found: dict[str, Signal] = {}
    for index, reward in sorted(rewards.items()):
        place = _place(episode.turns[index], reward)
        found.setdefault(place, Signal(episode.group, place, episode.id, None if reward is None else reward.value))
    return list(found.values())


def _place(turn: Turn, reward: Reward | None) -> str:
    """Where a call is compared: at its slot; or, paid with what the whole episode earned, wherever such an episode is."""
    return turn.operation if reward is not None and reward.whole else turn.slot


def learned(row: Row) -> int:
    """The tokens of a row that are learned."""
    return sum(row.mask)


def _diagnosed(episodes: Sequence[Episode]) -> dict[str, Diagnosis]:
    return {episode.id: diagnose(episode) for episode in episodes if episode.error is None}


def _counted(episodes: Sequence[Episode], diagnoses: dict[str, Diagnosis], drifted: Drifted) -> dict[str, float]:
    """What this process played."""
    return {
        "episodes": len(episodes),
        "unscorable": len(episodes) - len(diagnoses),
        **_outcomes(episodes, diagnoses),
        **_calls([episode for episode in episodes if episode.id in diagnoses], drifted),
    }


def _total(local: dict[str, float], gather: Gather) -> dict[str, float]:
    everywhere = gather([local])
    keys = dict.fromkeys(key for part in everywhere for key in part)  # of what only some processes played, too
    return {key: sum(part.get(key, 0) for part in everywhere) for key in keys}


def _outcomes(episodes: Sequence[Episode], diagnoses: dict[str, Diagnosis]) -> dict[str, float]:
    """Sums over episodes: of goals their scores and successes, of users what failed."""
    if acting := [episode for episode in episodes if episode.acts and episode.id in diagnoses]:
        return {f"shares/{name}": sum(float(getattr(one, name)) for one in acting) for name in ("score", "success")}
    found = shares(diagnoses.values()) if diagnoses else dict.fromkeys(OUTCOMES, 0.0)
    return {f"shares/{name}": share * len(diagnoses) for name, share in found.items()}


def _calls(episodes: Sequence[Episode], drifted: Drifted) -> dict[str, int]:
    turns = [turn for episode in episodes for turn in episode.turns if turn.completion_ids]
    return {
        "calls": len(turns),
        "sampled": sum(len(turn.completion_ids) for turn in turns),
        "truncated": sum(turn.finish_reason == "length" for turn in turns),
        "unparsed": sum(turn.meta.get("parsed") == "failed" for turn in turns),
        "drifted": drifted(turns),
    }


def _shown(total: dict[str, float]) -> dict[str, float]:
    played, calls = max(total["episodes"] - total["unscorable"], 1), max(total["calls"], 1)
    return {
        "episodes": total["episodes"],
        "rows": total["rows"],
        "rows_dropped": total["dropped"],
        "rows_merged": total["merged"],
        "tokens_trained": total["tokens"],
        "tokens_sampled": total["sampled"],
        "unscorable": total["unscorable"] / max(total["episodes"], 1),
        "truncated": total["truncated"] / calls,
        "unparsed": total["unparsed"] / calls,
        "reencoding_drift": total["drifted"] / calls,
        **{name: value / played for name, value in total.items() if name.startswith("shares/")},
    }
