import io
from dataclasses import dataclass, replace

import pytest
from rich.console import Console

from amemgym_train.diagnosis.table import before_after

GREEN, RED = "\x1b[32m", "\x1b[31m"


@dataclass
class Scores:
    memory_score: float | None = 0.25
    overall: float = 0.5
    write: float | None = 0.4
    read: float | None = 0.2
    utilisation: float | None = 0.1
    episodes: int = 8
    unscorable: int = 1


def printed(before, after):
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system="standard", no_color=False)
    console.print(before_after(before, after, "Users"))
    return out.getvalue()


def line_of(text, label):
    return next(line for line in text.splitlines() if label in line)


@pytest.mark.parametrize(
    ("field", "label", "value", "change", "colour"),
    [
        ("memory_score", "memory score", 0.5, "+0.250", GREEN),
        ("memory_score", "memory score", -0.1, "-0.350", RED),
        ("overall", "overall", 0.625, "+0.125", GREEN),
        ("write", "write failures", 0.3, "-0.100", GREEN),
        ("write", "write failures", 0.5, "+0.100", RED),
        ("read", "read failures", 0.3, "+0.100", RED),
        ("utilisation", "utilisation failures", 0.05, "-0.050", GREEN),
    ],
)
def test_a_change_is_green_when_for_the_better(field, label, value, change, colour):
    line = line_of(printed(Scores(), replace(Scores(), **{field: value})), label)
    assert f"{value:.3f}" in line and f"{getattr(Scores(), field):.3f}" in line
    assert f"{colour}{change}" in line


def test_no_change_has_no_colour_and_the_unmeasured_no_figure():
    text = printed(Scores(write=None), Scores(write=None))
    assert GREEN not in text and RED not in text
    assert "0.000" in line_of(text, "read failures")
    assert "0.0" not in line_of(text, "write failures") and "-" in line_of(text, "write failures")


def test_caption_says_what_the_figures_rest_on():
    text = printed(Scores(), Scores(episodes=7, unscorable=2))
    assert "8 episodes, 1 unscorable" in text and "7 episodes, 2 unscorable" in text
