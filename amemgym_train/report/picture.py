"""A run in one PNG. It needs matplotlib, which is the extra ``plots``."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from amemgym_train.report.figures import losses, number, rewards, scored, seconds
from amemgym_train.report.record import Evaluated, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MISSING = "no picture: matplotlib is not installed; pip install 'amemgym-train[plots]', then run the same command again"
FAILURES = {"write": "#d1495b", "read": "#edae49", "utilisation": "#30638e"}
GOALS = {"success": "#30638e", "unparsed": "#d1495b"}


def save_picture(record: Record, path: Path) -> bool:
    """Score, failures, training and time in ``path``, the same bytes for the same run; False when matplotlib is not there."""
    if find_spec("matplotlib") is None:
        return False
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.5), layout="constrained")
    panels = figure.subplots(2, 2)
    for draw, axes in zip((_scores, _failures, _training, _time), panels.flat, strict=True):
        draw(record, axes)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return True


def _scores(record: Record, axes: "Axes") -> None:
    axes.set(title=f"{record.measure}, 95 % interval over {record.whom}", xlabel="iteration")
    axes.locator_params(axis="x", integer=True)
    points = [(one.number, one.evaluated) for one in record.iterations if one.evaluated]
    _errorbars(axes, points, "validation", "o-", "#30638e")
    for one in record.judged:
        if not (one.gate or {}).get("passed") and (score := scored(one.evaluated)["mean"]) is not None:
            axes.plot(one.number, score, "x", color="#d1495b", markersize=12)
    last = record.judged[-1].number if record.judged else 0
    ends = [(0, record.before), (last, record.after if record.finished else None)]
    _errorbars(axes, [(at + 0.06, one) for at, one in ends if one], "test", "s", "#00798c")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(title="crosses: did not pass the gate", fontsize=8, title_fontsize=7)


def _errorbars(axes: "Axes", points: list[tuple[float, Evaluated]], label: str, style: str, colour: str) -> None:
    found = [(at, spread) for at, one in points if (spread := scored(one))["mean"] is not None]
    if found:
        means = [spread["mean"] for _, spread in found]
        below = [0 if spread["low"] is None else spread["mean"] - spread["low"] for _, spread in found]
        above = [0 if spread["high"] is None else spread["high"] - spread["mean"] for _, spread in found]
        where = [at for at, _ in found]
        axes.errorbar(where, means, yerr=[below, above], label=label, fmt=style, color=colour, capsize=3)


def _failures(record: Record, axes: "Axes") -> None:
    named = ("failures of validation users", "questions") if not record.of_tasks else ("validation tasks", "tasks or replies")
    axes.set(title=named[0], xlabel="iteration", ylabel=f"share of {named[1]}")
    axes.locator_params(axis="x", integer=True)
    played = [one for one in record.iterations if one.evaluated]
    below = [0.0] * len(played)
    for name, colour in (GOALS if record.of_tasks else FAILURES).items():
        shares = [number(one.evaluated.figures, name) or 0.0 for one in played]
        if record.of_tasks:
            axes.plot([one.number for one in played], shares, "o-", label=name, color=colour)
            continue
        axes.bar([one.number for one in played], shares, 0.6, bottom=below, label=name, color=colour)
        below = [low + share for low, share in zip(below, shares, strict=True)]
    axes.legend(fontsize=8)


def _training(record: Record, axes: "Axes") -> None:
    rewarded = any(rewards(one) for one in record.iterations)
    title = "mean reward of trained calls, by step" if rewarded else "training loss, as logged"
    axes.set(title=title, xlabel=f"{'steps' if rewarded else 'entries of the log'}, one iteration after another")
    axes.locator_params(axis="x", integer=True)
    start = 0
    for one in record.iterations:
        values = rewards(one) if rewarded else losses(one)
        axes.plot(range(start + 1, start + len(values) + 1), values, ".-", color="#30638e")
        start += len(values)
        if values:
            axes.axvline(start + 0.5, color="#bbbbbb", linewidth=0.8)


def _time(record: Record, axes: "Axes") -> None:
    spent = seconds(record)
    axes.barh(list(spent), list(spent.values()), color="#30638e")
    axes.invert_yaxis()
    axes.set(title="seconds by stage", xlabel="seconds")
