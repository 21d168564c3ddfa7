"""Episodes kept piece by piece, one per period, so that a run that was stopped goes on in the period where it stopped."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from amemgym_train.rollout.records import Episode
from amemgym_train.rollout.store import load_episodes, save_episodes

GROWING = ("turns", "rewards", "answers", "probes", "memories", "states")  # lists of an episode, in the order of time
POINTING = ("answers", "probes", "memories")  # those whose records name a turn


class Pieces:
    """The pieces of one episode: ``<folder>/period_000.parquet``, ... Each is an episode of one period, whole or not at all; the
    last one has the score and the success.

    UserError: a piece cannot be read or written; the message names it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def resume(self, episode: Episode) -> int:
        """Add every period that is kept to ``episode``, which has none; returns the first that is not."""
        period = 0
        while (path := self._path(period)).is_file():
            [piece] = load_episodes(path)
            shift = len(episode.turns)
            for name in GROWING:
                records = getattr(piece, name)
                getattr(episode, name).extend(_moved(records, shift) if name in POINTING else records)
            episode.score, episode.success = piece.score, piece.success
            period += 1
        return period

    def keep(self, episode: Episode, since: dict[str, int], period: int) -> None:
        """Write what ``episode`` has gained ``since`` (see ``lengths``), which is ``period``."""
        grown = {name: getattr(episode, name)[since[name] :] for name in GROWING}
        for name in POINTING:
            grown[name] = _moved(grown[name], -since["turns"])
        about = {name: getattr(episode, name) for name in ("environment", "task", "seed", "group", "score", "success")}
        piece = Episode(**about, **grown)
        save_episodes(self._path(period), [piece])

    def _path(self, period: int) -> Path:
        return self.folder / f"period_{period:03d}.parquet"


def lengths(episode: Episode) -> dict[str, int]:
    return {name: len(getattr(episode, name)) for name in GROWING}


def _moved(records: list[Any], by: int) -> list[Any]:
    return [record if record.turn is None else replace(record, turn=record.turn + by) for record in records]
