"""Tables of a diagnosis for the terminal."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.table import Table


class Scores(Protocol):
    """What a table shows of a report beside its figures (``evaluation.memory.Report``, ``evaluation.goals.GoalReport``)."""

    episodes: int
    unscorable: int


# (label, attribute, whether more is better); what a report lacks is left out
LINES = (
    ("memory score", "memory_score", True),
    ("overall accuracy", "overall", True),
    ("write failures", "write", False),
    ("read failures", "read", False),
    ("utilisation failures", "utilisation", False),
    ("score", "score", True),
    ("success", "success", True),
    ("steps", "steps", False),
    ("replies without an action", "unparsed", False),
)


def before_after(before: Scores, after: Scores, title: str) -> "Table":
    """The figures before and after training with their change, green where it is for the better."""
    from rich.table import Table

    table = Table(title=title, caption=f"before: {_basis(before)}\nafter: {_basis(after)}")
    table.add_column("figure")
    for heading in ("before", "after", "change"):
        table.add_column(heading, justify="right")
    for label, name, more_is_better in LINES:
        if hasattr(after, name):
            old, new = getattr(before, name), getattr(after, name)
            table.add_row(label, _figure(old), _figure(new), _change(old, new, more_is_better))
    return table


def _basis(scores: Scores) -> str:
    return f"{scores.episodes} episodes, {scores.unscorable} unscorable"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _change(old: float | None, new: float | None, more_is_better: bool) -> str:
    if old is None or new is None:
        return "-"
    change = f"{new - old:+.3f}"
    if change in ("+0.000", "-0.000"):
        return "0.000"
    colour = "green" if (new > old) == more_is_better else "red"
    return f"[{colour}]{change}[/{colour}]"
