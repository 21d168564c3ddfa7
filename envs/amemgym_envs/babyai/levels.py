"""The forty levels that AgentGym plays, in its order, as minigrid makes them."""

import os
from functools import cache
from importlib import import_module
from typing import Any

LEVELS = tuple("""
    GoToRedBallGrey GoToRedBall GoToRedBallNoDists GoToObjS6 GoToLocalS8N7 GoToObjMazeS7 GoToImpUnlock GoToSeqS5R2
    GoToRedBlueBall GoToDoor GoToObjDoor Open OpenRedDoor OpenDoorLoc OpenRedBlueDoorsDebug OpenDoorsOrderN4Debug
    Pickup UnblockPickup PickupLoc PickupDistDebug PickupAbove PutNextLocalS6N4 PutNextS7N4Carrying Unlock UnlockLocalDist
    KeyInBox UnlockPickupDist BlockedUnlockPickup UnlockToUnlock ActionObjDoor FindObjS7 KeyCorridorS6R3 OneRoomS20
    MoveTwoAcrossS8N9 SynthS5R2 SynthLoc SynthSeq MiniBossLevel BossLevel BossLevelNoUnlock
""".split())


@cache
def _maker(level: str) -> tuple[type, dict[str, Any]]:
    """The class of ``level`` and the arguments that it is registered with."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # what is printed would end up in the protocols that use stdout
    import gymnasium

    try:
        from minigrid.envs.babyai.core import roomgrid_level  # and the levels are registered
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"BabyAI needs {error.name}: pip install 'amemgym-train[babyai]'", name=error.name) from error

    roomgrid_level.print = lambda *_: None  # it tells of every layout that it rejects
    # Where minigrid corrected a level, it raised its version and dropped the old one.
    spec = next(gymnasium.registry[name] for v in (0, 1) if (name := f"BabyAI-{level}-v{v}") in gymnasium.registry)
    module, _, name = spec.entry_point.partition(":")
    return getattr(import_module(module), name), spec.kwargs


def new(level: str) -> Any:
    """A fresh ``minigrid.minigrid_env.MiniGridEnv`` of ``level``, not yet reset. ImportError: minigrid is not installed."""
    made, options = _maker(level)
    return made(**options)


def mend(world: Any) -> None:
    """Make a mission of two doors in order one that can be done.

    OpenDoorsOrderN4Debug ends in failure as soon as a wrong door is touched, and looks at the first door with the eyes of the
    second too: whoever opens it has failed. Here only the first door of the order is strict, as in OpenRedBlueDoorsDebug.
    """
    order = type(world.instrs).__name__
    if order in ("BeforeInstr", "AfterInstr"):
        later = world.instrs.instr_b if order == "BeforeInstr" else world.instrs.instr_a
        later.strict = False
