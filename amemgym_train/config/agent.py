"""The agent of a recipe: which memory system it has and how far its model may write."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from amemgym_train.config.base import Section

if TYPE_CHECKING:
    from amemgym_train.config.recipe import Recipe

Problem = tuple[str, str]
AWI, RETRIEVING = ("awi", "awi-hack"), ("rag", "awe", "mem0")
# Keys that not every agent looks at, and who does. Sizes of a memory may stay where another agent is tried in a recipe.
OF_SOME = {
    "embedder": RETRIEVING,
    "retrieval": ("rag", "awe"),
    "max_entries": AWI,
    "max_entry_chars": (*AWI, "awe"),
    "start": (*AWI, "awe"),
    "style": ("react",),
    "history": ("react",),
    "window": ("react",),
}


class TokenLimits(Section):
    """The most new tokens of one LLM call, per operation."""

    respond: int = Field(64, ge=1)
    write: int = Field(32, ge=1)
    read: int = Field(48, ge=1)
    answer: int = Field(12, ge=1)
    act: int = Field(64, ge=1)


class AgentConfig(Section):
    """``native`` keeps the whole history in context; the others keep a few recent messages and a memory.

    When ``update_bsz + local_length`` messages are at hand, the oldest ``update_bsz`` leave the prompt: ``awi`` (agentic write,
    in context) notes in one call what they tell, ``awi-hack`` does so knowing the schema's info types; ``awe`` (agentic write,
    external) extracts facts and decides what becomes of a store of them; ``rag`` stores the messages as they are; ``mem0`` gives
    them to the package of that name. Of a store, prompts show the ``top_k`` entries that ``retrieval`` finds.
    ``embedder``: a sentence-embedding model, a folder or a hub id, for dense and hybrid retrieval; mem0 without one hashes words.
    ``flush: period`` also writes what is left before a period's questions (the public code never does).
    ``respond: fixed`` answers the user with a stored acknowledgement, without an LLM call.
    ``prompts`` is ``default``, ``fewshot``, ``short``, ``bare`` or a folder of .txt files, see ``agents.templates``.
    ``start`` puts another instruction into its memory-update prompt: ``minimal``, or ``info_type`` with a list of types of
    information, which ``guided_info_type`` lets a reflector rewrite with examples (``reflection.prompts``).
    ``react`` plays environments with a goal (the section ``tasks``): it replies with a thought and an action, laid out as
    ``style`` says (lines of text, a function call or an action in JSON), and is shown all of its steps (``history: append``) or
    the first and the last ``window``.
    A note with a label or value longer than ``max_entry_chars`` is refused; beyond ``max_entries`` the oldest are forgotten.
    """

    name: Literal["native", "awi", "awi-hack", "awe", "rag", "mem0", "react"] = "awi"
    update_bsz: int = Field(2, ge=1)
    local_length: int = Field(4, ge=0)
    top_k: int = Field(30, ge=1, lt=2**31)  # the indexes count no further
    retrieval: Literal["bm25", "dense", "hybrid"] = "bm25"
    embedder: str | None = Field(None, min_length=1)
    flush: Literal["never", "period"] = "never"
    respond: Literal["model", "fixed"] = "model"
    max_new_tokens: TokenLimits = TokenLimits()
    prompts: str = Field("default", min_length=1)
    start: Literal["default", "minimal", "info_type", "guided_info_type"] = "default"
    max_entries: int | None = Field(None, ge=1)
    max_entry_chars: int = Field(120, ge=1)
    style: Literal["text", "function", "json"] = "text"
    history: Literal["append", "window"] = "append"
    window: int = Field(4, ge=1)

    def settings(self) -> dict[str, Any]:
        """As JSON values; without later keys at their defaults, for evaluations that were begun before there were such."""
        fields = type(self).model_fields
        later = {name for name in ("start", "style", "history", "window") if getattr(self, name) == fields[name].default}
        found = self.model_dump(mode="json", exclude=later)
        if self.max_new_tokens.act == TokenLimits.model_fields["act"].default:
            del found["max_new_tokens"]["act"]
        return found

    @property
    def makes_writes(self) -> bool:
        """Whether there are write calls to learn from."""
        return self.name not in ("native", "rag", "react")

    @property
    def needed_prompts(self) -> tuple[str, ...]:
        """The kinds of calls that it words itself."""
        if self.name == "react":
            return ("act",)
        asked = ("respond",) * (self.respond == "model") + ("read", "answer")
        return asked + {"awi": ("write",), "awi-hack": ("write",), "awe": ("facts", "decide")}.get(self.name, ())


def problems(recipe: Recipe) -> Iterator[Problem]:
    """What stands in the agent's way: keys that only another agent looks at, prompts, models and packages that are not there."""
    agent = recipe.agent
    for key, users in OF_SOME.items():
        if agent.name not in users and getattr(agent, key) != AgentConfig.model_fields[key].default:
            yield f"agent.{key}", f"the {agent.name} agent does not look at it; remove it"
    yield from _prompts(agent)
    yield from _embedder(agent)
    if agent.name == "mem0" and find_spec("mem0") is None:
        yield "agent.name", "mem0 is not installed; install it with: pip install 'amemgym-train[mem0]'"


def _prompts(agent: AgentConfig) -> Iterator[Problem]:
    from amemgym_train.agents.templates import load_prompts
    from amemgym_train.errors import UserError

    try:
        prompts = load_prompts(agent.prompts, agent.start)
    except UserError as error:
        yield "agent.prompts", str(error).removeprefix("agent.prompts: ")
        return
    lacking = [name for name in agent.needed_prompts if name not in prompts]
    if lacking:
        other = "default" if "act" in lacking else "fewshot"
        yield "agent.prompts", f"{agent.prompts} has no {' and no '.join(lacking)}, which {agent.name} needs; take {other}"
    elif agent.name == "awi-hack" and "{types}" not in prompts["write"].body:
        yield "agent.prompts", f"{agent.prompts} has no {{types}} in its write prompt, where awi-hack names topics; add it there"


def _embedder(agent: AgentConfig) -> Iterator[Problem]:
    uses_model = agent.name == "mem0" or (agent.name in RETRIEVING and agent.retrieval != "bm25")
    if agent.embedder is None:
        if uses_model and agent.name != "mem0":
            yield "agent.embedder", f"{agent.retrieval} retrieval needs a sentence-embedding model, a folder or a hub id; set it"
    elif not uses_model and agent.name in RETRIEVING:
        yield "agent.embedder", f"{agent.retrieval} retrieval does not look at it; remove it"
    elif agent.embedder.startswith(("/", ".", "~")) and not Path(agent.embedder).is_dir():
        yield "agent.embedder", f"no folder {agent.embedder}; expected a folder with a sentence-embedding model, or a hub id"
    elif uses_model and find_spec("sentence_transformers") is None:
        yield "agent.embedder", "sentence-transformers is not installed; install it with: pip install 'amemgym-train[dense]'"
