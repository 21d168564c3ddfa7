"""The users that the recipe plays."""

from amemgym_train.config.curriculum import longest
from amemgym_train.config.environments import key as source_key
from amemgym_train.config.environments import sources
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.scenarios import ROLES
from amemgym_train.doctor.finding import Finding, green, red
from amemgym_train.errors import UserError

NAME = "users"


def users(recipe: Recipe) -> list[Finding]:
    """Files are read, and generators make their users, as they are at the end of a curriculum."""
    found, counts, at_its_longest = [], [], longest(recipe)
    everybody = [(role, name, one) for role in ROLES for name, one in sources(at_its_longest, role).items()]
    for role, name, scenarios in everybody:
        place = source_key(name, role)
        try:
            made = len(scenarios.build())
        except UserError as error:
            key = "data" if scenarios.data else "preset"
            found.append(red(NAME, f"{place}: {error}", f"{place}.{key}=..."))
            continue
        counts.append(f"{made} {role}{f' of {scenarios.data or name}' if scenarios.data or name else ''}")
    return found or [green(NAME, f"{', '.join(counts)} can be made")]
