"""Second tries against plain RFT at about the same number of sampled tokens, with SmolLM2 on a CPU.

python benchmarks/reflection.py run --out retry_runs --rate 1e-3      # both arms, seeds 0 to 2, one iteration each
python benchmarks/reflection.py table --out retry_runs                # means and spread over the seeds

``plain`` plays groups of four. ``retry`` plays groups of two and both of them once more, with a reflection before each call that
failed; its second tries sample less than an episode, as calls that nothing changed are replayed. All else is
recipes/configs/smollm2_cpu.yaml: 20 training users, 8 of validation, 16 of test, the same for all seeds. Further recipe keys
override.
"""

from arms import ROOT, Comparison

ARMS = {
    "plain": ["rollout.group_size=4"],
    "retry": ["rollout.group_size=2", "reflection.retry.episodes=2"],
}
SETTINGS = ("evolution.iterations=1", "evolution.gate.min_delta=-1", "evaluation.controls=[]")

if __name__ == "__main__":
    recipe = ROOT / "recipes/configs/smollm2_cpu.yaml"
    Comparison(ARMS, SETTINGS, dict.fromkeys(ARMS, ("5e-4", "1e-3")), recipe).main(__doc__, seeds=range(3))
