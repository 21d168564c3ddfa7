"""Prompt evolution with each kind of feedback: recipes/configs/prompts_cpu.yaml, where rules propose and no weights are trained.

python benchmarks/prompts.py run --out prompt_runs --rate 1e-3       # five kinds, seeds 0 to 2 (the rate goes unused)
python benchmarks/prompts.py table --out prompt_runs                 # means and spread over the seeds

A seed draws what is rewritten and from which parent; the users are the same for all. Further recipe keys override.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from arms import ROOT, Comparison, spread, summary

from amemgym_train.config.reflection import FeedbackKind

KINDS = get_args(FeedbackKind)
TITLES = ("feedback", "accepted of proposals", "validation before", "after", "test before", "after", "gain", "minutes")


class Kinds(Comparison):
    def table(self, out: Path, seeds: Sequence[int]) -> None:
        print(f"| {' | '.join(TITLES)} |\n|{'---|' * len(TITLES)}")
        for kind in self.arms:
            runs = [summary(out, f"{kind}_{seed}") for seed in seeds]
            found = [entry["reflection"] for run in runs for entry in run["iterations"]]
            columns = [
                f"{sum(one['accepted'] for one in found)} of {sum(one['proposals'] for one in found)}",
                spread([run["iterations"][0]["reflection"]["validation_before"] for run in runs]),
                spread([run["iterations"][-1]["validation"] for run in runs]),
                spread([run["test"]["before"]["memory_score"] for run in runs]),
                spread([run["test"]["after"]["memory_score"] for run in runs]),
                spread([run["test"]["gain"] for run in runs]),
                spread([run["wall_seconds"]["total"] / 60 for run in runs], 1),
            ]
            print(f"| {kind} | {' | '.join(columns)} |")


if __name__ == "__main__":
    arms = {kind: [f"reflection.feedback={kind}"] for kind in KINDS}
    recipe = ROOT / "recipes/configs/prompts_cpu.yaml"
    Kinds(arms, (), dict.fromkeys(KINDS, ("1e-3",)), recipe).main(__doc__, seeds=range(3))
