"""What a prompt shows of the past, and what of it is left out when the model's window is too small.

The policy of long contexts: what is oldest is left out - notes first, then messages - until the prompt fits, and then on until a
share of ``HEADROOM`` of the window is free. So the next prompts fit at once and begin alike, which is what a prefix cache needs.
How many notes and messages were left out is counted in ``Turn.meta["left_out"]``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from amemgym_train.policy.base import TooLong

HEADROOM = 0.1
Message = dict[str, Any]


@dataclass(frozen=True)
class Past:
    """``notes``, one text each, then ``messages``, both oldest first. Of these so many as ``left_out`` are not shown.

    ``kept``: the last so many are never left out (the message that is replied to).
    """

    messages: Sequence[Message]
    notes: Sequence[str] = ()
    left_out: int = 0
    kept: int = 0

    def shown(self) -> dict[str, str]:
        """The values of a prompt's placeholders ``notes`` and ``conversation``."""
        messages = self.messages[max(self.left_out - len(self.notes), 0) :]
        return {"notes": "\n".join(self.notes[self.left_out :]), "conversation": transcript(messages)}

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


def transcript(messages: Sequence[Message]) -> str:
    """The messages as ``User: ...`` and ``Assistant: ...`` lines, oldest first."""
    return "\n".join([f"{message['role'].capitalize()}: {message['content']}" for message in messages])
