"""All environments through `envs check`, each in a process of its own: a Markdown table of what the expert and chance score, of
garbage, speed and memory.

python benchmarks/environments.py                               # 3 seeds, 10,000 garbage actions; all that have what they need
python benchmarks/environments.py --names textcraft,babyai --garbage 1000
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from amemgym_envs.check import check, plan
from amemgym_envs.check.episode import play
from amemgym_envs.check.speed import resident
from amemgym_envs.registry import CLASSES, class_of, full_name, lacking

HEAD = (
    "| environment | tasks: train / validation / test | green, yellow, red | expert solves | chance solves (mean score) "
    "| steps/s, chance | steps/s, expert | slowest of the garbage | memory | and after 200 more instances |"
)


def measured(name: str, amounts: dict[str, Any]) -> dict[str, Any]:
    """The results of the checks by name, and the MB that the environment's first episode took."""
    before, planned = resident(), plan(name, **amounts)
    play(planned.build(), next(planned.episodes(1))[0], 0)
    took, start = resident() - before, time.perf_counter()
    return {result.name: result for result in check(planned)} | {"took": took, "seconds": time.perf_counter() - start}


def row(name: str, found: dict[str, Any]) -> str:
    took, _ = found.pop("took"), found.pop("seconds")
    figures = {check: result.figures for check, result in found.items()}
    levels = Counter(result.level for result in found.values())
    speed, expert, chance = figures["speed"], figures["expert"], figures["random"]
    solved = "no expert"
    if expert:
        solved = f"{expert['solved']} of {expert['tried']}"
        solved += f", {len(expert['late'])} more beyond the cap" if expert["late"] else ""
        solved += f"; knows no way in {len(expert['unknown'])}" if expert["unknown"] else ""
    rates = [f"{speed[player]:,}" if player in speed else "" for player in ("random", "expert")]
    cells = [
        name.rpartition("-v")[0],
        " / ".join(f"{count:,}" for count in figures["tasks"].get("splits", {}).values()),
        ", ".join(str(levels[level]) for level in ("green", "yellow", "red")),
        solved,
        f"{chance['success']:.1%} ({chance['score']:.3f})" if chance else "draws no actions",
        rates[0] or f"{speed['any']:,}",
        rates[1],
        f"{figures['garbage']['slowest_seconds'] * 1000:.0f} ms" if figures["garbage"] else "red",
        f"{took:.0f} MB",
        f"{figures['memory']['grown_mb']:+.1f} MB",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", help="environments, comma between them (default: all)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--garbage", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=2.0)
    arguments = parser.parse_args()
    names = [full_name(name) for name in arguments.names.split(",")] if arguments.names else list(CLASSES)
    amounts = {key: getattr(arguments, key) for key in ("seeds", "tasks", "garbage", "seconds")}
    print(HEAD, "|" + "---|" * (HEAD.count("|") - 1), sep="\n")
    for name in names:
        if missing := lacking(class_of(name).card):
            print(f"{name}: lacks {', '.join(missing)}", file=sys.stderr)
            continue
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            found = process.submit(measured, name, amounts).result()
        told = [f"{name} {result.name}: {result.message}" for result in list(found.values())[:-2] if result.level != "green"]
        print(*told, f"{name}: {found['seconds']:.0f} s", sep="\n", file=sys.stderr)
        print(row(name, found), flush=True)


if __name__ == "__main__":
    main()
