"""Credit schemes on the same budget: held-out memory score and failures against sampled tokens.

python benchmarks/credit.py tune --out credit_runs     # learning rates x schemes on tuning seeds; prints each scheme's best
python benchmarks/credit.py run --out credit_runs      # each scheme at its best rate, seeds 0 to 4
python benchmarks/credit.py table --out credit_runs    # means and spread over the seeds
python benchmarks/credit.py plot --out credit_runs --png docs/credit.png     # needs matplotlib

All runs start from the quickstart model and play the same users; they differ in ``credit.scheme``, its learning rate and the
seed. Validation users (24) are scored after each iteration of four optimiser steps, test users (64) at the start and the end. The
gate is off. Further recipe keys override.
"""

from arms import Comparison

SCHEMES = ("outcome", "blend", "operation")
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

if __name__ == "__main__":
    arms = {scheme: [f"credit.scheme={scheme}"] for scheme in SCHEMES}
    Comparison(arms, SETTINGS, dict.fromkeys(SCHEMES, ("1e-3", "2e-3", "4e-3"))).main(__doc__, seeds=range(5))
