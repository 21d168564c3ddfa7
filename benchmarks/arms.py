"""Arms of a comparison: evolutions of one recipe that differ in a few keys, on several seeds, and their curves.

What benchmarks/credit.py, benchmarks/algorithms.py and benchmarks/reflection.py share. A run that was stopped goes on when the
same command is given again; two run at a time.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, product
from pathlib import Path
from statistics import fmean, stdev

ROOT = Path(__file__).resolve().parents[1]
FEW = 5  # seeds, below which an interval of their mean says little
PLAYING = ("rollout", "retry", "training")  # stages that sample tokens
TUNING_SEEDS = (10,)  # never among those that are reported
SHARES = {
    "memory_score": "memory score",
    "write": "write failures",
    "read": "read failures",
    "utilisation": "utilisation failures",
}


@dataclass(frozen=True)
class Comparison:
    """``arms``: {name: the keys in which it differs}; ``settings``: keys of all; ``rates``: learning rates to choose from."""

    arms: Mapping[str, Sequence[str]]
    settings: Sequence[str]
    rates: Mapping[str, Sequence[str]]
    recipe: Path = ROOT / "recipes/configs/quickstart.yaml"

    def run(self, out: Path, name: str, arm: str, rate: str, seed: int, overrides: Sequence[str]) -> None:
        """One evolution; an interrupted one is gone on with, and a finished one left as it is."""
        if (out / name / "summary.json").is_file():
            return
        words = [f"name={name}", f"output={out}", f"seed={seed}", f"training.learning_rate={rate}"]
        command = [sys.executable, "-m", "amemgym_train.cli", "evolve", str(self.recipe), *words, *self.settings, *self.arms[arm]]
        env = os.environ | {"OMP_NUM_THREADS": "1"}  # two runs at a time on two cores, each the same on any machine
        with (out / f"{name}.log").open("w") as log:
            subprocess.run([*command, *overrides], check=True, env=env, stdout=log, stderr=subprocess.STDOUT)
        print(f"{name}: finished", flush=True)

    def run_all(self, out: Path, jobs: Sequence[tuple[str, str, str, int]], overrides: Sequence[str]) -> None:
        out.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda job: self.run(out, *job, overrides), jobs))

    def tune(self, out: Path, overrides: Sequence[str]) -> None:
        """Every arm at each of its rates, on the tuning seeds."""
        grid = [(arm, rate, seed) for arm in self.arms for rate, seed in product(self.rates[arm], TUNING_SEEDS)]
        self.run_all(out, [(f"tune_{arm}_{rate}_{seed}", arm, rate, seed) for arm, rate, seed in grid], overrides)
        self.tuned(out)

    def tuned(self, out: Path) -> dict[str, str]:
        """{arm: its learning rate with the best last validation score, mean over the tuning seeds}."""
        best = {}
        print("| arm | learning rate: last validation score, mean of the tuning seeds |\n|---|---|")
        for arm, rates in self.rates.items():
            scores = {
                rate: fmean(summary(out, f"tune_{arm}_{rate}_{seed}")["iterations"][-1]["validation"] for seed in TUNING_SEEDS)
                for rate in rates
            }
            best[arm] = max(scores, key=lambda rate: scores[rate])
            print(f"| {arm} | " + ", ".join(f"{rate}: {score:.3f}" for rate, score in scores.items()) + " |")
        return best

    def compare(self, out: Path, seeds: Sequence[int], rates: Mapping[str, str], overrides: Sequence[str]) -> None:
        """Every arm at its rate on ``seeds``: seed by seed, so that an early stop leaves whole comparisons."""
        jobs = [(f"{arm}_{seed}", arm, rates[arm], seed) for seed, arm in product(seeds, self.arms)]
        self.run_all(out, jobs, overrides)

    def table(self, out: Path, seeds: Sequence[int]) -> None:
        print("| arm | sampled tokens | validation score at the start and after each iteration: mean (sd) | minutes |")
        print("|---|---|---|---|")
        for arm in self.arms:
            runs = [curves(out, arm, seed) for seed in seeds]
            scores = [spread(values) for values in zip(*(one["memory_score"] for one in runs), strict=True)]
            minutes = spread([one["seconds"] / 60 for one in runs], 1)
            print(f"| {arm} | {fmean(one['tokens'][-1] for one in runs):,.0f} | {' '.join(scores)} | {minutes} |")
        print("\n| arm | test memory score before | after | write failures | read failures | utilisation failures |")
        print("|---|---|---|---|---|---|")
        for arm in self.arms:
            tests = [summary(out, f"{arm}_{seed}")["test"] for seed in seeds]
            cells = [spread([test["after"][key] for test in tests]) for key in SHARES]
            print(f"| {arm} | {tests[0]['before']['memory_score']:.3f} | {' | '.join(cells)} |")

    def plot(self, out: Path, seeds: Sequence[int], png: Path) -> None:
        """Means over the seeds, with the 95 % confidence interval of the mean (Student's t), or each seed where they are few."""
        import matplotlib
        import numpy
        from scipy.stats import t

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, panels = pyplot.subplots(1, 4, figsize=(15, 3.6))
        for arm, colour in zip(self.arms, pyplot.colormaps["tab10"].colors, strict=False):
            runs = [curves(out, arm, seed) for seed in seeds]
            tokens = numpy.mean([one["tokens"] for one in runs], axis=0) / 1000
            for panel, (key, label) in zip(panels, SHARES.items(), strict=True):
                values = numpy.array([one[key] for one in runs])
                mean = values.mean(axis=0)
                panel.plot(tokens, mean, color=colour, marker="o", markersize=3, label=arm)
                if len(runs) < FEW:
                    panel.plot(tokens, values.T, color=colour, alpha=0.35, linewidth=0.6)
                else:
                    half = t.ppf(0.975, len(runs) - 1) * values.std(axis=0, ddof=1) / len(runs) ** 0.5
                    panel.fill_between(tokens, mean - half, mean + half, color=colour, alpha=0.15, linewidth=0)
                panel.set_title(f"{label}, validation users", fontsize=10)
                panel.set_xlabel("sampled tokens (thousands)")
                panel.spines[["top", "right"]].set_visible(False)
        figure.tight_layout()
        panels[-1].legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        figure.savefig(png, dpi=110, bbox_inches="tight")
        print(png)

    def main(self, description: str, seeds: Sequence[int]) -> None:
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("what", choices=("tune", "run", "table", "plot"))
        parser.add_argument("--out", type=Path, required=True)
        parser.add_argument("--seeds", type=int, nargs="+", default=list(seeds))
        parser.add_argument("--rate", help="one learning rate for every arm, instead of the tuned ones")
        parser.add_argument("--png", type=Path, default=Path("curves.png"))
        parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
        given = parser.parse_intermixed_args()
        if given.what == "tune":
            self.tune(given.out, given.overrides)
        elif given.what == "run":
            rates = dict.fromkeys(self.arms, given.rate) if given.rate else self.tuned(given.out)
            self.compare(given.out, given.seeds, rates, given.overrides)
        if given.what in ("run", "table"):
            self.table(given.out, given.seeds)
        elif given.what == "plot":
            self.plot(given.out, given.seeds, given.png)


def summary(out: Path, name: str) -> dict:
    path = out / name / "summary.json"
    if not path.is_file():
        sys.exit(f"{path} is missing: finish `tune` or `run` with the same --out first, or give `run` one --rate for all arms")
    return json.loads(path.read_text())


def curves(out: Path, arm: str, seed: int) -> dict:
    """Sampled tokens so far, and the figures of validation users, before training and after each iteration."""
    run = summary(out, f"{arm}_{seed}")
    folders = [out / f"{arm}_{seed}" / "iterations" / f"{i:03d}" for i in range(len(run["iterations"]) + 1)]
    sampled = [sum(entry.get(stage, {}).get("tokens_sampled", 0) for stage in PLAYING) for entry in run["iterations"]]
    figures = [json.loads((folder / "eval.json").read_text())["agent"] for folder in folders]
    seconds = sum(run["wall_seconds"].get(stage, 0) for stage in ("rollout", "retry", "train"))
    return {"tokens": list(accumulate([0, *sampled])), "seconds": seconds} | {key: [f[key] for f in figures] for key in SHARES}


def spread(values: Sequence[float], digits: int = 3) -> str:
    mean = f"{fmean(values):.{digits}f}"
    return f"{mean} ({stdev(values):.{digits}f})" if len(values) > 1 else mean
