"""A step of ours against a step of TRL's own GRPOTrainer on the same prompts, with as many completions: seconds per step.

python benchmarks/stock.py [--steps 3] [recipe keys such as policy.model=smollm2]       # 64 episodes a step by default

The calls of a step's users (one episode of each) become a dataset of prompts for TRL, each with as many generations as our groups
have episodes, so that both sample and train about the same tokens; the table says how many. Ours pays every call here
(credit.scheme=outcome), so that hardly a row is without an advantage and left out. TRL plays no environment and shares no
prefixes; ours is measured with and without shared prefixes.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from amemgym_train.config.load import load_recipe
from amemgym_train.config.recipe import Recipe

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = [
    "training.method=grpo",
    "training.grpo.save_steps=0",
    "scenarios.train.num_users=8",
    "rollout.group_size=8",
    "credit.scheme=outcome",
    "rollout.new_users_each_iteration=false",
]


def prompts(recipe: Recipe, model: Any, tokenizer: Any) -> list[list[dict[str, str]]]:
    """The messages of every call in one episode of each user, played by the model."""
    from amemgym_train.evaluation.controls import agents, environment
    from amemgym_train.evolution.on_policy import users_of
    from amemgym_train.policy.base import Sampling
    from amemgym_train.policy.local import LocalPolicy
    from amemgym_train.rollout.pool import Task
    from amemgym_train.rollout.runner import play

    calls: list[list[dict[str, str]]] = []

    class Listening(LocalPolicy):
        async def complete(self, request):
            calls.append(request.messages)
            return await super().complete(request)

    users = users_of(recipe, 1, 0)
    policy = Listening(model, tokenizer, max_batch_size=recipe.policy.max_batch_size)
    factory = agents(recipe, policy, Sampling(**recipe.sampling.model_dump()))
    play(environment(recipe, "train", users), [Task(user.id, user.id, 0) for user in users], factory, label=None)
    return calls


def stock(recipe: Recipe, steps: int) -> dict[str, float]:
    """Seconds and completion tokens per step of TRL's GRPOTrainer."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from amemgym_train.policy.references import load
    from amemgym_train.training.lora import new_adapter

    model, tokenizer = load(recipe.policy.model, recipe.policy.dtype)
    calls = prompts(recipe, model, tokenizer)
    model = new_adapter(model, recipe.policy.lora, 0).train()
    completions, per_batch = len(calls) * recipe.rollout.group_size, recipe.training.batch_size
    lengths: list[int] = []

    def reward(completion_ids: list[list[int]], **_: Any) -> list[float]:
        lengths.extend(map(len, completion_ids))
        return [float(len(ids) % 5) for ids in completion_ids]  # any that differs within a group

    with tempfile.TemporaryDirectory() as folder:
        arguments = GRPOConfig(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=per_batch,
            gradient_accumulation_steps=completions // per_batch,
            num_generations=recipe.rollout.group_size,
            max_completion_length=max(recipe.agent.max_new_tokens.model_dump().values()),
            learning_rate=recipe.training.learning_rate,
            temperature=recipe.sampling.temperature,
            beta=0.0,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            bf16=False,
            disable_tqdm=True,
            activation_checkpointing=False,
        )
        trainer = GRPOTrainer(model, [reward], arguments, Dataset.from_dict({"prompt": calls}), processing_class=tokenizer)
        start = time.perf_counter()
        trainer.train()
        seconds = time.perf_counter() - start
    return {"seconds": seconds / steps, "completions": len(lengths) / steps, "tokens": sum(lengths) / steps}


def ours(recipe: Recipe, steps: int) -> dict[str, float]:
    """Seconds and completion tokens per step of ours."""
    from amemgym_train.evolution.on_policy import train_on_policy

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "stage")
        out.mkdir()
        figures = train_on_policy(recipe, 1, None, recipe.seed, out)
        log = [entry for entry in json.loads((out / "training.json").read_text()) if "tokens_sampled" in entry]
    rows = sum(entry["rows"] + entry["rows_dropped"] for entry in log) / steps
    return {"seconds": figures["seconds"] / steps, "completions": rows, "tokens": figures["tokens_sampled"] / steps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    given = parser.parse_intermixed_args()
    words = [*SETTINGS, f"training.grpo.steps={given.steps}", *given.overrides]

    def recipe(*more: str) -> Recipe:
        return load_recipe(ROOT / "recipes/configs/quickstart.yaml", [*words, *more])

    found = {
        "TRL GRPOTrainer": stock(recipe(), given.steps),
        "ours, rows by themselves": ours(recipe("training.grpo.share_prefixes=false"), given.steps),
        "ours": ours(recipe(), given.steps),
    }
    base = found["TRL GRPOTrainer"]["seconds"]
    print("| trainer | seconds per step | against TRL | completions | completion tokens |\n|---|---|---|---|---|")
    for name, one in found.items():
        counts = f"{one['completions']:,.0f} | {one['tokens']:,.0f}"
        print(f"| {name} | {one['seconds']:.1f} | {one['seconds'] / base:.2f} | {counts} |")


if __name__ == "__main__":
    main()
