"""The processes of a run: one on a laptop, several under ``accelerate launch``. Everything here does nothing special for one."""

from collections.abc import Sequence
from functools import cache
from typing import TypeVar

Item = TypeVar("Item")


@cache
def _state():
    from accelerate import PartialState

    return PartialState()


def is_main() -> bool:
    return _state().is_main_process


def rank() -> int:
    return _state().process_index


def wait() -> None:
    """Return when every process has come here."""
    _state().wait_for_everyone()


def share(items: Sequence[Item]) -> list[Item]:
    """This process's part of ``items``, dealt in turn; each item goes to exactly one process."""
    return list(items[_state().process_index :: _state().num_processes])
