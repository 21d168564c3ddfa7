"""Validation of a data file, or of a folder with one file per split."""

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean

from amemgym_envs.amemgym.consistency import Fault, faults
from amemgym_envs.amemgym.dataset.manifest import manifest_path, read_manifest
from amemgym_envs.amemgym.dataset.stream import digest
from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.files import read_items
from amemgym_envs.amemgym.generator.filling import conversation_tokens
from amemgym_envs.amemgym.layout import parse
from amemgym_envs.amemgym.node import Node
from amemgym_envs.amemgym.records import Scenario
from amemgym_envs.amemgym.validation.calendar import calendar_faults
from amemgym_envs.amemgym.validation.choices import choice_faults, count_faults, wording_faults
from amemgym_envs.amemgym.validation.exposure import (
    Reader,
    exposes,
    exposure_faults,
    neutral_faults,
    reader_faults,
)
from amemgym_envs.amemgym.validation.origin import mark_faults, writer_of
from amemgym_envs.amemgym.validation.report import Report
from amemgym_envs.amemgym.validation.shortcuts import Shortcuts
from amemgym_envs.amemgym.validation.splits import Splits
from amemgym_envs.amemgym.validation.templates import off_topic_faults, opening_faults, question_faults

Count = Callable[[str], int]


def validate(
    path: Path, *, count: Count | None = None, reader: Reader | None = None, advance: Callable[[int], None] = lambda done: None
) -> list[Report]:
    """A report per data file of ``path``, and one on their splits when there are several files or splits.

    ``count`` counts tokens of a text by a named tokenizer; ``reader`` reads states from an utterance that no template wrote (a
    model). ``advance(done)`` is called after each item. ScenarioError for what cannot be read at all.
    """
    splits = Splits()
    reports = [_file(file, count, reader, splits, advance) for file in data_files(path)]
    if len(reports) > 1 or splits.several:
        reports.append(splits.report(str(path)))
    return reports


def data_files(path: Path) -> list[Path]:
    """The file itself, or the data files of a folder."""
    if not path.is_dir():
        return [path]
    files = [p for p in sorted(path.glob("*.json*")) if p.suffix in (".json", ".gz") and not p.name.endswith(".manifest.json")]
    if not files:
        raise ScenarioError(f"{path}: no .json or .json.gz in it; make some with amemgym-train generate --out {path}/train.json")
    return files


def _file(path: Path, count: Count | None, reader: Reader | None, splits: Splits, advance: Callable[[int], None]) -> Report:
    report, shortcuts = Report(str(path)), Shortcuts()
    listed = _listed(path)
    ids: set[str] = set()
    seen: list[tuple[str, str]] = []  # (name, digest) of every item, also of those that cannot be parsed
    lengths: list[float] = []
    made_here = True
    for number, item in enumerate(read_items(path)):
        scenario = _parsed(path, number, item, report)
        if scenario is not None:
            found = list(_item_faults(scenario, reader, report))
            report.violations += found
            if scenario.id in ids:
                report.violations.append(Fault(scenario.id, "id", "another item has the same id"))
            ids.add(scenario.id)
            made_here &= writer_of(scenario) is not None
            splits.add(path.name, scenario)
            if not found:  # figures are about items that can be played
                shortcuts.add(scenario)
                lengths.append(conversation_tokens(scenario, count))
        seen.append((_name(number, item), digest(item)))
        advance(number + 1)
    if not seen and not report.violations:
        report.violations.append(Fault("-", "-", "the file has no items"))
    if listed is None:
        report.lacks.append(f"no {manifest_path(path).name}: item hashes are not checked")
    else:
        report.violations += _manifest_faults(manifest_path(path).name, listed, seen)
    problems = shortcuts.problems()
    if made_here:
        report.violations += [Fault("-", "qas", problem) for problem in problems]
    else:
        report.lacks += [f"shortcut: {problem}" for problem in problems]
    report.figures = {"items": len(seen), **shortcuts.figures()}
    if lengths:
        report.figures |= {"tokens per user": round(fmean(lengths)), "longest user": round(max(lengths))}
    return report


def _parsed(path: Path, number: int, item: object, report: Report) -> Scenario | None:
    name = item.get("id") if isinstance(item, dict) else None
    try:
        return parse(Node(item, f"{path.name}, item {number} (id {name})"))
    except ScenarioError as error:
        report.violations.append(Fault(_name(number, item), "layout", str(error)))
        return None


def _name(number: int, item: object) -> str:
    """What a report calls an item: its id, or its place in the file when it has none."""
    return str(item["id"]) if isinstance(item, dict) and "id" in item else f"number {number}"


def _item_faults(scenario: Scenario, reader: Reader | None, report: Report) -> Iterator[Fault]:
    """Rules of the layout for every item; rules of our writers for items that say they come from one of them."""
    found = list(faults(scenario))
    yield from found
    yield from calendar_faults(scenario)
    yield from mark_faults(scenario)
    if found:
        return  # the rest takes values of the schema for granted
    yield from choice_faults(scenario)
    writer = writer_of(scenario)
    if writer is None:
        _note(report, "no generator key: what only our writers promise is not checked")
    if not exposes(scenario):
        if writer:
            yield Fault(scenario.id, "periods[0].sessions", "no session says which states it exposes")
        _note(report, "no exposed_states: whether each change is told, and can be read back, is not checked")
        return
    yield from exposure_faults(scenario)
    yield from neutral_faults(scenario)
    if writer:
        yield from count_faults(scenario)
        yield from off_topic_faults(scenario)
    if writer == "templates":
        yield from opening_faults(scenario)
        yield from wording_faults(scenario)
        yield from question_faults(scenario)
    elif reader is not None:
        yield from reader_faults(scenario, reader)
    else:
        _note(report, "no template wrote the sessions: name an endpoint to have a model read them back")


def _note(report: Report, text: str) -> None:
    if text not in report.lacks:
        report.lacks.append(text)


def _listed(path: Path) -> dict[str, str] | None:
    """{id: sha256} of the manifest; None when there is none."""
    manifest = read_manifest(path)
    try:
        return None if manifest is None else {entry["id"]: entry["sha256"] for entry in manifest["items"]}
    except (KeyError, TypeError) as error:
        raise ScenarioError(f"{manifest_path(path)}: no manifest of a data file; delete it, or generate again") from error


def _manifest_faults(name: str, listed: dict[str, str], seen: list[tuple[str, str]]) -> Iterator[Fault]:
    if len(listed) != len(seen):
        yield Fault("-", name, f"it lists {len(listed)} items, the data has {len(seen)}")
    for item, found in seen:
        expected = listed.get(item)
        if expected is None:
            yield Fault(item, name, "it does not list this item")
        elif found != expected:
            yield Fault(item, name, f"sha256 is {found[:12]}..., the manifest says {expected[:12]}...: the item was changed")
