"""What a check says."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["green", "yellow", "red"]


@dataclass(frozen=True)
class Finding:
    """``name``: of the check; ``remedy``: the command to run or the recipe key to set, which every red finding has."""

    name: str
    level: Level
    message: str
    remedy: str = ""

    def __post_init__(self) -> None:
        if self.level == "red" and not self.remedy:
            raise ValueError(f"{self.name}: a red finding needs a remedy, got none beside: {self.message}")


def green(name: str, message: str) -> Finding:
    return Finding(name, "green", message)


def yellow(name: str, message: str, remedy: str = "") -> Finding:
    return Finding(name, "yellow", message, remedy)


def red(name: str, message: str, remedy: str) -> Finding:
    return Finding(name, "red", message, remedy)
