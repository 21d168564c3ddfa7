"""A JSON value that knows where it stands, so that every complaint about it names the item and the field."""

from dataclasses import dataclass
from typing import Any, NoReturn

from amemgym_envs.amemgym.errors import ScenarioError

_SHOWN = 80  # characters of an offending value that a message quotes


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


@dataclass(frozen=True)
class Node:
    """``value`` at ``path`` (``periods[2].state``) of ``item`` (``item 0 (id 1aed...)``)."""

    value: Any
    item: str
    path: str = ""

    def fail(self, expected: str) -> NoReturn:
        field = f", field {self.path}" if self.path else ""
        raise ScenarioError(f"{self.item}{field}: got {shown(self.value)}, expected {expected}")

    def is_a(self, kind: type, expected: str) -> Any:
        """The value if it has the type; a bool never passes for an int."""
        if not isinstance(self.value, kind) or (isinstance(self.value, bool) and kind is int):
            self.fail(expected)
        return self.value

    def text(self) -> str:
        return self.is_a(str, "a string")

    def optional_text(self) -> str | None:
        return None if self.value is None else self.text()

    def mapping(self) -> "dict[str, Node]":
        self.is_a(dict, "an object")
        return {key: Node(value, self.item, f"{self.path}.{key}" if self.path else key) for key, value in self.value.items()}

    def items(self, at_least: int = 0) -> "list[Node]":
        self.is_a(list, "a list")
        if len(self.value) < at_least:
            self.fail(f"a list of at least {at_least}")
        return [Node(value, self.item, f"{self.path}[{i}]") for i, value in enumerate(self.value)]

    def texts(self, at_least: int = 0) -> list[str]:
        return [node.text() for node in self.items(at_least)]

    def assignment(self) -> dict[str, str]:
        """An object whose values are strings: {info_type: value}."""
        return {key: node.text() for key, node in self.mapping().items()}

    def fields(self, *names: str) -> "tuple[dict[str, Node], dict[str, Any]]":
        """The named fields, all of them required, and whatever else the object holds (kept for a lossless round trip)."""
        mapping = self.mapping()
        for name in names:
            if name not in mapping:
                where = f" of {self.path}" if self.path else ""
                raise ScenarioError(
                    f"{self.item}: field {name!r}{where} is missing, got only {shown(sorted(mapping))}; "
                    "compare with a file that `amemgym-train generate --out data.json` writes"
                )
        return {n: mapping[n] for n in names}, {key: node.value for key, node in mapping.items() if key not in names}
