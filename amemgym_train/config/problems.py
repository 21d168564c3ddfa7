"""The wording of what is wrong with a recipe: each problem with its key, its place, what was got and what is expected."""

from collections.abc import Iterator
from difflib import get_close_matches
from types import UnionType
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from amemgym_train.config.source import Source

EXPECTED = {
    "invalid_key": "a key that is text",
    "missing": "a value; it has no default",
    "string_type": "text (quote what looks like a number)",
    "string_pattern_mismatch": "text of the form {pattern}",
    "string_too_short": "text that is not empty",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a section of keys",
    "model_type": "a section of keys",
    "too_short": "at least {min_length} of them",
    "literal_error": "{expected}",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
}


def explain(error: ValidationError, model: type[BaseModel], source: Source) -> list[str]:
    """One line per key that ``error`` complains about: unknown keys first, then those whose value is wrong."""
    expected: dict[str, list[str]] = {}
    got: dict[str, str] = {}
    lines = []
    for detail in error.errors():
        key, section = _locate(detail["loc"], model)
        if detail["type"] == "extra_forbidden":
            lines.append(f"{key} ({source.place(key)}): no such key; {_suggest(key, section, model)}")
        elif detail["type"] == "value_error":
            lines.append(f"{key} ({source.place(key)}): {detail['ctx']['error']}")
        else:
            wording = EXPECTED.get(detail["type"])
            got[key] = "nothing" if detail["type"] == "missing" else _show(detail["input"])
            expected.setdefault(key, []).append(wording.format(**detail.get("ctx", {})) if wording else detail["msg"])
    for key, kinds in expected.items():  # a key that may be of several kinds was reported once by each of them
        lines.append(f"{key} ({source.place(key)}): got {got[key]}, expected {' or '.join(dict.fromkeys(kinds))}")
    return lines


def _locate(loc: tuple[int | str, ...], model: type[BaseModel]) -> tuple[str, type[BaseModel] | None]:
    """The dotted key that pydantic's ``loc`` means, and the model of the section that holds it."""
    key, section, inner, named = "", None, model, None
    for part in loc:
        if isinstance(part, int):
            key += f"[{part}]"
        elif named is not None:
            key, inner, named = f"{key}.{part}", named, None
        elif inner is not None and part != "[key]":  # below a leaf, loc only names the alternative of a union
            key, section, named, inner = f"{key}.{part}".lstrip("."), inner, _named_at(inner, part), _section_at(inner, part)
    return key, section


def _named_at(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The model of the sections that ``name`` holds under names that the recipe chooses."""
    annotation = model.model_fields[name].annotation if name in model.model_fields else None
    return get_args(annotation)[1] if get_origin(annotation) is dict and issubclass(get_args(annotation)[1], BaseModel) else None


def _section_at(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    annotation = model.model_fields[name].annotation if name in model.model_fields else None
    kinds = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)  # a section may be left out: X | None
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name in model.model_fields:
        yield prefix + name
        section = _section_at(model, name)
        if section is not None:
            yield from _keys(section, f"{prefix}{name}.")


def _suggest(key: str, section: type[BaseModel], model: type[BaseModel]) -> str:
    prefix, _, name = key.rpartition(".")
    elsewhere = [other for other in _keys(model) if other.rpartition(".")[2] == name]
    if elsewhere:
        return f"did you mean {' or '.join(elsewhere[:3])}?"
    near = get_close_matches(name, section.model_fields, n=1)
    if near:
        return f"did you mean {f'{prefix}.{near[0]}'.lstrip('.')}?"
    return f"known here: {', '.join(section.model_fields)}"


def _show(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else "a section" if isinstance(value, dict) else repr(value)
