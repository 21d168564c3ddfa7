"""What the stages do: functions from a recipe and artifacts on disk to new artifacts on disk.

Each loads the model afresh, so that a stage does the same whether or not the one before it ran in this process.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amemgym_train.config.environments import environment_of, training_users, users
from amemgym_train.config.recipe import Recipe
from amemgym_train.diagnosis.operations import Diagnosis, diagnose
from amemgym_train.errors import UserError
from amemgym_train.evaluation.controls import GREEDY, ask_with_memory, play_scripted
from amemgym_train.evaluation.goals import GoalReport, goal_report
from amemgym_train.evaluation.memory import Report, UpperBound, report
from amemgym_train.evolution import ranks
from amemgym_train.evolution.manifest import kept
from amemgym_train.evolution.plays import load_folder, play_again, play_users
from amemgym_train.evolution.policies import answering, totals
from amemgym_train.files import write_json
from amemgym_train.policy.base import Policy, Sampling
from amemgym_train.reflection.retry import counts, worth_trying
from amemgym_train.rollout.records import Episode, Row
from amemgym_train.rollout.runner import check_unscorable
from amemgym_train.rollout.store import save_episodes

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario
    from amemgym_train.training.pairs import Pair

Reports = dict[str, Report | GoalReport]


def stage_seed(recipe: Recipe, iteration: int) -> int:
    """The seed of an iteration's draws, within the 32 bits that the trainer takes."""
    return (1000 * recipe.seed + iteration) % 2**32


def roll_out(recipe: Recipe, iteration: int, adapter: Path | None, version: str, out: Path) -> dict[str, Any]:
    """Play iteration ``iteration``'s training users in groups, drawing tokens as the recipe says."""
    scenarios = training_users(recipe, iteration - 1)
    sampling = Sampling(**recipe.sampling.model_dump())
    seed = stage_seed(recipe, iteration)
    with answering(recipe, adapter, version) as policy:
        group, pieces = recipe.rollout.group_size, kept(out) / "episodes"
        episodes = play_users(recipe, "train", scenarios, policy, sampling, group, seed, out / "episodes", pieces)
    check_unscorable(episodes, recipe.rollout.max_unscorable)
    turns = [turn for episode in episodes for turn in episode.turns]
    sampled = sum(len(turn.completion_ids) for turn in turns)
    return {"episodes": len(episodes), "turns": len(turns), "tokens_sampled": sampled}


def try_again(recipe: Recipe, iteration: int, adapter: Path | None, version: str, folder: Path, out: Path) -> dict[str, Any]:
    """Play the episodes in ``folder`` that failed most once more, each with a reflection before the calls that failed."""
    scenarios = training_users(recipe, iteration - 1)
    firsts = worth_trying(load_folder(folder), {scenario.id: scenario for scenario in scenarios}, recipe.reflection)
    with answering(recipe, adapter, version) as policy:
        episodes = play_again(recipe, policy, ranks.share(firsts), scenarios, stage_seed(recipe, iteration), "second tries")
    (out / "retries").mkdir(parents=True, exist_ok=True)
    save_episodes(out / "retries" / f"part-{ranks.rank():03d}.parquet", episodes)
    ranks.wait()
    whole = load_folder(out / "retries")
    check_unscorable(whole, recipe.rollout.max_unscorable)
    return counts(firsts, whole)


def diagnoses_of(episodes: Sequence[Episode]) -> dict[str, Diagnosis]:
    return {episode.id: diagnose(episode) for episode in episodes if episode.error is None}


def diagnose_rollout(recipe: Recipe, folder: Path, out: Path) -> dict[str, Any]:
    """Write ``diagnosis.json``: the report of the rollout, and every cell of every episode."""
    episodes = load_folder(folder)
    figures = brief(figures_of(recipe, episodes))
    cells = {
        name: [
            {"period": cell.period, "question": cell.question, "outcome": cell.outcome, "known": cell.known}
            for cell in diagnosis.cells
        ]
        for name, diagnosis in diagnoses_of(episodes).items()
    }
    if ranks.is_main():
        write_json(out / "diagnosis.json", {"report": figures, "episodes": cells})
    return figures


def train(recipe: Recipe, iteration: int, folder: Path, adapter: Path | None, out: Path) -> dict[str, Any]:
    """Train an adapter as the recipe says: on what is chosen from the episodes of the iteration's ``folder`` and their second
    tries, saved with its reasons, or on-policy."""
    seed = stage_seed(recipe, iteration)
    if recipe.training.on_policy:
        from amemgym_train.evolution.on_policy import train_on_policy

        return train_on_policy(recipe, iteration, adapter, seed, out)
    from amemgym_train.policy.references import load
    from amemgym_train.training.lora import save_adapter, start_adapter, whole_weights

    if recipe.training.method == "dpo":
        from amemgym_train.training.dpo import train_dpo as trainer
    else:
        from amemgym_train.training.sft import train_sft as trainer
    retries = recipe.reflection.retry.episodes > 0
    tried = load_folder(folder / "retries") if retries else []
    chosen = choose(recipe, iteration, [*load_folder(folder / "episodes"), *tried], seed)
    model, tokenizer = load(recipe.policy.model, recipe.policy.dtype, ranks.device())
    model = start_adapter(model, adapter, recipe.policy.lora, recipe.seed)
    metrics = trainer(model, tokenizer, chosen, recipe.training, kept(out) / "checkpoints", seed)
    log = metrics.pop("log")
    weights = whole_weights(model)
    if ranks.is_main():
        write_json(out / "training.json", log)
        save_adapter(model, out / "adapter", weights)
        write_json(out / "rows.json", [one.shown() for one in chosen])
    kinds = [one.operation for one in chosen]
    if retries:
        again = {episode.id for episode in tried}
        metrics["rows_of_retries"] = sum(one.episode in again for one in chosen)
    return {**metrics, **{f"rows_{kind}": kinds.count(kind) for kind in sorted(set(kinds))}}


def choose(recipe: Recipe, iteration: int, episodes: Sequence[Episode], seed: int) -> "list[Row] | list[Pair]":
    """What is trained on: rows to imitate, or pairs. UserError when there is nothing."""
    from amemgym_train.training.pairs import pairs
    from amemgym_train.training.rft import select

    diagnoses, training = diagnoses_of(episodes), recipe.training
    calls = f"the {sum(len(episode.turns) for episode in episodes)} calls of the rollout"
    if training.method == "dpo":
        chosen = pairs(episodes, diagnoses, recipe.credit, training, seed)
        failed = f"no two of {calls} have the same prompt and rewards that differ by training.dpo.margin {training.dpo.margin:g}"
        mend = "Lower it, raise rollout.group_size or the number of users, or raise sampling.temperature"
    else:
        chosen = select(episodes, diagnoses, training, seed)
        failed = f"none of {calls} earned being kept"
        mend = "Raise rollout.group_size or the number of users, or lower sampling.temperature"
    if not chosen:
        raise UserError(f"iteration {iteration}: {failed}, nothing is there to train on. {mend}")
    return chosen


def evaluate(
    recipe: Recipe, role: str, adapter: Path | None, version: str, out: Path, name: str, controls: Sequence[str] = ()
) -> dict[str, Any]:
    """Play the users of ``role`` greedily; writes ``<name>.json`` (the full report), ``<name>_users.json`` (the memory score of
    each user that could be played) and ``<name>_episodes``. Of several environments the agent's figures in each are under
    "environments"."""
    scenarios = users(recipe, role)
    check_scrambled(role, scenarios, controls)
    with answering(recipe, adapter, version) as policy:
        full, parts, scores = scored(recipe, role, scenarios, policy, out, name, controls)
    if ranks.is_main():
        write_json(out / f"{name}.json", _told(full, parts, lambda figures: figures.to_dict()))
        write_json(out / f"{name}_users.json", scores)
    return _told(full, parts, brief)


def _told(full: Reports, parts: Reports, form: Callable[[Report | GoalReport], dict[str, Any]]) -> dict[str, Any]:
    apart = {"environments": {name: form(one) for name, one in parts.items()}} if parts else {}
    return {name: form(one) for name, one in full.items()} | apart


def check_scrambled(role: str, scenarios: "Sequence[Scenario]", controls: Sequence[str]) -> None:
    """UserError when a memory would be scrambled with that of nobody else."""
    if "scrambled" in controls and len(scenarios) < 2:
        raise UserError(
            f"evaluation.controls: scrambled answers from another user's memory, but there is {len(scenarios)} {role} user; "
            "add users, or leave scrambled out"
        )


def scored(
    recipe: Recipe, role: str, scenarios: "Sequence[Scenario]", policy: Policy, out: Path, name: str, controls: Sequence[str]
) -> tuple[Reports, Reports, dict[str, float | None]]:
    """The reports of the agent, whose episodes go to ``<name>_episodes``, and of its controls; the agent's in each of several
    environments; and its memory score of each user, None without headroom."""
    folder, pieces = out / f"{name}_episodes", kept(out) / "episodes"
    episodes = play_users(recipe, role, scenarios, policy, GREEDY, 1, recipe.seed, folder, pieces)
    check_unscorable(episodes, recipe.rollout.max_unscorable)
    upper = None
    if recipe.evaluation.upper == "model":
        from amemgym_train.evaluation.upper import upper_bound

        upper = upper_bound(recipe.agent, policy, scenarios)
    full = {"agent": figures_of(recipe, episodes, upper)}
    if score_of(recipe, full["agent"]) is None:
        raise UserError(
            f"{role} users: no memory score, as the upper bound ({recipe.evaluation.upper}) is nowhere above a blind pick: the "
            "model answers wrong even when told the states. Use a better model, or evaluation.upper=oracle"
        )
    for control in controls:
        asked = control_episodes(recipe, control, role, policy, scenarios, episodes)
        check_unscorable(asked, recipe.rollout.max_unscorable)
        full[control] = figures_of(recipe, asked, upper)
    played = [episode for episode in episodes if episode.error is None]
    of_user = {episode.task: score_of(recipe, figures_of(recipe, [episode], upper)) for episode in played}
    apart = {name: [one for one in played if environment_of(recipe, one.task) == name] for name in recipe.environments}
    return full, {name: report(some, upper) for name, some in apart.items() if some}, of_user


def control_episodes(
    recipe: Recipe, name: str, role: str, policy: Policy, scenarios: "Sequence[Scenario]", episodes: Sequence[Episode]
) -> list[Episode]:
    if name in ("oracle", "random"):  # the only ones of tasks
        return play_scripted(recipe, name, role, scenarios)
    return ask_with_memory(recipe, name, policy, scenarios, episodes, together=recipe.policy.remote)


def figures_of(recipe: Recipe, episodes: Sequence[Episode], upper: UpperBound | None = None) -> Report | GoalReport:
    """The figures of a set of episodes of the recipe's users, or tasks."""
    return report(episodes, upper) if recipe.tasks is None else goal_report(episodes)


def score_of(recipe: Recipe, figures: Report | GoalReport) -> float | None:
    """The figure that the gate looks at."""
    return getattr(figures, recipe.measure)


def brief(figures: Report | GoalReport) -> dict[str, Any]:
    """A report without its lists per period."""
    return {key: value for key, value in figures.to_dict().items() if key != "per_period"}


def evaluate_policy(recipe: Recipe, role: str, adapter: str | None) -> dict[str, Any]:
    """Score the recipe's agent with ``adapter`` (None: ``policy.adapter``, if any), and its controls, on the users of ``role``.

    Nothing is kept on disk.
    """
    import tempfile

    ranks.alone("evaluate")
    given = adapter or recipe.policy.adapter
    folder = Path(given) if given else None
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "evaluate.partial")
        out.mkdir()
        return evaluate(recipe, role, folder, "given", out, role, recipe.evaluation.controls) | totals(recipe)


def rollout_policy(recipe: Recipe, role: str, adapter: str | None, out: str) -> Path:
    """Play the users of ``role`` in groups, drawing tokens as the recipe says; the episodes go to the folder ``out``."""
    ranks.alone("rollout")
    if any(Path(out).glob("part-*.parquet")):
        raise UserError(f"{out} holds episodes already; choose another --out, or delete them")
    Path(out).mkdir(parents=True, exist_ok=True)  # before playing: a wrong path must not cost the episodes
    scenarios = users(recipe, role)
    sampling = Sampling(**recipe.sampling.model_dump())
    with answering(recipe, adapter or recipe.policy.adapter) as policy:
        play_users(recipe, role, scenarios, policy, sampling, recipe.rollout.group_size, recipe.seed, Path(out))
    return Path(out)
