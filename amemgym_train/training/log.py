"""What a training's steps showed, as it is saved: the same however fast the machine was and however often it was interrupted."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

UNSTEADY = ("step_time", "num_tokens", "total_flos")  # of the process, or counted from its start


def steady(log: Sequence[Mapping[str, Any]], every: int = 1) -> list[dict[str, Any]]:
    """The entries of a trainer's log that have a loss: of ``every`` logged steps the last, with their mean loss.

    Their keys are sorted, as those are that a trainer reads back from its checkpoint.
    """
    entries = [{key: entry[key] for key in sorted(entry.keys() - {*UNSTEADY})} for entry in log if "loss" in entry]
    return list(_thinned(entries, every))


def mean_loss(log: Sequence[Mapping[str, Any]]) -> float:
    """Over all logged steps, also those of processes that were killed; the trainer's own is over the last process's."""
    return fmean(entry["loss"] for entry in log if "loss" in entry)


def _thinned(entries: list[dict[str, Any]], every: int) -> Iterator[dict[str, Any]]:
    for _, window in groupby(enumerate(entries), key=lambda numbered: numbered[0] // every):
        together = [entry for _, entry in window]
        yield together[-1] | {"loss": fmean(entry["loss"] for entry in together)}
