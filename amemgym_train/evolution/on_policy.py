"""The train stage of on-policy methods: every optimiser step plays its own episodes with the weights as they are by then."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amemgym_train.agents import build_agent
from amemgym_train.config.environments import alike, training_users
from amemgym_train.config.recipe import Recipe
from amemgym_train.evaluation.controls import GREEDY, agents, environment
from amemgym_train.evaluation.goals import task_of
from amemgym_train.evolution import ranks
from amemgym_train.evolution.manifest import kept
from amemgym_train.evolution.plays import play_again
from amemgym_train.evolution.policies import server_policy
from amemgym_train.files import write_json
from amemgym_train.policy.base import Policy, Sampling
from amemgym_train.policy.oracle import RandomPolicy
from amemgym_train.reflection.retry import counts, worth_trying
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.records import Episode, Row
from amemgym_train.rollout.runner import play

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario


def train_on_policy(recipe: Recipe, iteration: int, adapter: Path | None, seed: int, out: Path) -> dict[str, Any]:
    """Train an adapter by the method's on-policy steps, and save it with the figures of every step.

    A stage that was killed goes on from its last checkpoint.
    """
    from amemgym_train.policy.references import load
    from amemgym_train.training.critic import save_head
    from amemgym_train.training.grpo import train_grpo
    from amemgym_train.training.lora import save_adapter, start_adapter, whole_weights
    from amemgym_train.training.ppo import train_ppo

    model, tokenizer = load(recipe.policy.model, recipe.policy.dtype, ranks.device())
    model = start_adapter(model, adapter, recipe.policy.lora, recipe.seed)
    server = server_policy(recipe, adapter) if recipe.policy.server is not None else None
    sampling = Sampling(**recipe.sampling.model_dump())

    def rollout(policy: Policy, step: int) -> list[Episode]:
        scenarios = users_of(recipe, iteration, step)
        factory = agents(recipe, policy, sampling, scenarios)
        return play(
            environment(recipe, "train", scenarios),
            tasks(recipe, scenarios),
            factory,
            seed + step,
            recipe.rollout.concurrency,
            None,
            recipe.policy.remote,
        )

    def imitate(policy: Policy, step: int, episodes: list[Episode]) -> tuple[list[Row], dict[str, float]]:
        scenarios = {scenario.id: scenario for scenario in users_of(recipe, iteration, step)}
        return second_rows(recipe, policy, scenarios, episodes, seed + step)

    checkpoints = kept(out) / "checkpoints"
    tries = {"imitate": imitate} if recipe.reflection.retry.episodes else {}
    train = partial(train_ppo, start=adapter) if recipe.training.method == "ppo" else partial(train_grpo, **tries)
    metrics = train(
        model,
        tokenizer,
        rollout,
        recipe.credit,
        recipe.training,
        checkpoints,
        seed,
        rows_per_process=most_rows(recipe, users_of(recipe, iteration, 0)),
        longest=longest_reply(recipe),
        temperature=recipe.sampling.temperature,
        max_prompts=recipe.policy.max_batch_size,
        max_unscorable=recipe.rollout.max_unscorable,
        server=server,
    )
    if server is not None:
        server.release()
    log = metrics.pop("log")
    weights = whole_weights(model)
    if ranks.is_main():
        write_json(out / "training.json", log)
        save_adapter(model, out / "adapter", weights)
        if recipe.training.method == "ppo":
            save_head(weights, out / "adapter", model.value_head.state)  # the next iteration goes on with it
    steps = [entry for entry in log if "tokens_sampled" in entry]
    episodes = sum(entry["episodes"] for entry in steps)
    sampled = sum(entry["tokens_sampled"] + entry.get("retry/tokens_sampled", 0) for entry in steps)
    return metrics | {"episodes": episodes, "tokens_sampled": sampled, **_last(steps)}


def second_rows(
    recipe: Recipe, policy: Policy, scenarios: "dict[str, Scenario]", episodes: list[Episode], seed: int
) -> tuple[list[Row], dict[str, float]]:
    """What this process's second tries teach by imitation, and the figures of those of all processes."""
    from accelerate.utils import gather_object

    from amemgym_train.training.imitation import imitation_rows

    firsts = worth_trying(episodes, scenarios, recipe.reflection, gather_object)
    seconds = play_again(recipe, policy, firsts, list(scenarios.values()), seed)
    settings, weight = recipe.training.on_policy, recipe.reflection.retry.weight
    if settings.surrogate == "cispo":  # which multiplies every gradient by the ratio, and that at most by its cap
        weight /= min(1.0, settings.epsilon_high or settings.epsilon)
    rows = imitation_rows(seconds, recipe.credit.operations, weight)
    made = counts(firsts, seconds) | {"rows": len(rows)}
    everywhere = gather_object([made])
    return rows, {f"retry/{key}": sum(one[key] for one in everywhere) for key in ("tries", "rows", "tokens_sampled")}


def users_of(recipe: Recipe, iteration: int, step: int) -> "list[Scenario]":
    """The training users of a step: the next ones of the generator at every step, unless the recipe keeps them."""
    return training_users(recipe, (iteration - 1) * recipe.training.on_policy.steps + step)


def tasks(recipe: Recipe, scenarios: "Sequence[Scenario]") -> list[Task]:
    """This process's share of the step's episodes."""
    return ranks.share(
        [task_of(recipe, scenario.id, number) for scenario in scenarios for number in range(recipe.rollout.group_size)]
    )


def most_rows(recipe: Recipe, scenarios: "Sequence[Scenario]") -> int:
    """The rows of one update, at most, of the process that plays the most episodes: its trained calls, or a minibatch of them.

    Second tries are played by whoever played the first.
    """
    calls = trained_calls(recipe, recipe.credit.operations)
    episodes = -(-len(scenarios) * recipe.rollout.group_size // ranks.count()) + most_tries(recipe, scenarios)
    return -(-calls // recipe.training.on_policy.minibatches) * episodes


def most_tries(recipe: Recipe, scenarios: "Sequence[Scenario]") -> int:
    """The second tries of a step, at most, of one process."""
    return len(scenarios) * min(recipe.reflection.retry.episodes, -(-recipe.rollout.group_size // ranks.count()))


def trained_calls(recipe: Recipe, operations: Sequence[str]) -> int:
    """The calls of ``operations`` in the longest episode of training, counted in episodes that need no model; in environments
    with a goal the most that there can be. UserError: nothing bounds them."""
    if recipe.tasks is not None:
        return recipe.tasks.longest()
    chosen = alike(recipe, "train")

    def agent(task: Task, episode: str, seed: int):
        return build_agent(recipe.agent, RandomPolicy(), episode, seed, GREEDY)

    played = play(environment(recipe, "train", chosen), [Task(s.id, s.id, 0) for s in chosen], agent, recipe.seed, label=None)
    return max(sum(turn.operation in operations for turn in episode.turns) for episode in played)


def longest_reply(recipe: Recipe) -> int:
    """Most new tokens of one call."""
    return max(recipe.agent.max_new_tokens.model_dump().values())


def _last(steps: list[dict[str, Any]]) -> dict[str, float]:
    """The figures of the last step, for a run's summary."""
    kept = ("reward/", "shares/", "zero_spread", "entropy", "sampler_gap/mean", "truncated", "explained_variance")
    return {key: value for key, value in (steps[-1] if steps else {}).items() if key.startswith(kept)}
