"""A trajectory: one task's conversation, with what is to be learned from it."""

from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant"]


@dataclass
class Message:
    """``loss`` as in the file: True where the message is to be learned, False or None where not (AgentGym has None for what the
    environment says and False for the opening's acknowledgement). ``extra``: keys that this toolkit does not know."""

    role: Role
    content: str
    loss: bool | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Trajectory:
    """``reward`` is the episode's (None: not told), ``steps`` has an object for every action, such as {"reward": 0.0}."""

    item_id: str
    messages: list[Message]
    reward: float | None = None
    success: bool | None = None
    steps: list[dict[str, Any]] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def trained(self) -> list[int]:
        """The places of the messages that are to be learned."""
        return [place for place, message in enumerate(self.messages) if message.loss]
