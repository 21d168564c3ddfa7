"""A recipe as written: the raw values of its YAML file and of its overrides, and the place each key came from."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from amemgym_train.errors import UserError


@dataclass
class Source:
    """``places`` maps a dotted key to where it was written: ``file.yaml:12`` or ``override a.b=1``."""

    path: Path
    values: dict[str, Any]
    places: dict[str, str]
    problems: list[str] = field(default_factory=list)

    def place(self, key: str) -> str:
        """Where ``key``, or the nearest section that holds it, was written."""
        key = key.partition("[")[0]  # an item of a list stands where the list does
        while key and key not in self.places:
            key = key.rpartition(".")[0]
        return self.places.get(key, str(self.path))

    def override(self, text: str) -> None:
        """Sets one ``dotted.key=value``; the value is YAML. A malformed override is noted in ``problems``."""
        key, equals, value = text.partition("=")
        parts = key.strip().split(".")
        if not equals or not all(parts):
            self.problems.append(f"override {text!r}: expected dotted.key=value, for instance evolution.iterations=3")
            return
        section = self.values
        for part in parts[:-1]:
            below = section.get(part)
            section[part] = dict(below) if isinstance(below, dict) else {}  # a copy: an alias in YAML shares its section
            section = section[part]
        try:
            section[parts[-1]] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            self.problems.append(f"override {text!r}: {value!r} is no YAML value ({_first_line(error)})")
        self.places[".".join(parts)] = f"override {text}"


def read_source(path: str | Path | None, overrides: list[str]) -> Source:
    """Reads the file (None: no file) and applies the overrides. Raises UserError for one that is absent or no YAML mapping."""
    source = Source(Path("recipe"), {"name": "unnamed"}, places={}) if path is None else _read_file(Path(path))
    for override in overrides:
        source.override(override)
    return source


def _read_file(path: Path) -> Source:
    try:
        text = path.read_text(encoding="utf-8")
        values, node = yaml.safe_load(text), yaml.compose(text, Loader=yaml.SafeLoader)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        near = sorted(str(other) for other in path.parent.glob("*.yaml"))
        raise UserError(f"{path}: no such recipe" + (f"; in that folder: {', '.join(near)}" if near else "")) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # PyYAML lets bad dates and huge numbers out as ValueError
        raise UserError(f"{path} is not YAML that makes sense: {error}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path}: expected a mapping of sections (policy, agent, scenarios, ...), got {type(values).__name__}")
    source = Source(path, values, places={})
    _note_places(source, node, "")
    return source


def _note_places(source: Source, node: yaml.Node, prefix: str) -> None:
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if value is node:
            raise UserError(f"{source.path}:{key.start_mark.line + 1}: {prefix}{key.value} is an alias of its own section")
        name, place = prefix + str(key.value), f"{source.path}:{key.start_mark.line + 1}"
        if name in source.places:  # YAML itself would let the last one win in silence
            source.problems.append(f"{name} ({place}): written before at {source.places[name]}; keep one")
        source.places[name] = place
        _note_places(source, value, f"{name}.")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
