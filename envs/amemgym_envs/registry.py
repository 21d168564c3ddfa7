"""The environments by name: what there is, what each needs, and one made from a name. None is loaded before it is asked for."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any

import gymnasium

from amemgym_envs.core import EnvCard, TextEnv

CLASSES = {
    "AMemGym-v0": "amemgym_envs.amemgym.environment:AMemGymEnv",
    "TextCraft-v0": "amemgym_envs.textcraft.environment:TextCraftEnv",
    "SearchQA-v0": "amemgym_envs.searchqa.environment:SearchQAEnv",
    "BabyAI-v0": "amemgym_envs.babyai.environment:BabyAIEnv",
    "Weather-v0": "amemgym_envs.weather.environment:WeatherEnv",
    "Todo-v0": "amemgym_envs.todo.environment:TodoEnv",
    "Movie-v0": "amemgym_envs.movie.environment:MovieEnv",
    "Academia-v0": "amemgym_envs.academia.environment:AcademiaEnv",
    "Wordle-v0": "amemgym_envs.wordle.environment:WordleEnv",
    "Maze-v0": "amemgym_envs.maze.environment:MazeEnv",
    "BIRD-v0": "amemgym_envs.bird.environment:BirdEnv",
    "Sheet-v0": "amemgym_envs.sheet.environment:SheetEnv",
}


def register_all() -> None:
    """Register every environment with gymnasium, without its wrappers, which check at every step what tests check once."""
    for name, entry_point in CLASSES.items():
        gymnasium.register(id=name, entry_point=entry_point, order_enforce=False, disable_env_checker=True)


def full_name(name: str) -> str:
    """The registered id of ``name``, which may lack its version or be written in small letters. ValueError: there is none."""
    for known in CLASSES:
        if name.casefold() in (known.casefold(), known.rpartition("-v")[0].casefold()):
            return known
    raise ValueError(f"no environment {name!r}; there are {', '.join(known.rpartition('-v')[0] for known in CLASSES)}")


def class_of(name: str) -> type[TextEnv]:
    module, _, attribute = CLASSES[full_name(name)].partition(":")
    return getattr(import_module(module), attribute)


def cards() -> Iterator[EnvCard]:
    for name in CLASSES:
        yield class_of(name).card


def lacking(card: EnvCard) -> list[str]:
    """The packages that ``card`` requires and that are not installed, by the names that they are imported by."""
    return [package for package in card.requires if find_spec(package) is None]


def make(name: str, **options: Any) -> TextEnv:
    """The environment ``name`` with ``options`` of its class. ValueError: no such environment, or an option is wrong."""
    chosen = class_of(name)
    known = [key for key in signature(chosen).parameters if key not in ("args", "kwargs")]
    if unknown := [key for key in options if key not in known]:
        raise ValueError(f"no option {', '.join(unknown)}; there are {', '.join(known)}")
    return chosen(**options)
