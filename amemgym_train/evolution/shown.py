"""What W&B is shown of an iteration besides figures: the episodes of its validation with their diagnosis, adapter and prompts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.rollout.records import Episode
from amemgym_train.tracking.tracker import Tracker

COLUMNS = ("user", "period", "question", "golden", "response", "correct", "outcome", "memory")


def show_episodes(tracker: Tracker, iteration: int, folder: Path) -> None:
    """A table of the episodes in ``folder``; none where it was removed, or where no board shows tables."""
    from amemgym_train.evolution.plays import load_folder

    most = tracker.config.episodes
    if most and folder.is_dir() and tracker.shows("episodes", iteration):
        tracker.table(COLUMNS, rows(load_folder(folder)[:most]), iteration, "episodes")


def keep(tracker: Tracker, kind: str, iteration: int, folder: Path, previous: int, passed: bool, about: dict[str, Any]) -> None:
    """The ``folder`` (an adapter's or the prompts') as an artifact; ``previous``: the iteration that it goes on from, 0 for
    what the run started with."""
    if tracker.config.artifacts and folder.is_dir() and tracker.shows(kind, iteration):
        aliases = ["latest", *(["best"] if passed else []), alias(iteration)]
        tracker.keep(kind, iteration, folder, aliases, alias(previous) if previous else None, {"iteration": iteration, **about})


def alias(iteration: int) -> str:
    return f"iteration-{iteration:03d}"


def rows(episodes: Sequence[Episode]) -> list[list[Any]]:
    """A row of COLUMNS for every answer; choices count from 0. An unscorable episode has one row, whose outcome is its error;
    of one that was played without probes no outcome is known."""
    found: list[list[Any]] = []
    for episode in episodes:
        if episode.error is not None:
            found.append([episode.task, *[None] * 5, f"unscorable: {episode.error}", ""])
            continue
        outcomes = {(cell.period, cell.question): cell.outcome for cell in diagnose(episode).cells} if episode.probes else {}
        for answer in episode.answers:
            place = answer.period, answer.question
            given = answer.golden, answer.response, answer.correct
            found.append([episode.task, *place, *given, outcomes.get(place), memory_text(episode, answer.period)])
    return found


def memory_text(episode: Episode, period: int) -> str:
    """The memory that the questions of ``period`` were answered with, an entry a line."""
    entries = next((memory.entries for memory in reversed(episode.memories) if memory.period <= period), [])
    return "\n".join(f"{entry['label']}: {entry['value']}" for entry in entries)
