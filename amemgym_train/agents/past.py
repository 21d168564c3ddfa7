"""What a prompt shows of the past, and what of it is left out when the model's window is too small.

The policy of long contexts: what is oldest is left out - notes first, then messages - until the prompt fits, and then on until a
share of ``HEADROOM`` of the window is free. So the next prompts fit at once and begin alike, which is what a prefix cache needs.
How many notes and messages were left out is counted in ``Turn.meta["left_out"]``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from amemgym_train.policy.base import TooLong

HEADROOM = 0.1
SPEAKERS = {"user": "User", "assistant": "Assistant"}
Message = dict[str, Any]


@dataclass(frozen=True)
class Past:
    """``notes``, one text each, then ``messages``, both oldest first. Of these so many as ``left_out`` are not shown.

    ``kept``: the last so many are never left out (the message that is replied to). ``told``: the agent's last transcript.
    """

    messages: Sequence[Message]
    notes: Sequence[str] = ()
    left_out: int = 0
    kept: int = 0
    told: "Transcript | None" = field(default=None, compare=False, repr=False)

    def shown(self) -> dict[str, str]:
        """The values of a prompt's fields ``notes`` and ``conversation``."""
        first = max(self.left_out - len(self.notes), 0)
        conversation = self.told.text(self.messages, first) if self.told else transcript(self.messages[first:])
        return {"notes": "\n".join(self.notes[self.left_out :]), "conversation": conversation}

    def shorter(self, over: TooLong) -> "Past":
        """With less of what is oldest. Raises ``over`` when nothing is left to leave out."""
        sizes = [len(note) for note in self.notes] + [len(message["content"]) for message in self.messages]
        most = len(sizes) - self.kept
        if self.left_out >= most:
            raise over
        shown = sum(sizes[self.left_out :])
        surplus = shown * _surplus(over)
        at, gone = self.left_out, 0
        while at < most and (gone < surplus or at == self.left_out):
            gone += sizes[at]
            at += 1
        return replace(self, left_out=at)


def _surplus(over: TooLong) -> float:
    """The share of a prompt that has to go; half of it where nobody says by how much it is too long."""
    if not over.tokens or over.room is None or over.tokens <= over.room:
        return 0.5
    return 1 - over.room * (1 - HEADROOM) / over.tokens


class Transcript:
    """What was told last, to be lengthened: a native agent tells a thousand messages again with each call, and two new ones."""

    def __init__(self) -> None:
        self._told, self._first, self._last, self._count = "", None, None, 0

    def text(self, messages: Sequence[Message], first: int) -> str:
        """``transcript(messages[first:])``. No message ever changes: where both ends are the same, so is what lies between."""
        if first >= len(messages):
            return ""
        following = first + self._count
        if following > len(messages) or messages[first] is not self._first or messages[following - 1] is not self._last:
            self._told, following = transcript(messages[first:]), len(messages)
        if following < len(messages):
            self._told = f"{self._told}\n{transcript(messages[following:])}"
        self._first, self._last, self._count = messages[first], messages[-1], len(messages) - first
        return self._told


def copied(messages: Sequence[Message]) -> list[Message]:
    """Copies that share nothing which may change; deepcopy takes thirty times as long, and a native agent has thousands."""
    return [{**message, "exposed": dict(message["exposed"])} for message in messages]


def transcript(messages: Sequence[Message]) -> str:
    """The messages as ``User: ...`` and ``Assistant: ...`` lines, oldest first."""
    return "\n".join([f"{SPEAKERS[message['role']]}: {message['content']}" for message in messages])
