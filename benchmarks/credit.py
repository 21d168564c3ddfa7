"""Credit schemes on the same budget: held-out memory score against sampled tokens.

python benchmarks/credit.py run --out credit_runs --seeds 0 1 2      # one training run per scheme and seed, two at a time
python benchmarks/credit.py table --out credit_runs                  # means and spread over the seeds, per iteration

Further keys override a run's settings: python benchmarks/credit.py run training.learning_rate=6e-3 --out fast --seeds 0

All runs start from the quickstart model and play the same users; they differ in ``credit.scheme`` and the seed. Validation users
(24) are scored after each iteration of four optimiser steps, test users (64) at the start and the end. The gate is off.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

ROOT = Path(__file__).resolve().parents[1]
SCHEMES = ("outcome", "blend", "operation")
SETTINGS = (
    "training.method=grpo",
    "training.grpo.steps=4",
    "training.learning_rate=2e-3",
    "training.scheduler=constant_with_warmup",
    "training.warmup_ratio=0",
    "evolution.iterations=4",
    "evolution.gate.min_delta=-1",
    "evaluation.controls=[]",
    "scenarios.train.num_users=8",
    "rollout.group_size=8",
)


def run(out: Path, scheme: str, seed: int, overrides: list[str]) -> None:
    """One evolution; a finished or interrupted one is gone on with."""
    words = [f"name={scheme}_{seed}", f"output={out}", f"seed={seed}", f"credit.scheme={scheme}", *SETTINGS, *overrides]
    command = [sys.executable, "-m", "amemgym_train.cli", "evolve", str(ROOT / "recipes/configs/quickstart.yaml"), *words]
    env = os.environ | {"OMP_NUM_THREADS": "1"}  # two runs at a time on two cores, each the same on any machine
    with (out / f"{scheme}_{seed}.log").open("w") as log:
        subprocess.run(command, check=True, env=env, stdout=log, stderr=subprocess.STDOUT)
    print(f"{scheme} {seed}: finished", flush=True)


def read(out: Path, scheme: str, seed: int) -> dict:
    return json.loads((out / f"{scheme}_{seed}" / "summary.json").read_text())


def table(out: Path, seeds: list[int]) -> None:
    schemes = [s for s in SCHEMES if all((out / f"{s}_{seed}" / "summary.json").is_file() for seed in seeds)]
    print("| scheme | sampled tokens | validation memory score per iteration: mean (sd) |\n|---|---|---|")
    for scheme in schemes:
        runs = [read(out, scheme, seed)["iterations"] for seed in seeds]
        scores = [spread([one[i]["validation"] for one in runs]) for i in range(len(runs[0]))]
        tokens = fmean(sum(step["training"]["tokens_sampled"] for step in one) for one in runs)
        print(f"| {scheme} | {tokens:,.0f} | {' '.join(scores)} |")
    print("\n| scheme | test memory score before | after | write failures | read failures | utilisation failures |")
    print("|---|---|---|---|---|---|")
    for scheme in schemes:
        tests = [read(out, scheme, seed)["test"] for seed in seeds]
        cells = [spread([test["after"][key] for test in tests]) for key in ("memory_score", "write", "read", "utilisation")]
        print(f"| {scheme} | {tests[0]['before']['memory_score']:.3f} | {' | '.join(cells)} |")


def spread(values: list[float]) -> str:
    return f"{fmean(values):.3f} ({stdev(values):.3f})" if len(values) > 1 else f"{values[0]:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    arguments = parser.parse_args()
    if arguments.what == "run":
        arguments.out.mkdir(parents=True, exist_ok=True)
        pairs = product(arguments.seeds, SCHEMES)  # seed by seed, so that an early stop leaves whole comparisons
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda pair: run(arguments.out, pair[1], pair[0], arguments.overrides), pairs))
    table(arguments.out, arguments.seeds)


if __name__ == "__main__":
    main()
