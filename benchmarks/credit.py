"""Credit schemes on the same budget: held-out memory score and failures against sampled tokens.

python benchmarks/credit.py tune --out credit_runs     # learning rates x schemes on tuning seeds; prints each scheme's best
python benchmarks/credit.py run --out credit_runs      # each scheme at its best rate, seeds 0 to 4
python benchmarks/credit.py table --out credit_runs    # means and spread over the seeds
python benchmarks/credit.py plot --out credit_runs --png docs/credit.png     # needs matplotlib

All runs start from the quickstart model and play the same users; they differ in ``credit.scheme``, its learning rate and the
seed. Validation users (24) are scored after each iteration of four optimiser steps, test users (64) at the start and the end. The
gate is off. A run that was stopped goes on when the same command is given again; two run at a time. Further recipe keys override.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, product
from pathlib import Path
from statistics import fmean, stdev

ROOT = Path(__file__).resolve().parents[1]
SCHEMES = ("outcome", "blend", "operation")
RATES = ("1e-3", "2e-3", "4e-3")
TUNING_SEEDS = (10, 11)  # never among those that are reported
SETTINGS = (
    "training.method=grpo",
    "training.grpo.steps=4",
    "training.scheduler=constant_with_warmup",
    "training.warmup_ratio=0",
    "evolution.iterations=4",
    "evolution.gate.min_delta=-1",
    "evaluation.controls=[]",
    "scenarios.train.num_users=8",
    "rollout.group_size=8",
)
SHARES = {
    "memory_score": "memory score",
    "write": "write failures",
    "read": "read failures",
    "utilisation": "utilisation failures",
}


def run(out: Path, name: str, scheme: str, rate: str, seed: int, overrides: Sequence[str]) -> None:
    """One evolution; a finished or interrupted one is gone on with."""
    words = [f"name={name}", f"output={out}", f"seed={seed}", f"credit.scheme={scheme}", f"training.learning_rate={rate}"]
    command = [sys.executable, "-m", "amemgym_train.cli", "evolve", str(ROOT / "recipes/configs/quickstart.yaml")]
    env = os.environ | {"OMP_NUM_THREADS": "1"}  # two runs at a time on two cores, each the same on any machine
    with (out / f"{name}.log").open("w") as log:
        subprocess.run([*command, *words, *SETTINGS, *overrides], check=True, env=env, stdout=log, stderr=subprocess.STDOUT)
    print(f"{name}: finished", flush=True)


def run_all(out: Path, jobs: Sequence[tuple[str, str, str, int]], overrides: Sequence[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda job: run(out, *job, overrides), jobs))


def summary(out: Path, name: str) -> dict:
    path = out / name / "summary.json"
    if not path.is_file():
        sys.exit(f"{path} is missing: finish `tune` or `run` with the same --out first, or give `run` one --rate for all schemes")
    return json.loads(path.read_text())


def tuned(out: Path) -> dict[str, str]:
    """{scheme: its learning rate with the best last validation score, mean over the tuning seeds}."""
    best = {}
    print("| scheme | " + " | ".join(RATES) + " |\n|---|" + "---|" * len(RATES))
    for scheme in SCHEMES:
        scores = {
            rate: fmean(summary(out, f"tune_{scheme}_{rate}_{seed}")["iterations"][-1]["validation"] for seed in TUNING_SEEDS)
            for rate in RATES
        }
        best[scheme] = max(scores, key=lambda rate: scores[rate])
        print(f"| {scheme} | " + " | ".join(f"{score:.3f}" for score in scores.values()) + " |")
    return best


def curves(out: Path, scheme: str, seed: int) -> dict[str, list[float]]:
    """Sampled tokens so far, and the figures of validation users, before training and after each iteration."""
    steps = [entry["training"]["tokens_sampled"] for entry in summary(out, f"{scheme}_{seed}")["iterations"]]
    evals = [out / f"{scheme}_{seed}" / "iterations" / f"{i:03d}" / "eval.json" for i in range(len(steps) + 1)]
    figures = [json.loads(path.read_text())["agent"] for path in evals]
    return {"tokens": list(accumulate([0, *steps]))} | {key: [one[key] for one in figures] for key in SHARES}


def table(out: Path, seeds: Sequence[int]) -> None:
    print("| scheme | sampled tokens | validation memory score at the start and after each iteration: mean (sd) |\n|---|---|---|")
    for scheme in SCHEMES:
        runs = [curves(out, scheme, seed) for seed in seeds]
        scores = [spread(values) for values in zip(*(one["memory_score"] for one in runs), strict=True)]
        print(f"| {scheme} | {fmean(one['tokens'][-1] for one in runs):,.0f} | {' '.join(scores)} |")
    print("\n| scheme | test memory score before | after | write failures | read failures | utilisation failures |")
    print("|---|---|---|---|---|---|")
    for scheme in SCHEMES:
        tests = [summary(out, f"{scheme}_{seed}")["test"] for seed in seeds]
        cells = [spread([test["after"][key] for test in tests]) for key in SHARES]
        print(f"| {scheme} | {tests[0]['before']['memory_score']:.3f} | {' | '.join(cells)} |")


def plot(out: Path, seeds: Sequence[int], png: Path) -> None:
    """Means over the seeds with the 95 % confidence interval of the mean (Student's t)."""
    import matplotlib
    import numpy
    from scipy.stats import t

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 4, figsize=(15, 3.6))
    for scheme, colour in zip(SCHEMES, ("tab:gray", "tab:blue", "tab:orange"), strict=True):
        runs = [curves(out, scheme, seed) for seed in seeds]
        tokens = numpy.mean([one["tokens"] for one in runs], axis=0) / 1000
        for panel, (key, label) in zip(panels, SHARES.items(), strict=True):
            values = numpy.array([one[key] for one in runs])
            mean = values.mean(axis=0)
            half = t.ppf(0.975, len(runs) - 1) * values.std(axis=0, ddof=1) / len(runs) ** 0.5
            panel.plot(tokens, mean, color=colour, marker="o", markersize=3, label=scheme)
            panel.fill_between(tokens, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
            panel.set_title(f"{label}, validation users", fontsize=10)
            panel.set_xlabel("sampled tokens (thousands)")
            panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(png, dpi=110)
    print(png)


def spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f} ({stdev(values):.3f})" if len(values) > 1 else f"{values[0]:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("tune", "run", "table", "plot"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--rate", help="one learning rate for every scheme, instead of the tuned ones")
    parser.add_argument("--png", type=Path, default=Path("credit.png"))
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    given = parser.parse_intermixed_args()
    if given.what == "tune":
        grid = product(RATES, SCHEMES, TUNING_SEEDS)
        run_all(given.out, [(f"tune_{scheme}_{rate}_{seed}", scheme, rate, seed) for rate, scheme, seed in grid], given.overrides)
        print(tuned(given.out))
    elif given.what == "run":
        rates = dict.fromkeys(SCHEMES, given.rate) if given.rate else tuned(given.out)
        pairs = product(given.seeds, SCHEMES)  # seed by seed, so that an early stop leaves whole comparisons
        run_all(given.out, [(f"{scheme}_{seed}", scheme, rates[scheme], seed) for seed, scheme in pairs], given.overrides)
        table(given.out, given.seeds)
    elif given.what == "table":
        table(given.out, given.seeds)
    else:
        plot(given.out, given.seeds, given.png)


if __name__ == "__main__":
    main()
