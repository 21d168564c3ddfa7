"""What a policy is: it turns a request (messages and sampling) into a completion with token ids and logprobs."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from amemgym_train.errors import UserError

Messages = list[dict[str, str]]


class TooLong(UserError):
    """A prompt and its reply do not fit the model's window. An agent asks again with less of what is oldest (``agents.past``).

    ``tokens`` of the prompt and the ``room`` that a prompt has; None: not known.
    """

    def __init__(self, message: str, tokens: int | None = None, room: int | None = None) -> None:
        super().__init__(message)
        self.tokens, self.room = tokens, room


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. ``temperature`` 0 is greedy; ``top_k`` 0 and ``top_p`` 1 cut nothing."""

    max_new_tokens: int = 64
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass
class Request:
    """One LLM call about to be made.

    ``episode`` and ``slot`` order a batch and, with ``seed``, fix the random draw of this call whatever else is in its batch.
    ``facts`` says what the call is about in the scenario's terms (period, sessions, question): scripted policies read it, a model
    never sees it.
    """

    messages: Messages
    operation: str
    slot: str
    sampling: Sampling
    episode: str = ""
    seed: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Completion:
    """The reply: ids as the engine drew them, one logprob per completion token, and why it ended (stop | length)."""

    prompt_ids: list[int]
    completion_ids: list[int]
    logprobs: list[float]
    text: str
    finish_reason: str


class Policy(Protocol):
    """Anything that completes requests. ``version`` names the weights that are answering (base, or an adapter).

    A runner says how many episodes are alive (``enter`` / ``leave``), so that a batching policy can wait for all of them.
    """

    version: str

    async def complete(self, request: Request) -> Completion: ...

    def enter(self, episode: str) -> None: ...

    def leave(self, episode: str) -> None: ...
