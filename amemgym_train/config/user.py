"""Who plays the users: a chat model, where a recipe names one."""

from pydantic import Field

from amemgym_train.config.base import Section
from amemgym_train.config.chat import ChatConfig


class UserConfig(Section):
    """After the opening, which is always the scenario's, ``chat`` writes the user's messages.

    ``history``: how many of the session's last messages it sees. ``tries``: replies at most for one message, before a scripted
    one takes its place: a reply that names a tracked value is rejected. ``temperature`` and ``max_new_tokens``: of a reply.
    """

    chat: ChatConfig
    history: int = Field(8, ge=1)
    tries: int = Field(3, ge=1)
    temperature: float = Field(0.7, ge=0)
    max_new_tokens: int = Field(160, ge=1)
