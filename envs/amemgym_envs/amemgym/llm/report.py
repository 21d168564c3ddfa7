"""What a run of the writer cost, and what came of it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from amemgym_envs.amemgym.llm.endpoint import Endpoint, Reply


@dataclass(frozen=True)
class WriterFailure:
    """A user who could not be written: at which stage, and why."""

    user: int
    stage: str
    reason: str

    def __str__(self) -> str:
        return f"user {self.user} failed at stage {self.stage}: {self.reason}"


@dataclass
class Report:
    """Counts of one run. ``calls`` and tokens are those of this run; ``cached`` replies came from journals and cost nothing.

    ``uncounted``: replies whose tokens the server did not count. ``misshapen``: replies asked again because they had not the
    form that was asked for. ``rejected``: texts written again because a check did not pass. ``dropped``: {stage: questions}.
    """

    endpoint: Endpoint
    calls: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    uncounted: int = 0
    misshapen: int = 0
    rejected: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    written: int = 0
    resumed: int = 0
    failures: list[WriterFailure] = field(default_factory=list)
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

    @property
    def cost(self) -> float | None:
        """tokens / 1e6 * price per million, summed over both directions; None unless the endpoint has both prices."""
        price_in, price_out = self.endpoint.price_in, self.endpoint.price_out
        if price_in is None or price_out is None:
            return None
        return (self.tokens_in * price_in + self.tokens_out * price_out) / 1e6

    def lines(self) -> list[str]:
        """For people; the parts that never happened are left out."""
        uncounted = f" (at least: {self.uncounted} replies came without a count)" if self.uncounted else ""
        lines = [
            f"users: {self.written} written, {self.resumed} found finished, {len(self.failures)} failed",
            f"calls: {self.calls} made, {self.retries} retries, {self.cached} answered from the journal",
            f"tokens: {self.tokens_in:,} in, {self.tokens_out:,} out{uncounted}",
            f"asked again: {self.misshapen} replies of a wrong form, {self.rejected} texts that a check rejected",
        ]
        if self.cost is not None:
            prices = f"{self.endpoint.price_in:g} / {self.endpoint.price_out:g} per million tokens in / out"
            lines.append(f"cost: {self.cost:.4f} at {prices}")
        if self.dropped:
            reasons = ", ".join(f"{number} at stage {stage}" for stage, number in sorted(self.dropped.items()))
            lines.append(f"questions dropped: {reasons}")
        return lines + [str(failure) for failure in sorted(self.failures, key=lambda failure: failure.user)]

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        counts = {key: value for key, value in vars(self).items() if isinstance(value, int) and key != "retries_before"}
        return {
            "model": self.endpoint.model,
            **counts,
            "retries": self.retries,
            "cost": self.cost,
            "dropped": dict(self.dropped),
            "failures": [vars(failure) for failure in self.failures],
        }
