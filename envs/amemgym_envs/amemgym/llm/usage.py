"""What the calls to an endpoint cost, and calls that are counted and kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amemgym_envs.amemgym.llm.endpoint import Endpoint, Messages, Reply
from amemgym_envs.amemgym.llm.journal import Journal


@dataclass
class Usage:
    """Counts of one run. ``calls`` and tokens are those of this run; ``cached`` replies came from journals and cost nothing.

    ``uncounted``: replies whose tokens the server did not count.
    """

    endpoint: Endpoint
    calls: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    uncounted: int = 0
    retries_before: int = 0  # of the endpoint, when the run began

    def __post_init__(self) -> None:
        self.retries_before = self.endpoint.retries

    @property
    def retries(self) -> int:
        return self.endpoint.retries - self.retries_before

    def count(self, reply: Reply) -> None:
        self.calls += 1
        self.tokens_in += reply.tokens_in or 0
        self.tokens_out += reply.tokens_out or 0
        self.uncounted += reply.tokens_in is None or reply.tokens_out is None

    async def reply(
        self, messages: Messages, sampling: Mapping[str, Any] | None, journal: Journal | None = None, key: str = ""
    ) -> Reply:
        """The endpoint's reply, or that of ``journal`` to the request ``key``. Raises as ``Endpoint.complete`` does."""

        async def ask() -> Reply:
            reply = await self.endpoint.complete(messages, sampling)
            self.count(reply)
            return reply

        if journal is None:
            return await ask()
        reply, asked = await journal.reply(key, ask)
        self.cached += not asked
        return reply

    @property
    def cost(self) -> float | None:
        """tokens / 1e6 * price per million, summed over both directions; None unless the endpoint has both prices."""
        price_in, price_out = self.endpoint.price_in, self.endpoint.price_out
        if price_in is None or price_out is None:
            return None
        return (self.tokens_in * price_in + self.tokens_out * price_out) / 1e6

    def line(self) -> str:
        """For people."""
        uncounted = f" (at least: {self.uncounted} replies came without a count)" if self.uncounted else ""
        cost = "" if self.cost is None else f"; cost {self.cost:.4f}"
        return (
            f"{self.endpoint.model}: {self.calls} calls, {self.retries} retries, {self.cached} answered from the cache; "
            f"{self.tokens_in:,} tokens in, {self.tokens_out:,} out{uncounted}{cost}"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        counts = {key: value for key, value in vars(self).items() if isinstance(value, int) and key != "retries_before"}
        return {"model": self.endpoint.model, **counts, "retries": self.retries, "cost": self.cost}
