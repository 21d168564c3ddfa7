"""Rejection sampling: which turns of a rollout are worth imitating, and why (best of n per slot).

A write turn is kept when everything it was shown was known right after it, a read turn (a probe) when every state was named
right, an answer turn when the right choice was picked. Among the kept turns of one slot across a group, the best goes first.

In environments with a goal whole episodes are chosen: those of a group that were a success, in few steps first.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Protocol, TypeVar

from amemgym_train.config.training import TrainingConfig
from amemgym_train.diagnosis.operations import Diagnosis
from amemgym_train.rollout.records import Episode, Row, Turn, write_of


class OfOperation(Protocol):
    """What is trained on and belongs to a kind of call."""

    operation: str


Chosen = TypeVar("Chosen", bound=OfOperation)


@dataclass(frozen=True)
class Candidate:
    """A turn that may be kept. ``merit`` (0 to 1) ranks it within its slot, higher first; ``reason`` is for display."""

    episode: Episode
    turn: Turn
    merit: float
    reason: str

    @property
    def rank(self) -> tuple[bool, float, bool, int, float, str]:
        """Sorts best first: without a reflection, merit, strict before repaired, short before long, likely before unlikely."""
        likelihood = sum(self.turn.logprobs) / max(len(self.turn.logprobs), 1)
        strict = self.turn.meta.get("parsed") == "strict"
        return ("try" in self.turn.meta, -self.merit, not strict, len(self.turn.completion_ids), -likelihood, self.episode.id)


def candidates(episode: Episode, diagnosis: Diagnosis, known_answers_only: bool = False) -> Iterator[Candidate]:
    """The turns of one episode that earned being imitated. A reply that was cut off, or could not be read, never did: what came
    out right after it was luck."""
    whole = {i for i, turn in enumerate(episode.turns) if _may_be_kept(turn)}
    for index in sorted(whole & set(diagnosis.known_after) & changed(episode)):
        known = diagnosis.known_after[index]
        if known and all(known.values()):
            lasting = [value for value in diagnosis.persistence[index].values() if value is not None]
            merit = sum(lasting) / len(lasting)
            reason = f"{', '.join(known)} known right after it; right in {merit:.0%} of later probes"
            yield Candidate(episode, episode.turns[index], merit, reason)
    for probe in episode.probes:
        if probe.turn in whole and all(probe.known(state) for state in probe.expected):
            yield Candidate(episode, episode.turns[probe.turn], 1.0, f"{', '.join(probe.expected)} named right")
    cells = {(cell.period, cell.question): cell for cell in diagnosis.cells}
    for answer in episode.answers:
        known = all(cells[answer.period, answer.question].known.values())
        if answer.turn in whole and answer.correct and (known or not known_answers_only):
            reason = "right choice, states known" if known else "right choice, states not known"
            yield Candidate(episode, episode.turns[answer.turn], 1.0 if known else 0.5, reason)


def successes(episodes: Iterable[Episode], config: TrainingConfig) -> Iterator[Candidate]:
    """The acts of the ``keep_per_slot`` best of each group's successful episodes: the same in fewer steps is better."""
    groups: dict[str, list[Episode]] = defaultdict(list)
    for episode in episodes:
        if episode.success:
            groups[episode.group].append(episode)
    for group in groups.values():
        group.sort(key=lambda one: (len(one.turns), sum(len(turn.completion_ids) for turn in one.turns), one.id))
        for episode in group[: config.keep_per_slot]:
            reason = f"success in {len(episode.turns)} steps"
            yield from (Candidate(episode, turn, 1.0, reason) for turn in episode.turns if _may_be_kept(turn))


def new_and_grounded(turn: Turn) -> bool:
    """Whether a call of a second try (``reflection.retry``) was made anew, and rests on what it was given; others always do."""
    return turn.meta.get("try") != "replayed" and turn.meta.get("grounded", True)


def _may_be_kept(turn: Turn) -> bool:
    return turn.finish_reason == "stop" and turn.meta.get("parsed") != "failed" and new_and_grounded(turn)


def changed(episode: Episode) -> set[int]:
    """The calls of writes that left another memory than they found; where nothing was written, right probes were luck.

    A snapshot belongs to the last call of a write.
    """
    before = [[], *(memory.entries for memory in episode.memories)]
    grown = zip(episode.memories, before, strict=False)
    last = [memory.turn for memory, old in grown if memory.turn is not None and memory.entries != old]
    writes = {write_of(episode.turns[index].slot) for index in last}
    return {i for i, turn in enumerate(episode.turns) if turn.operation == "write" and write_of(turn.slot) in writes}


def select(
    episodes: Iterable[Episode], diagnoses: dict[str, Diagnosis], config: TrainingConfig, seed: int = 0
) -> list[Row]:
    """Training rows of a rollout: the best ``keep_per_slot`` turns of each (group, slot), none twice.

    ``diagnoses`` by episode id; unscorable episodes have none and are passed over. ``max_rows`` is shared out evenly between
    operations.
    """
    slots: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    episodes = list(episodes)
    for candidate in successes([episode for episode in episodes if episode.acts and episode.id in diagnoses], config):
        slots[candidate.episode.group, candidate.turn.slot].append(candidate)
    for episode in episodes:
        if episode.id in diagnoses and not episode.acts:
            for candidate in candidates(episode, diagnoses[episode.id], config.known_answers_only):
                if candidate.turn.operation in config.operations:
                    slots[episode.group, candidate.turn.slot].append(candidate)
    rows: list[Row] = []
    seen: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    for slot in sorted(slots):
        kept = 0
        for candidate in sorted(slots[slot], key=lambda one: one.rank):
            key = (tuple(candidate.turn.prompt_ids), tuple(candidate.turn.completion_ids))
            if kept < config.keep_per_slot and key not in seen:
                seen.add(key)
                kept += 1
                rows.append(Row.from_turn(candidate.turn, candidate.episode, candidate.reason))
    return rows if config.max_rows is None else share_out(rows, config.max_rows, seed)


def share_out(rows: list[Chosen], limit: int, seed: int) -> list[Chosen]:
    """At most ``limit`` rows (or pairs), drawn at random and dealt in turn from each operation until it has no more."""
    piles: dict[str, list[Chosen]] = defaultdict(list)
    for row in Random(seed).sample(rows, len(rows)):
        piles[row.operation].append(row)
    dealt: list[Chosen] = []
    while len(dealt) < limit and any(piles.values()):
        for operation in sorted(piles):
            if piles[operation] and len(dealt) < limit:
                dealt.append(piles[operation].pop())
    return dealt
