"""What a run would do, before it starts: everything is built but the weights, and nothing is written."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from amemgym_train.config.curriculum import longest
from amemgym_train.config.description import counted, describe
from amemgym_train.config.environments import users
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.scenarios import ROLES
from amemgym_train.errors import UserError
from amemgym_train.evolution import ranks
from amemgym_train.evolution.disk import free, in_bytes
from amemgym_train.evolution.folder import check_same
from amemgym_train.evolution.forecast import disk_bytes, forecast
from amemgym_train.evolution.inputs import named_files
from amemgym_train.evolution.manifest import entries_of
from amemgym_train.evolution.on_policy import longest_reply, most_rows, most_tries, trained_calls
from amemgym_train.evolution.policies import check_trains
from amemgym_train.evolution.sizes import model_sizes, saved_bytes
from amemgym_train.policy.references import BUILT_IN

if TYPE_CHECKING:
    from amemgym_envs.amemgym.scenario import Scenario


def dry_run(recipe: Recipe, as_json: bool) -> None:
    """Print the plan of ``recipe``, in the main process. UserError: the run could not start."""
    found = plan(recipe)
    if ranks.is_main():
        print(json.dumps(found, indent=2) if as_json else told(recipe, found), flush=True)


def plan(recipe: Recipe) -> dict[str, Any]:
    """The figures: ``processes``, ``users`` by role, ``batch``, ``model``, ``stages`` (``forecast.Stage``), ``disk`` (bytes) and
    ``run``."""
    check_trains(recipe)
    check_same(recipe, recipe.run_dir)
    named_files(recipe)  # can be read
    at_its_longest = longest(recipe)
    played = {role: users(at_its_longest, role) for role in ROLES}
    batch = _batch(at_its_longest, played["train"])
    if batch:
        _check_trainer(recipe, batch)
    model = model_sizes(recipe)
    stages = forecast(recipe, saved_bytes(recipe, model))
    return {
        "recipe": recipe.name,
        "processes": {"count": ranks.count(), "device": ranks.device(), "sharing": ranks.sharing()[0]},
        "users": {role: len(scenarios) for role, scenarios in played.items()},
        "batch": batch,
        "model": model,
        "stages": [asdict(stage) for stage in stages],
        "disk": {"needed": disk_bytes(stages, recipe.evolution.keep_last), "free": free(recipe.run_dir)},
        "run": _run(recipe),
    }


def _batch(recipe: Recipe, scenarios: "Sequence[Scenario]") -> dict[str, int]:
    if recipe.training.method == "none":
        return {}
    return (_on_policy if recipe.training.on_policy else _selected)(recipe, scenarios)


def _on_policy(recipe: Recipe, scenarios: "Sequence[Scenario]") -> dict[str, int]:
    """Of one step; ``rows`` of the process that plays the most episodes, and its ``micro_batches`` in each of the ``updates``."""
    from amemgym_train.training.arguments import micro_batches

    settings, calls = recipe.training.on_policy, trained_calls(recipe, recipe.credit.operations)
    episodes = len(scenarios) * recipe.rollout.group_size
    most = -(-episodes // ranks.count())
    return {
        "episodes": episodes,
        "episodes_per_process": most,
        "calls": calls,
        "rows": calls * most,
        "second_tries": most_tries(recipe, scenarios),
        "micro_batches": micro_batches(most_rows(recipe, scenarios), recipe.training.batch_size, settings.minibatches),
        "updates": settings.updates,
        "steps": settings.steps,
        "all_steps": settings.steps * recipe.evolution.iterations,
    }


def _selected(recipe: Recipe, scenarios: "Sequence[Scenario]") -> dict[str, int]:
    """Of one iteration; ``rows`` and ``steps`` are the most there can be: which calls are kept is seen when they are played."""
    from amemgym_train.training.arguments import steps_of

    training = recipe.training
    calls = trained_calls(recipe, (recipe.credit if training.method == "dpo" else training).operations)
    rows = min(len(scenarios) * calls * training.keep_per_slot, training.max_rows or float("inf"))
    steps = steps_of(training, rows, ranks.count())
    episodes = len(scenarios) * recipe.rollout.group_size
    return {"episodes": episodes, "calls": calls, "rows": rows, "steps": steps, "all_steps": steps * recipe.evolution.iterations}


def _check_trainer(recipe: Recipe, batch: dict[str, int]) -> None:
    """UserError when the trainer would refuse its settings."""
    from amemgym_train.training import arguments

    training, folder, on_cpu = recipe.training, recipe.run_dir, ranks.device() == "cpu"
    try:
        if training.on_policy is None:
            chosen = arguments.dpo_arguments if training.method == "dpo" else arguments.sft_arguments
            chosen(training, folder, recipe.seed, batch["rows"], on_cpu)
        else:
            longest, temperature = longest_reply(recipe), recipe.sampling.temperature
            arguments.arguments_of(training, folder, recipe.seed, batch["micro_batches"], longest, temperature, on_cpu)
    except ValueError as error:
        raise UserError(f"training: the trainer refuses these settings ({error}); change them in the recipe") from error


def _run(recipe: Recipe) -> dict[str, Any]:
    folder = recipe.run_dir
    finished = {str(path.parent.relative_to(folder)): list(entries_of(path)) for path in sorted(folder.rglob("manifest.json"))}
    return {"folder": str(folder), "finished": finished}


def told(recipe: Recipe, found: dict[str, Any]) -> str:
    """The plan as sentences, a line for each subject."""
    users = ", ".join(f"{count} {role}" for role, count in found["users"].items())
    stages = sum(map(len, found["run"]["finished"].values()))
    begin = f"would go on, {counted(stages, 'stage')} of it finished" if stages else "would start from the beginning"
    trainer = ", the trainer takes its settings" if found["batch"] else ""
    lines = [
        f"Dry run: the recipe is valid, its {recipe.played} can be made ({users}){trainer}. Nothing was written.",
        describe(recipe),
        *([f"Batch: {batch_told(recipe, found)}."] if found["batch"] else []),
        f"Stages: {_stages_told(found['stages'])}.",
        f"Model: {_model_told(recipe, found['model'])}.{_server_told(recipe)}",
        f"Disk: about {in_bytes(found['disk']['needed'])} at most, {in_bytes(found['disk']['free'])} are free.",
        f"Run: {begin} in {found['run']['folder']}.",
    ]
    return "\n".join(lines)


def batch_told(recipe: Recipe, found: dict[str, Any]) -> str:
    """How a step's rows, or an iteration's, are made."""
    training, batch, processes = recipe.training, found["batch"], found["processes"]
    several = f"each of {processes['count']} {processes['device']} processes ({processes['sharing']})"
    where = several if processes["count"] > 1 else f"one {processes['device']} process"
    users = counted(found["users"]["train"], recipe.played.removesuffix("s"))
    how = "at most" if recipe.tasks else "counted with an agent that guesses"
    calls = f"{counted(batch['calls'], 'trained call')} each ({how})"
    total = f"{counted(batch['steps'], 'step')} x {counted(recipe.evolution.iterations, 'iteration')} = {batch['all_steps']}"
    if training.on_policy is None:
        rows = "pairs" if training.method == "dpo" else "rows"
        bound = "" if training.max_rows is None else f" and max_rows {training.max_rows}"
        return (
            f"{users} x {calls} x {training.keep_per_slot} kept{bound} make at most {batch['rows']} {rows} an iteration; "
            f"{training.batch_size} x {training.gradient_accumulation} {rows} on {where} per optimiser step; at most {total}"
        )
    cut = f"{batch['micro_batches']} micro-batch{'' if batch['micro_batches'] == 1 else 'es'} of {training.batch_size}"
    episodes = f"{users} x {recipe.rollout.group_size} in a group = {batch['episodes']} episodes a step"
    rows = f"at most {batch['episodes_per_process']} of them on {where} x {calls} = {batch['rows']} rows"
    if batch["second_tries"]:
        rows += f" and those of up to {counted(batch['second_tries'], 'episode')} tried again"
    updates = f", {batch['updates']} of them a step" if batch["updates"] > 1 else ""
    return f"{episodes}; {rows}, in {cut} per optimiser step{updates}; {total}"


def _stages_told(stages: list[dict[str, Any]]) -> str:
    """Each with what it plays, and how often it comes."""
    return "; ".join(
        f"{stage['name']}{f' x {times}' if (times := stage['times']) > 1 else ''}: {_played_told(stage)}" for stage in stages
    )


def _played_told(stage: dict[str, Any]) -> str:
    if not stage["episodes"]:
        return "plays nothing"
    return f"{counted(stage['episodes'], 'episode')}, {_short(stage['read'])} tokens read, {_short(stage['written'])} written"


def _short(number: int) -> str:
    return f"{number / 1e6:.1f}M" if number >= 1e6 else f"{number / 1e3:.0f}K"


def _model_told(recipe: Recipe, model: dict[str, Any]) -> str:
    name = model["name"]
    if recipe.policy.chat is not None:
        return f"{name} at {recipe.policy.chat.base_url}, not asked yet"
    if not model["at_hand"]:
        missing = f"{name} is built on first use" if name in BUILT_IN else f"hub id {name} is not in this machine's cache"
        return f"not looked at: {missing}"
    base = f"{model['class']} of {model['parameters']:,} parameters, {in_bytes(model['bytes'])} in {recipe.policy.dtype}"
    if model["bytes"] < model["bytes_playing"]:
        base += f" ({in_bytes(model['bytes_playing'])} while episodes are played)"
    if recipe.training.method == "none":
        return f"{name}, {base}, on each process"
    trained = f"{model['adapter_parameters']:,} parameters, {in_bytes(model['adapter_bytes'])} with gradient and optimiser"
    return f"{name}, {base}; adapter of {trained}, all on each process"


def _server_told(recipe: Recipe) -> str:
    server = recipe.policy.server
    return "" if server is None else f" Episodes are answered by {' and '.join(server.urls)}, not asked yet."
