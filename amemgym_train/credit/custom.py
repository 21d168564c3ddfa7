"""A scheme of the user's own: imported by its path, and every result of it checked."""

import importlib
import math
import traceback
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any, get_args

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.training import Trained
from amemgym_train.credit.canned import canned
from amemgym_train.credit.records import Reward, Rewards, Scheme, trained
from amemgym_train.diagnosis.operations import Diagnosis, diagnose
from amemgym_train.errors import UserError
from amemgym_train.rollout.records import Episode

# What a mistake in a user's module or function raises. Nothing else is caught.
MISTAKES = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError),
    *(RuntimeError, SyntaxError, TypeError, ValueError, OSError),
)


def load(name: str) -> Scheme:
    """The function ``package.module:function``, guarded: what it returns is checked, and plain numbers become rewards.

    It is a named attribute of an imported module: nothing is evaluated. UserError when there is none.
    """
    module_name, _, attribute = name.partition(":")
    try:
        function = getattr(importlib.import_module(module_name), attribute, None)
    except MISTAKES as error:
        raise UserError(
            f"credit.scheme: {name}: importing {module_name} failed with {_told(error)}. Expected a module that Python finds: "
            "start with PYTHONPATH set to the folder it lies in"
        ) from error
    if not callable(function):
        got = "no such name" if function is None else f"a {type(function).__name__}"
        raise UserError(f"credit.scheme: {name}: got {got} in {module_name}, expected a function {attribute}")
    return partial(_guarded, name, function)


def try_out(scheme: Scheme, config: CreditConfig) -> None:
    """Run a guarded scheme on three canned episodes, so that it fails before any model is loaded rather than after a rollout."""
    for episode in canned():
        scheme(episode, diagnose(episode), config)


def _guarded(name: str, function: Callable[..., Any], episode: Episode, diagnosis: Diagnosis, config: CreditConfig) -> Rewards:
    try:
        found = function(episode, diagnosis, config)
    except MISTAKES as error:
        raise UserError(f"credit.scheme: {name} failed on episode {episode.id} with {_told(error)}") from error
    if not isinstance(found, dict):
        raise _refused(name, episode, f"returned a {type(found).__name__}", "a dict of turn index -> Reward, number or None")
    rewards = {index: _checked(name, episode, index, value) for index, value in found.items()}
    return {index: rewards.get(index) for index in trained(episode, config)}


def _checked(name: str, episode: Episode, index: Any, value: Any) -> Reward | None:
    if type(index) is not int or not 0 <= index < len(episode.turns):
        raise _refused(name, episode, f"gave a reward to turn {index!r}", f"an index from 0 to {len(episode.turns) - 1}")
    turn = episode.turns[index]
    if turn.operation not in get_args(Trained):
        got = f"gave a reward to turn {index}, a {turn.operation} turn"
        raise _refused(name, episode, got, f"{', '.join(get_args(Trained))} turns only")
    if value is None:
        return None
    reward = value if isinstance(value, Reward) else Reward(value, name)
    if not isinstance(reward.value, Real) or not math.isfinite(reward.value):
        raise _refused(name, episode, f"gave turn {index} ({turn.slot}) {value!r}", "a Reward or a number, finite, or None")
    return Reward(float(reward.value), str(reward.reason), reward.whole)


def _refused(name: str, episode: Episode, got: str, expected: str) -> UserError:
    return UserError(f"credit.scheme: {name} {got} of episode {episode.id}; expected {expected}")


def _told(error: BaseException) -> str:
    """The error, and the last line of the user's that led to it."""
    found = traceback.extract_tb(error.__traceback__)
    ours = (__file__, importlib.__file__, "<")
    frames = [frame for frame in found if not frame.filename.startswith(ours)]
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
