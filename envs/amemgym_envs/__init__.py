"""Text environments for language agents. Importing this registers them with gymnasium; it loads neither torch nor the toolkit."""

from typing import TYPE_CHECKING, Any

from amemgym_envs.core import EnvCard, TextEnv
from amemgym_envs.registry import make, register_all
from amemgym_envs.tasks import Outcome, TaskEnv

if TYPE_CHECKING:
    from amemgym_envs.amemgym.tools import MemoryTools, memory_tools

__all__ = ["EnvCard", "MemoryTools", "Outcome", "TaskEnv", "TextEnv", "make", "memory_tools"]

register_all()


def __getattr__(name: str) -> Any:
    """The tools for TRL, loaded when they are asked for: they read language packs, of which a mere import needs none."""
    if name not in ("MemoryTools", "memory_tools"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from amemgym_envs.amemgym import tools

    return getattr(tools, name)
