"""Tools: what each is called, takes and gives, and how arguments are checked before it is."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

Draw = Callable[[np.random.Generator], Any]
TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "date": lambda value: isinstance(value, str) and _is_date(value),
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "any": lambda value: True,
}
WRITTEN = {"date": "date written YYYY-MM-DD", "any": "value"}  # where the name of the type does not say it
DRAWS: dict[str, Draw] = {
    "string": lambda rng: f"word{rng.integers(100)}",
    "integer": lambda rng: int(rng.integers(100)),
    "number": lambda rng: round(float(rng.uniform(-90, 90)), 2),
    "boolean": lambda rng: bool(rng.integers(2)),
    "date": lambda rng: (date(2023, 1, 1) + timedelta(days=int(rng.integers(365)))).isoformat(),
    "list": lambda rng: rng.integers(100, size=3).tolist(),
    "object": lambda rng: {},
    "any": lambda rng: int(rng.integers(100)),
}


class ToolError(Exception):
    """A tool cannot do what it is asked; the message says why and what would do. The agent reads it."""


@dataclass(frozen=True)
class Parameter:
    """``type``: a key of ``TYPES``. ``draw``: a value for an agent that acts blindly; None: any of the type."""

    name: str
    type: str
    description: str
    required: bool = True
    draw: Draw | None = None

    def __post_init__(self) -> None:
        if self.type not in TYPES:
            raise ValueError(f"parameter {self.name}: type {self.type!r}, expected one of {', '.join(TYPES)}")

    def __str__(self) -> str:
        optional = "" if self.required else ", may be left out"
        return f"{self.name} ({WRITTEN.get(self.type, self.type)}{optional}): {self.description}"


@dataclass(frozen=True)
class Tool:
    """``method`` is called with the session that the episode has opened and the arguments by name; what it returns is shown to
    the agent and must be a JSON value. It raises ToolError, and for no arguments of the right types anything else."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    returns: str
    method: Callable[..., Any]

    def check(self, arguments: Mapping[str, Any]) -> None:
        """ToolError: an argument is missing, unknown, or not of its type."""
        known = {parameter.name: parameter for parameter in self.parameters}
        takes = f"it takes {'; '.join(map(str, self.parameters))}" if known else "it takes no parameters"
        for name in arguments:
            if name not in known:
                raise ToolError(f"{self.name} has no parameter {name[:40]!r}; {takes}")
        for name, parameter in known.items():
            if name not in arguments:
                if parameter.required:
                    raise ToolError(f"{self.name} lacks the parameter {name!r}; {takes}")
            elif not TYPES[parameter.type](arguments[name]):
                got, expected = type_of(arguments[name]), WRITTEN.get(parameter.type, parameter.type)
                raise ToolError(f"{self.name}: parameter {name!r} is {got} {str(arguments[name])[:40]!r}, expected: {expected}")

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Arguments of the right types, drawn blindly."""
        return {parameter.name: (parameter.draw or DRAWS[parameter.type])(rng) for parameter in self.parameters}

    def describe(self) -> str:
        parameters = ", ".join(parameter.name for parameter in self.parameters)
        return f"{self.name}({parameters}): {self.description} Returns: {self.returns}."


def catalogue(*tools: Tool) -> dict[str, Tool]:
    """``tools`` by name, in order. ValueError: two of one name."""
    named = {tool.name: tool for tool in tools}
    if len(named) < len(tools):
        raise ValueError(f"two tools of one name among {', '.join(tool.name for tool in tools)}")
    return named


def describe(tools: Iterable[Tool]) -> str:
    """The tools, one a line, then what their parameters are: once, however many tools take one of the same name and meaning."""
    tools = list(tools)
    meanings: dict[str, list[str]] = {}
    for tool in tools:
        for parameter in tool.parameters:
            takers = meanings.setdefault(str(parameter), [])
            takers.append(tool.name)
    names = Counter(meaning.partition(" ")[0] for meaning in meanings)
    lines = [meaning if names[meaning.partition(" ")[0]] == 1 else f"{meaning} [{', '.join(takers)}]"
             for meaning, takers in meanings.items()]
    return "\n".join(["The tools:", *(tool.describe() for tool in tools), "", "Their parameters:", *lines])


def type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "list", dict: "object"}
    return f"the {names.get(type(value), 'value')}"


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False
