"""What every client of a model server does in the same way: reading an HTTP reply, and keeping what belongs to an event loop."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from email.utils import parsedate_to_datetime
from typing import Generic, TypeVar

T = TypeVar("T")

PASSING = (408, 409, 425, 429)  # with every 5xx: statuses that another try may not meet again


def may_pass(status: int) -> bool:
    """Whether another try may fare better."""
    return status in PASSING or status >= 500


def asked_wait_s(header: str) -> float:
    """The seconds that a Retry-After asks for, as a number or a date; anything else asks for nothing."""
    try:
        wait = float(header)
    except ValueError:
        try:
            wait = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return max(wait, 0.0) if wait < float("inf") else 0.0  # not for nan either


def one_line(text: str) -> str:
    return " ".join(text.split())


class PerLoop(Generic[T]):
    """A value for each event loop that asks: connections and locks are of no use to another one.

    ``live`` yields the value once and then tidies up, which happens at ``close`` or when the loop ends: asyncio.run finishes
    every generator.
    """

    def __init__(self, live: Callable[[], AsyncGenerator[T, None]]) -> None:
        self._live = live
        self._held: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T, None]]] = {}

    async def get(self) -> T:
        """That of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._held:
            self._held = {other: held for other, held in self._held.items() if not other.is_closed()}
            lifetime = self._live()
            self._held[loop] = await anext(lifetime), lifetime
        return self._held[loop][0]

    async def close(self) -> None:
        """End that of the running loop; the next ``get`` makes another."""
        held = self._held.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await held[1].aclose()
