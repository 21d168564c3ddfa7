"""The table of rescored results for the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amemgym_train.evaluation.public import Row

if TYPE_CHECKING:
    from rich.table import Table

FIGURES = {  # heading: attribute of Row
    "overall": "overall",
    "upper": "upper",
    "random": "random",
    "memory": "memory_score",
    "write": "write",
    "read": "read",
    "util": "utilisation",
}


def render(rows: Sequence[Row]) -> "Table":
    """The rows, and the mean over users for each agent that has several; narrow enough for 80 columns.

    The caption says what is missing and where it was looked for.
    """
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    notes = dict.fromkeys(row.note for row in rows if row.note)
    caption = "\n".join(["unread: answers/probes/upper bound of which nothing could be read", *notes])
    table = Table(title="Rescored from the raw replies", caption=escape(caption), box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("agent", "user"):
        table.add_column(heading)
    for heading in (*FIGURES, "unread"):
        table.add_column(heading, justify="right", no_wrap=True)
    for agent in dict.fromkeys(row.agent for row in rows):
        own = [row for row in rows if row.agent == agent]
        for row in own:
            table.add_row(escape(agent), row.user[:8], *_cells([row]))
        if len(own) > 1:
            table.add_row(escape(agent), f"mean ({len(own)})", *_cells(own), style="bold")
        table.add_section()
    return table


def _cells(rows: Sequence[Row]) -> list[str]:
    unread = "/".join(str(sum(row.unparsable[kind] for row in rows)) for kind in ("answer", "read", "upper"))
    return [*(_mean([getattr(row, name) for row in rows]) for name in FIGURES.values()), unread]


def _mean(values: Sequence[float | None]) -> str:
    """The mean to three decimals; a dash if one of the values is missing, as a mean of the rest would mislead."""
    return "-" if None in values else f"{sum(values) / len(values):.3f}"
