"""The report of an evaluation for people: tables for the terminal, and the same in Markdown."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amemgym_train.evaluation.standings import COMPARED

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Report = dict[str, Any]
Seconds = dict[str, dict[str, float]]
FIGURES = ("overall", "memory", "write", "read", "util")  # headings of COMPARED
BARE_ZERO = re.compile(r"(?<!\d)0\.")  # left out, so that five intervals stand beside one another
ABOUT_FIGURES = (
    "write, read, util: shares of (period, question) cells that failed there. In brackets: the middle 95 % of bootstrap means "
    "over users."
)
ABOUT_CALLS = (
    "unread: replies of which nothing could be read, answers/probes/writes. shortened: calls that left out the oldest of the "
    "past. tokens: read/written, - where whoever answers gives none."
)
ABOUT_SECONDS = "seconds: of one user's life, while others were played, too."


@dataclass(frozen=True)
class Table:
    title: str
    headings: tuple[str, ...]
    rows: list[list[str]]
    caption: str = ""


def show(result: dict[str, Any], out: str | None, as_json: bool) -> None:
    """Print what ``evolution.evaluation.evaluate_agents`` gives."""
    report = result["report"]
    if as_json:
        print(json.dumps(report | {"seconds": result["seconds"]} | result["cost"], indent=2))
        return
    from rich.console import Console

    console = Console()
    for table in tables(report, result["seconds"]):
        console.print(rich(table))
    for remark in [*remarks(report), *result["lacks"], *([f"all of it is in {out}"] if out else [])]:
        console.print(f"- {remark}", markup=False, highlight=False)


def tables(report: Report, seconds: Seconds | None) -> list[Table]:
    """Figures, what they took, and how agents differ; no seconds where they are None."""
    seeds = ", ".join(map(str, report["seeds"]))
    title = f"{len(report['users'])} {report['split']} users, seed{'s' if len(report['seeds']) > 1 else ''} {seeds}"
    timed = seconds is not None
    headings = ("", "episodes", "unread", "shortened", "calls", "tokens", *["seconds"] * timed)
    found = [
        Table(title, ("", *FIGURES), list(_figures(report)), ABOUT_FIGURES),
        Table("Calls", headings, list(_calls(report, seconds)), " ".join([ABOUT_CALLS, *[ABOUT_SECONDS] * timed])),
    ]
    for name, agents in report.get("environments", {}).items():
        rows = [[agent, *(_spread(figures[figure]) for figure in COMPARED)] for agent, figures in agents.items()]
        found.append(Table(f"On the users of {name}", ("", *FIGURES), rows))
    if report["differences"]:
        found.append(Table("Differences on the same users", ("", *FIGURES), list(_differences(report))))
    return found


def remarks(report: Report) -> list[str]:
    """What has to be said beside the figures: who could not be played first."""
    broken = [
        f"not played to the end: {one['results']}, user {one['user']}, stopped in period {one['period']}: {one['error']}"
        for one in report["broken"]
    ]
    return [*broken, *report["notes"]]


def rich(table: Table) -> "RichTable":
    """For a terminal of 80 columns."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table as RichTable

    made = RichTable(title=table.title, caption=escape(table.caption), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, heading in enumerate(table.headings):
        made.add_column(heading, justify="right" if place else "left", no_wrap=place > 0, min_width=None if place else 8)
    for row in table.rows:
        made.add_row(*(escape(cell.replace(" [", "\n[")) for cell in row))
    return made


def markdown(report: Report) -> str:
    """All but the seconds, which no second run would repeat."""
    parts = []
    for place, table in enumerate(tables(report, None)):
        lines = [table.headings, ["---"] * len(table.headings), *table.rows]
        cells = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
        parts += [f"{'##' if place else '#'} {table.title}", cells, *([table.caption] if table.caption else [])]
    if said := remarks(report):
        parts += ["## Remarks", "\n".join(f"- {one}" for one in said)]
    return "\n\n".join(parts) + "\n"


def _figures(report: Report) -> Iterator[list[str]]:
    for name, one in report["agents"].items():
        yield [name, *(_spread(one["figures"][figure]) for figure in COMPARED)]
    for name, figures in report["controls"].items():
        yield [name, *(_number(figures[figure]) for figure in COMPARED)]


def _calls(report: Report, seconds: Seconds | None) -> Iterator[list[str]]:
    for name, one in report["agents"].items():
        unread = "/".join(str(one["unread"].get(kind, 0)) for kind in ("answer", "read", "write"))
        tokens = "-" if one["tokens"] is None else "/".join(f"{count:,}" for count in one["tokens"])
        row = [name, str(one["episodes"]), unread, str(one["shortened"]), f"{one['calls']:,}", tokens]
        yield row if seconds is None else [*row, _mean_seconds(one["results"], seconds)]


def _differences(report: Report) -> Iterator[list[str]]:
    for one in report["differences"]:
        yield [f"{one['of']} - {one['minus']}", *(_spread(one["figures"][figure], "+") for figure in COMPARED)]


def _spread(spread: dict[str, Any], sign: str = "") -> str:
    if spread["low"] is None:
        return _number(spread["mean"], sign)
    ends = f"{spread['low']:{sign}.2f}, {spread['high']:{sign}.2f}"
    return f"{_number(spread['mean'], sign)} [{BARE_ZERO.sub('.', ends)}]"


def _number(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.3f}"


def _mean_seconds(labels: list[str], seconds: Seconds) -> str:
    known = [value for label in labels for value in seconds.get(label, {}).values()]
    return f"{sum(known) / len(known):.1f}" if known else "-"
