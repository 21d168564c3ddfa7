"""``amemgym-train validate``: a table of what is wrong with a data file, what it lacks, and its figures."""

import argparse
import asyncio
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amemgym_train.errors import UserError
from amemgym_train.rollout.progress import counted
from amemgym_train.scenarios.output import quiet_when_cut

if TYPE_CHECKING:
    from amemgym_envs.amemgym.validation import Report

SHOWN = 40  # violations that the table names; --json has them all


@quiet_when_cut
def validate(arguments: argparse.Namespace) -> int:
    """0 for valid data, or a valid language pack, 1 for one with violations."""
    from amemgym_envs.amemgym.errors import ScenarioError
    from amemgym_envs.amemgym.validation import validate as validated

    path = Path(arguments.data)
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; amemgym-train generate --out {path} writes one")
    if (path / "talk.yaml").is_file():
        return _language(path)
    count = None if arguments.tokenizer is None else _counter(arguments.tokenizer)
    reader = None if arguments.model is None else _reader(arguments, path)
    try:
        with counted(path.name, None, "items") as advance:
            reports = validated(path, count=count, reader=reader, advance=advance)
    except ScenarioError as error:
        raise UserError(str(error)) from error
    if arguments.json:
        print(json.dumps([report.to_dict() for report in reports], indent=2, ensure_ascii=False))
    else:
        for report in reports:
            _show(report, arguments.tokenizer)
    return 0 if all(report.valid for report in reports) else 1


def _language(folder: Path) -> int:
    """The rules of a language pack, so that no word of it gives a value away."""
    from amemgym_envs.amemgym.errors import ScenarioError
    from amemgym_envs.amemgym.languages import wording
    from amemgym_envs.amemgym.languages.rules import problems

    try:
        words = wording(f"{folder.parent}/{folder.name}")
    except ScenarioError as error:
        raise UserError(str(error)) from error
    found = problems(words)
    print("\n".join([*found, f"{folder}: {len(words.variables)} variables, {len(found)} problems"]))
    return 1 if found else 0


def _counter(reference: str) -> Callable[[str], int]:
    """Tokens by the tokenizer of a model reference; an off-topic text that many users say is counted once."""
    from transformers import AutoTokenizer

    from amemgym_train.policy.references import resolve

    try:
        tokenizer = AutoTokenizer.from_pretrained(resolve(reference))
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"--tokenizer {reference}: cannot be loaded ({str(error).splitlines()[0]}); check the name") from error

    @lru_cache(maxsize=100_000)
    def count(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    return count


def _reader(arguments: argparse.Namespace, path: Path) -> Callable[[list[Any]], list[dict[str, str | None]]]:
    from amemgym_envs.amemgym.llm import read_openings
    from amemgym_train.scenarios.generate import endpoint

    model = endpoint(arguments)
    journal = path.with_name(path.name + ".work") / "validation.jsonl"
    return lambda utterances: asyncio.run(read_openings(model, journal, utterances))


def _show(report: "Report", tokenizer: str | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    heading = f"{report.data}: {'valid' if report.valid else 'NOT VALID'}"
    console.print(heading, highlight=False, markup=False, soft_wrap=True)  # a title would be cut to the width of its table
    figures = Table(show_header=False)
    for name, value in report.figures.items():
        by = f" ({tokenizer or 'estimated from bytes'})" if name in ("tokens per user", "longest user") else ""
        figures.add_row(name + by, f"{value:.3f}" if isinstance(value, float) else "-" if value is None else f"{value:,}")
    console.print(figures)
    for lack in report.lacks:
        console.print(f"not checked, or missing: {lack}", highlight=False, markup=False)
    if report.violations:
        count = "1 violation" if len(report.violations) == 1 else f"{len(report.violations)} violations"
        table = Table("item", "period", "field", "problem", title=count, title_justify="left")
        for fault in report.violations[:SHOWN]:
            period = "-" if fault.period is None else str(fault.period)
            table.add_row(fault.item, period, fault.field, fault.problem)
        console.print(table, markup=False)
    if len(report.violations) > SHOWN:
        console.print(f"{len(report.violations) - SHOWN} more: --json shows all", highlight=False)
