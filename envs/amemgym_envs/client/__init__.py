"""Environments that run in another process: over our own protocol (one by one, or many in a message), and over AgentGym's."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amemgym_envs.client.agentgym import AgentGymEnv
    from amemgym_envs.client.batch import BatchClient
    from amemgym_envs.client.remote import RemoteEnv

__all__ = ["AgentGymEnv", "BatchClient", "RemoteEnv"]
MODULES = {"AgentGymEnv": "agentgym", "BatchClient": "batch", "RemoteEnv": "remote"}


def __getattr__(name: str) -> Any:
    """Each is loaded when it is asked for: one needs httpx."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
