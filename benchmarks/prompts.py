"""Prompt evolution with each kind of feedback: SmolLM2 on a CPU, no weights trained, and the scripted reflector.

python benchmarks/prompts.py run --out prompt_runs --rate 1e-3       # five kinds, seeds 0 to 2 (the rate goes unused)
python benchmarks/prompts.py table --out prompt_runs                 # means and spread over the seeds

All else is recipes/configs/smollm2_cpu.yaml, but for the default prompts to begin with, which have no worked examples, and 12
validation users. A seed draws what is rewritten and from which parent; the users are the same for all.
"""

from typing import get_args

from arms import ROOT, Comparison

from amemgym_train.config.reflection import FeedbackKind

KINDS = get_args(FeedbackKind)
SETTINGS = (
    "training.method=none",
    "reflection.prompts.cadence=iteration",
    "reflection.prompts.targets=[write,answer]",
    "reflection.prompts.proposals=4",
    "reflection.prompts.users=5",
    "reflection.reflector.kind=scripted",
    "agent.prompts=default",
    "scenarios.validation.num_users=12",
    "evaluation.controls=[]",
    "evolution.iterations=1",
)

if __name__ == "__main__":
    recipe = ROOT / "recipes/configs/smollm2_cpu.yaml"
    arms = {kind: [f"reflection.feedback={kind}"] for kind in KINDS}
    Comparison(arms, SETTINGS, dict.fromkeys(KINDS, ("1e-3",)), recipe).main(__doc__, seeds=range(3))
