"""The agent without a memory system: every message stays in context."""

from amemgym_train.agents.base import MemoryAgent


class NativeAgent(MemoryAgent):
    """``recent`` is the whole history, so there is nothing to write and there are no notes."""
