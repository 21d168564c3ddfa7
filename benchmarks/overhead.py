"""Where an on-policy step spends its time: the share outside generation, forward, backward and the optimiser.

python benchmarks/overhead.py [--steps 3] [recipe keys such as scenarios.train.num_users=16]     # 64 episodes a step by default
python benchmarks/overhead.py --recipe recipes/configs/smollm2_grpo_cpu.yaml --steps 1          # any recipe, with the same batch
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amemgym_train.config.load import load_recipe
from amemgym_train.evolution.on_policy import train_on_policy

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ["training.method=grpo", "scenarios.train.num_users=8", "rollout.group_size=8", "training.learning_rate=2e-3"]
SPENT: Counter[str] = Counter()


def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
    def run(*arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return work(*arguments, **options)
        finally:
            SPENT[name] += time.perf_counter() - start

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes/configs/quickstart.yaml")
    parser.add_argument("overrides", nargs="*")
    arguments = parser.parse_args()
    words = [*SETTINGS, f"training.grpo.steps={arguments.steps}", "training.grpo.save_steps=0", *arguments.overrides]
    recipe = load_recipe(arguments.recipe, words)

    from accelerate import Accelerator
    from torch.optim import AdamW

    from amemgym_train.policy import local
    from amemgym_train.training.grpo import EpisodeGRPO

    local.decode = timed("generation", local.decode)
    local.encode_all = timed("chat template and tokenizer, in the rollout", local.encode_all)
    EpisodeGRPO._compute_loss = timed("forward", EpisodeGRPO._compute_loss)
    Accelerator.backward = timed("backward", Accelerator.backward)
    AdamW.step = timed("optimiser", AdamW.step)
    EpisodeGRPO._play = timed("rollout, credit and rows, generation in it", EpisodeGRPO._play)
    start = Path(recipe.policy.adapter) if recipe.policy.adapter else None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "stage")
        out.mkdir()
        seconds = train_on_policy(recipe, 1, start, recipe.seed, out)["seconds"]
    inside = sum(SPENT[name] for name in ("generation", "forward", "backward", "optimiser"))
    print(f"{arguments.steps} steps of {recipe.scenarios.train.num_users * recipe.rollout.group_size} episodes: {seconds:.1f} s")
    for name, spent in SPENT.most_common():
        print(f"{name:45} {spent:7.1f} s  {spent / seconds:6.1%}")
    print(f"{'outside generation, forward, backward, optimiser':45} {seconds - inside:7.1f} s  {1 - inside / seconds:6.1%}")
    episodes = arguments.steps * recipe.scenarios.train.num_users * recipe.rollout.group_size
    print(f"that is {1000 * (seconds - inside) / episodes:.1f} ms an episode")


if __name__ == "__main__":
    main()
