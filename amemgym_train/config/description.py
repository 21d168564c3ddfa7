"""The arithmetic that follows from a recipe, as sentences for a person about to start it."""

from amemgym_train.config.curriculum import scheduled
from amemgym_train.config.environments import rollout_size, shares, sources
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.scenarios import ScenarioConfig


def describe(recipe: Recipe) -> str:
    """What one iteration plays and trains on, and how many there are."""
    iterations = counted(recipe.evolution.iterations, "iteration")
    return (
        f"{recipe.name}: {iterations} of the {recipe.agent.name} agent on {recipe.policy.model}. "
        f"{_prompts(recipe)}{_weights(recipe)} "
        f"Validation: {_everybody(recipe, 'validation')} each time; test: {_everybody(recipe, 'test')}, at the start and the end."
    )


def _weights(recipe: Recipe) -> str:
    if recipe.training.method == "none":
        return f"{_curriculum(recipe).lstrip()} No weights are trained.".lstrip()
    return f"{_rollout(recipe)}{_retry(recipe)}{_curriculum(recipe)} {_training(recipe)}"


def _prompts(recipe: Recipe) -> str:
    prompts, reflector = recipe.reflection.prompts, recipe.reflection.reflector
    if prompts.cadence == "none":
        return ""
    known = {"policy": "the agent itself", "scripted": "the scripted reflector"}
    who = known.get(reflector.kind) or (reflector.chat.model if reflector.chat else reflector.model)
    what, told = " + ".join(prompts.targets), f"{recipe.reflection.feedback} feedback"
    if prompts.cadence == "period":
        return f"After each period {who} rewrites its prompts ({what}) with {told}. "
    return (
        f"Before each, {who} rewrites the prompts ({what}) {counted(prompts.proposals, 'time')} with {told} "
        f"of up to {counted(prompts.users, 'training user')}; kept is what validation users show to be better. "
    )


def _rollout(recipe: Recipe) -> str:
    train, group = recipe.scenarios.train, recipe.rollout.group_size
    on_policy = recipe.training.on_policy
    each = f"Each takes {counted(on_policy.steps, 'step')}; a step" if on_policy else "Each"
    if recipe.environments:
        return f"{each} plays {_shared_out(recipe)}."
    if recipe.tasks is not None:
        return f"{each} plays {_goals(recipe, 'train')} x {group} in a group = {recipe.tasks.train.size * group} episodes."
    if train.data is not None:
        return f"{each} plays {_users(train)} x {group} in a group."
    train = scheduled(recipe, 1).scenarios.train
    periods, questions = train.num_periods + 1, train.num_questions
    fresh = ", new users each time" if recipe.rollout.new_users_each_iteration else ""
    return (
        f"{each} plays {_users(train)} x {group} in a group = {train.num_users * group} episodes{fresh}, and asks in each "
        f"{periods} periods x {questions} questions = {periods * questions} answers and as many probes."
    )


def _shared_out(recipe: Recipe) -> str:
    """Of the first rollout; where weights leave a rest, the next ones differ by a user."""
    size, group, fresh = rollout_size(recipe), recipe.rollout.group_size, recipe.rollout.new_users_each_iteration
    parts = " + ".join(f"{count} of {name}" for name, count in shares(recipe, 1).items())
    new = ", new users each time" if fresh else ""
    return f"{counted(size, 'user')} ({parts}) x {group} in a group = {size * group} episodes{new}"


def _goals(recipe: Recipe, role: str) -> str:
    return f"{counted(getattr(recipe.tasks, role).size, 'task')} of {recipe.tasks.environment}"


def _retry(recipe: Recipe) -> str:
    retry = recipe.reflection.retry
    if not retry.episodes:
        return ""
    learned = f", and imitated with weight {retry.weight:g}" if recipe.training.on_policy else ""
    return f" Of each group up to {retry.episodes} are tried again with {recipe.reflection.feedback} reflections{learned}."


def _curriculum(recipe: Recipe) -> str:
    curriculum = recipe.evolution.curriculum
    if not curriculum.schedules:
        return ""
    steps = ", ".join(f"{key} {' -> '.join(map(str, values))}" for key, values in curriculum.schedules.items())
    return f" Training grows: {steps}, a step every {counted(curriculum.every, 'iteration')}."


def _training(recipe: Recipe) -> str:
    training, credit = recipe.training, recipe.credit
    if training.on_policy:
        updates = training.on_policy.updates
        times = "once" if updates == 1 else counted(updates, "time")
        return (
            f"It then updates the adapter {times}, on its {' + '.join(credit.operations)} calls, paid by credit.scheme "
            f"{credit.scheme}, {training.batch_size} rows per process and forward pass."
        )
    per_step = training.batch_size * training.gradient_accumulation
    operations, rows = (credit.operations, "pairs") if training.method == "dpo" else (training.operations, "rows")
    sentence = (
        f"{training.method} then trains {counted(training.epochs, 'epoch')} on {rows} of {' + '.join(operations)} calls, "
        f"{training.batch_size} x {training.gradient_accumulation} = {per_step} {rows} per step and process"
    )
    if training.max_rows is None:
        return f"{sentence}."
    steps = -(-training.max_rows // per_step) * training.epochs
    return f"{sentence}; at most {training.max_rows} {rows}, so at most {counted(steps, 'step')}."


def _everybody(recipe: Recipe, role: str) -> str:
    if recipe.tasks is not None:
        return _goals(recipe, role)
    named = [f"{_users(source)}{f' of {name}' if name else ''}" for name, source in sources(recipe, role).items()]
    return " + ".join(named)


def _users(scenarios: ScenarioConfig) -> str:
    if scenarios.data is None:
        return counted(scenarios.num_users, "user")
    return f"{counted(len(scenarios.users), 'user')} of {scenarios.data}" if scenarios.users else f"all users of {scenarios.data}"


def counted(number: int, noun: str) -> str:
    """As in "1 step" and "2 steps"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
