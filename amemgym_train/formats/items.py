"""AgentGym's item ids, ``<prefix>_<number>``: which environment and which of its tasks.

The number stands after the last underscore; prefixes have underscores of their own. A file's name and the ids in it do not always
agree (``tool_weather_train.json`` holds ``weather_5``), so both spellings are read, and the ids' is written.
"""

from functools import lru_cache
from typing import NamedTuple

from amemgym_train.errors import UserError

PREFIXES = {
    "WebShop": "webshop",
    "WebArena": "webarena",
    "ALFWorld": "alfworld",
    "SciWorld": "sciworld",
    "BabyAI": "babyai",
    "TextCraft": "textcraft",
    "Maze": "lmrlgym_maze",
    "Wordle": "lmrlgym_wordle",
    "Weather": "weather",
    "Movie": "movie",
    "Todo": "todo",
    "Academia": "tool_academia",
    "Sheet": "tool_sheet",
    "BIRD": "sqlgym",
    "SearchQA": "searchqa",
}
ENVIRONMENTS = {prefix: name for name, prefix in PREFIXES.items()} | {
    "tool_weather": "Weather",
    "tool_movie": "Movie",
    "tool_todo": "Todo",
    "academia": "Academia",
    "sheet": "Sheet",
    "maze": "Maze",
    "wordle": "Wordle",
}


class ItemId(NamedTuple):
    environment: str  # without its version: "TextCraft"
    number: int


def parse_item(item_id: str) -> ItemId:
    """UserError: an unknown prefix, no number, or an id of ALFWorld's training tasks, which is the path of a game."""
    if "_trial_" in item_id:
        raise UserError(
            f"item id {item_id}: ALFWorld's training tasks are named by the path of their game, and what stands after the last "
            "underscore is part of a time, not the number of a task. Look the number up in AgentGym's mappings_train.json "
            "and write alfworld_<number>"
        )
    prefix, _, number = item_id.rpartition("_")
    if not (number.isascii() and number.isdecimal() and len(number) <= 18):
        raise UserError(f"item id {item_id!r:.80}: expected <prefix>_<number>, for instance textcraft_12")
    if prefix not in ENVIRONMENTS:
        raise UserError(f"item id {item_id!r:.80}: unknown prefix {prefix!r:.60}, expected one of {', '.join(PREFIXES.values())}")
    return ItemId(ENVIRONMENTS[prefix], int(number))


def item_of(environment: str, task: str) -> str:
    """The item id of a task of ours. ``environment`` may have its version. The number is the one that ``TaskEnv.item`` takes; a
    task that the environment does not have by itself (of a user's file, say) keeps its name: ``searchqa_q-7``."""
    name = environment.rpartition("-v")[0] or environment
    prefix = PREFIXES.get(name, name.lower())
    return f"{prefix}_{_numbers(environment).get(task, task)}"


@lru_cache
def _numbers(environment: str) -> dict[str, int]:
    """The number of every task of ``environment``, as it is without options; none where it cannot be made here."""
    from amemgym_envs import TaskEnv, make

    try:
        env = make(environment)
    except (ValueError, ImportError):
        return {}
    if not isinstance(env, TaskEnv):
        return {}
    numbers: dict[str, int] = {}
    for number in range(len(env.tasks)):
        try:
            numbers.setdefault(env.item(number), number)
        except ValueError:  # beyond what AgentGym numbers
            break
    return numbers
