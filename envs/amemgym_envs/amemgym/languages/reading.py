"""Language packs read from their folders; every complaint names the file and what was expected there."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.files import read_yaml
from amemgym_envs.amemgym.languages.pack import Joiners, Wording
from amemgym_envs.amemgym.languages.variable import Variable

_ELSEWHERE = {"language", "variables", "off_topic", "personas"}  # of Wording, not in talk.yaml


def read_variables(path: Path) -> tuple[Variable, ...]:
    """The variables of one domain: ``path`` is its file, named after it."""
    expected = {f.name for f in fields(Variable)} - {"domain"}
    variables = []
    for entry in _is_a(read_yaml(path), list, path):
        if not isinstance(entry, dict) or set(entry) != expected:
            got = sorted(map(str, entry)) if isinstance(entry, dict) else entry
            name = entry.get("name") if isinstance(entry, dict) else None
            raise ScenarioError(f"{path.name}: variable {name!r} has keys {got}, expected {sorted(expected)}")
        try:
            variables.append(Variable(domain=path.stem, **_frozen(entry)))
        except (ScenarioError, TypeError, AttributeError, KeyError) as error:
            raise ScenarioError(f"{path.parent.parent.name}/variables/{path.name}: {error}") from error
    return tuple(variables)


def read_pack(folder: Path) -> Wording:
    """The language pack in ``folder``; ScenarioError names the file and what is wrong with it."""
    talk = _is_a(read_yaml(folder / "talk.yaml"), dict, folder / "talk.yaml")
    domains = _is_a(talk.pop("domains", []), list, folder / "talk.yaml")
    variables = [v for domain in domains for v in read_variables(folder / "variables" / f"{domain}.yaml")]
    off_topic = _is_a(read_yaml(folder / "off_topic.yaml"), list, folder / "off_topic.yaml")
    personas = _is_a(read_yaml(folder / "personas.yaml"), dict, folder / "personas.yaml")
    for name, keys in (
        ("talk", {f.name for f in fields(Wording)} - _ELSEWHERE),
        ("talk.joiners", {f.name for f in fields(Joiners)}),
    ):
        found = talk if name == "talk" else talk["joiners"]
        if not isinstance(found, dict) or set(found) != keys:
            got = sorted(map(str, found)) if isinstance(found, dict) else found
            raise ScenarioError(f"{folder / 'talk.yaml'}: {name} has keys {got}, expected {sorted(keys)}")
    joiners = Joiners(**talk.pop("joiners"))
    return Wording(
        language=folder.name,
        variables=tuple(variables),
        off_topic=tuple(off_topic),
        personas=_frozen(personas),
        joiners=joiners,
        **_frozen(talk),
    )


def _is_a(value: Any, kind: type, path: Path) -> Any:
    if not isinstance(value, kind):
        raise ScenarioError(f"{path}: got a {type(value).__name__}, expected a {kind.__name__}")
    return value


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(entry) for key, entry in value.items()}
    return tuple(_frozen(entry) for entry in value) if isinstance(value, list) else value
