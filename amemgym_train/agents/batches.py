"""What agents with a memory have in common: old messages leave the prompt in batches, to be written to it."""

from abc import abstractmethod
from typing import Any

from amemgym_train.agents.base import MemoryAgent
from amemgym_train.agents.past import Message


class BatchAgent(MemoryAgent):
    """When ``update_bsz + local_length`` messages are at hand, the oldest ``update_bsz`` leave ``recent`` for ``write``.

    ``writes`` counts the batches of each period: the n of the slots ``write/p{period}/{n}``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.writes: dict[int, int] = {}

    @abstractmethod
    async def write(self, batch: list[Message], period: int, number: int) -> None:
        """Put ``batch``, the ``number``-th of ``period``, into the memory."""

    async def absorb(self, period: int) -> None:
        while len(self.recent) >= self.config.update_bsz + self.config.local_length:
            await self._next(period)

    async def settle(self, period: int) -> None:
        while self.config.flush == "period" and self.recent:
            await self._next(period)

    async def _next(self, period: int) -> None:
        number = self.writes.get(period, 0)
        self.writes[period] = number + 1
        await self.write(self.take(self.config.update_bsz), period, number)


def about(batch: list[Message], period: int) -> dict[str, Any]:
    """What the record of a write says of its batch: its sessions, and what the messages gave away, of each state the last."""
    sessions = dict.fromkeys((message["period"], message["session"]) for message in batch)
    exposed = {state: value for message in batch for state, value in message["exposed"].items()}
    return {"period": period, "sessions": [list(pair) for pair in sessions], "exposed": exposed}
