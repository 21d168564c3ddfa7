"""What a check says."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Result:
    """``level``: green, yellow (nothing is wrong, but look at it) or red. ``figures``: what was measured, ready for JSON.
    ``remedy``: what to do next, of every red one."""

    name: str
    level: str
    message: str
    remedy: str = ""
    figures: dict[str, Any] = field(default_factory=dict)


class Fault(Exception):
    """An environment breaks its contract. ``remedy``: what mends it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def short(value: object, length: int = 90) -> str:
    """``value`` as a piece of a message: its beginning, on one line."""
    text = repr(value)
    return text if len(text) <= length else f"{text[:length]}... ({len(text):,} characters)"
