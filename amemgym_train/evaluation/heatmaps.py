"""Figures by period as PNG heatmaps. They need matplotlib, which is the extra ``plots``."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MISSING = "no heatmaps: matplotlib is not installed; pip install 'amemgym-train[plots]', then run the same command again"
FAILURES = ("write", "read", "utilisation")
MAPS = {  # file: its title, and the figures of an agent's rows
    "overall": ("Overall accuracy by period", ("overall",)),
    "memory_score": ("Memory score by period", ("memory_score",)),
    "failures": ("Share of failures by period", FAILURES),
}
Lines = list[tuple[str, list[float | None]]]


def save_heatmaps(folder: Path, report: dict[str, Any]) -> bool:
    """One PNG of each of MAPS in ``folder``; False when matplotlib is not there."""
    if find_spec("matplotlib") is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    for name, (title, figures) in MAPS.items():
        draw(lines(report, figures), title).savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
    return True


def lines(report: dict[str, Any], figures: tuple[str, ...]) -> Lines:
    """A row per agent and figure: its values by period, None where there is none."""
    periods = 1 + max((period for one in report["agents"].values() for period in one["per_period"]["period"]), default=0)
    found = []
    for figure in figures:
        for name, one in report["agents"].items():
            values = dict(zip(one["per_period"]["period"], one["per_period"].get(figure, []), strict=True))
            label = name if len(figures) == 1 else f"{name}: {figure}"
            found.append((label, [values.get(period) for period in range(periods)]))
    return found


def draw(rows: Lines, title: str) -> "Figure":
    """Cells from 0 (dark) to 1 (bright) with their values; those without one are blank. What leaves that range keeps its end's
    colour."""
    import numpy as np
    from matplotlib.figure import Figure

    values = np.array([[np.nan if value is None else value for value in row] for _, row in rows], dtype=float)
    height, width = values.shape
    figure = Figure(figsize=(2.6 + 0.55 * width, 1.4 + 0.4 * height), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(values, vmin=0, vmax=1, cmap="viridis", aspect="auto")
    figure.colorbar(image, ax=axes)
    for y, x in zip(*np.nonzero(~np.isnan(values)), strict=True):
        colour = "black" if values[y, x] > 0.6 else "white"
        axes.text(x, y, f"{values[y, x]:.2f}", ha="center", va="center", color=colour, fontsize=7)
    axes.set(title=title, xlabel="period", xticks=range(width))
    axes.set_yticks(range(height), [label for label, _ in rows], parse_math=False)  # a name may have a $
    return figure
