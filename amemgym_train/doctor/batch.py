"""The arithmetic of a step, as a sentence."""

from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.finding import Finding, green, yellow
from amemgym_train.errors import UserError

NAME = "batch"


def batch(recipe: Recipe) -> list[Finding]:
    """What the dry run says of a step, and whether its episodes deal out evenly on the processes of the launch."""
    from amemgym_train.evolution.plan import batch_told, plan

    found = plan(recipe)  # its UserErrors name their key
    if not found["batch"]:
        return [green(NAME, "no weights are trained")]
    told, episodes, count = batch_told(recipe, found), found["batch"]["episodes"], _processes(recipe)
    if count == 1:
        return [green(NAME, told)]
    each, left = divmod(episodes, count)
    spread = f"accelerate launch starts {count} processes"
    if left:
        uneven = f"{episodes} episodes do not deal out evenly: {left} play {each + 1}, the others {each} and wait"
        return [yellow(NAME, f"{told}; {spread}, and {uneven}", f"{_key(recipe)}={_next(episodes, count, recipe)}")]
    return [green(NAME, f"{told}; {spread}, each with {each} of the {episodes} episodes")]


def _processes(recipe: Recipe) -> int:
    from amemgym_train.doctor.devices import processes, said_of

    if recipe.evolution.launcher == "inline":
        return 1
    launch = recipe.evolution.launch
    try:
        here, machines = processes(launch, said_of(launch))
    except (UserError, ValueError):  # which is the launch check's to say
        return 1
    return here * machines


def _key(recipe: Recipe) -> str:
    if recipe.environments:
        return "rollout.users"
    return "rollout.group_size" if recipe.scenarios.train.data else "scenarios.train.num_users"


def _next(episodes: int, count: int, recipe: Recipe) -> int:
    """The next larger number of users (or of episodes in a group) whose episodes deal out evenly."""
    group, users = recipe.rollout.group_size, episodes // recipe.rollout.group_size
    start, other = (group, users) if recipe.scenarios.train.data else (users, group)
    return next(number for number in range(start, start + count + 1) if number * other % count == 0)
