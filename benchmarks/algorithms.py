"""The methods on the same budget of played episodes: held-out memory score and failures against sampled tokens.

python benchmarks/algorithms.py tune --out runs_of_methods     # learning rates x methods on tuning seeds
python benchmarks/algorithms.py run --out runs_of_methods      # each method at its best rate, seeds 0 to 2
python benchmarks/algorithms.py table --out runs_of_methods
python benchmarks/algorithms.py plot --out runs_of_methods --png docs/algorithms.png     # needs matplotlib

The setting of benchmarks/credit.py (the quickstart model, 4 iterations, 256 episodes of 32 users each, no gate) with
credit.scheme operation. On-policy methods play them in four steps of 8 users x 8, with the weights as they are by then; rft and
dpo play them at once and then train two epochs.
"""

from arms import Comparison

ON_POLICY = ("scenarios.train.num_users=8", "training.{section}.steps=4", "training.scheduler=constant_with_warmup")
CHOSEN = ("scenarios.train.num_users=32", "training.epochs=2", "training.batch_size=32")
GROUPED = ("grpo", "dr_grpo", "rloo", "reinforce_pp")
ARMS = {
    **{method: [key.format(section="grpo") for key in ON_POLICY] for method in GROUPED},
    "ppo": [*(key.format(section="ppo") for key in ON_POLICY), "training.ppo.gamma_turn=0"],
    "rft": CHOSEN,
    "dpo": CHOSEN,
}
SETTINGS = (
    "training.warmup_ratio=0",
    "evolution.iterations=4",
    "evolution.gate.min_delta=-1",
    "evaluation.controls=[]",
    "rollout.group_size=8",
)

if __name__ == "__main__":
    arms = {method: [f"training.method={method}", *keys] for method, keys in ARMS.items()}
    rates = {method: ("5e-4", "1e-3", "2e-3") if method == "dpo" else ("1e-3", "2e-3", "4e-3") for method in arms}
    Comparison(arms, SETTINGS, rates).main(__doc__, seeds=range(3))
