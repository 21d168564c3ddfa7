"""The agent of a recipe: which memory system it has and how far its model may write."""

from typing import Literal

from pydantic import Field

from amemgym_train.config.base import Section


class TokenLimits(Section):
    """The most new tokens of one LLM call, per operation."""

    respond: int = Field(64, ge=1)
    write: int = Field(32, ge=1)
    read: int = Field(48, ge=1)
    answer: int = Field(12, ge=1)


class AgentConfig(Section):
    """``native`` keeps the whole history in context; ``awi`` (agentic write, in context) keeps notes and a few recent messages.

    AWI: when ``update_bsz + local_length`` messages are at hand, the oldest ``update_bsz`` go into one memory-update call.
    ``flush: period`` also writes what is left before a period's questions (the public code never does).
    ``respond: fixed`` answers the user with a stored acknowledgement, without an LLM call.
    ``prompts`` is ``default`` or a folder of .txt files, see ``agents.templates``.
    A note with a label or value longer than ``max_entry_chars`` is refused; beyond ``max_entries`` the oldest are forgotten.
    """

    name: Literal["native", "awi"] = "awi"
    update_bsz: int = Field(2, ge=1)
    local_length: int = Field(4, ge=0)
    flush: Literal["never", "period"] = "never"
    respond: Literal["model", "fixed"] = "model"
    max_new_tokens: TokenLimits = TokenLimits()
    prompts: str = Field("default", min_length=1)
    max_entries: int | None = Field(None, ge=1)
    max_entry_chars: int = Field(120, ge=1)
