"""``amemgym-train envs``: what environments there are, and whether one keeps its contract."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from amemgym_envs.core import EnvCard


def envs(arguments: argparse.Namespace) -> int:
    """List the environments, or check some. 0: nothing is red; 1: something is. UserError: one cannot be made."""
    if arguments.action == "check":
        return _check(arguments)
    from amemgym_envs.registry import cards

    facts = [_facts(card) for card in cards()]
    if arguments.json:
        print(json.dumps(facts, indent=2))
    else:
        _show(facts)
    return 0


def _facts(card: "EnvCard") -> dict[str, Any]:
    from amemgym_envs.registry import lacking

    missing = lacking(card)
    facts = asdict(card) | {"missing": missing, "install": _install(card) if missing else ""}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in facts.items()}


def _install(card: "EnvCard") -> str:
    return f"pip install 'amemgym-train[{card.extra}]'" if card.extra else f"pip install {' '.join(card.requires)}"


def _show(facts: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_lines=True)
    for heading in ("environment", "what it is, and a success", "tasks", "score", "steps", "needs"):
        table.add_column(heading, overflow="fold")
    for one in facts:
        tasks = [f"{'any' if count is None else format(count, ',')} {split}" for split, count in one["splits"].items()]
        low, high = one["score"]
        needs = Text(f"lacks {', '.join(one['missing'])}", "yellow") if one["missing"] else Text("all there", "green")
        about = Text(f"{one['summary'][:1].upper()}{one['summary'][1:].rstrip('.')}.\nSuccess: {one['success']}.")
        steps = str(one["step_cap"] or "by task")
        table.add_row(one["id"].rpartition("-v")[0], about, "\n".join(tasks), f"{low:g} to {high:g}", steps, needs)
    Console().print(table)
    for one in facts:
        if one["missing"]:
            print(f"{one['id']} -> {one['install']}")


def _check(arguments: argparse.Namespace) -> int:
    from amemgym_train.doctor.finding import Finding
    from amemgym_train.doctor.report import show

    names = [name.strip() for name in arguments.names.split(",") if name.strip()]
    if not names:
        raise UserError("envs check: no environment is named; they are listed by: amemgym-train envs")
    found = [row for name in names for row in _rows(name, arguments)]
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        keys = ("level", "message", "remedy")
        prefix = "{environment} {name}" if len(names) > 1 else "{name}"
        show([Finding(prefix.format(**row), *(row[key] for key in keys)) for row in found])
    return int(any(row["level"] == "red" for row in found))


def _rows(name: str, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    from amemgym_envs import registry
    from amemgym_envs.check import check, plan

    try:
        known = None if ":" in name else registry.full_name(name)
        if known and (missing := registry.lacking(card := registry.class_of(known).card)):
            raise UserError(f"envs check: {known} needs {', '.join(missing)}, not installed: {_install(card)}")
        amounts = {key: getattr(arguments, key) for key in ("seeds", "tasks", "garbage", "seconds")}
        planned = plan(known or name, _options(arguments.options), **amounts)
        planned.build()
    except (ValueError, TypeError, OSError) as error:
        raise UserError(f"envs check: {name}: {error}") from error
    for result in check(planned):
        yield {"environment": known or name} | asdict(result)


def _options(words: list[str]) -> dict[str, Any]:
    """UserError: a word is no KEY=VALUE, or its value no YAML."""
    import yaml

    options = {}
    for word in words:
        key, given, value = word.partition("=")
        if not given or not key.isidentifier():
            raise UserError(f"--options: {word!r}, expected KEY=VALUE, for instance mode=agentgym")
        try:
            options[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise UserError(f"--options: {word!r} has no value that YAML can read: {error}") from error
    return options
