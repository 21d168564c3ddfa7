"""What a run of the writer cost, and what came of it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from amemgym_envs.amemgym.llm.usage import Usage


@dataclass(frozen=True)
class WriterFailure:
    """A user who could not be written: at which stage, and why."""

    user: int
    stage: str
    reason: str

    def __str__(self) -> str:
        return f"user {self.user} failed at stage {self.stage}: {self.reason}"


@dataclass
class Report(Usage):
    """Counts of one run of the writer, beside those of its calls.

    ``misshapen``: replies asked again because they had not the form that was asked for. ``rejected``: texts written again because
    a check did not pass. ``dropped``: {stage: questions}.
    """

    misshapen: int = 0
    rejected: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    written: int = 0
    resumed: int = 0
    failures: list[WriterFailure] = field(default_factory=list)

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
        failures = [vars(failure) for failure in self.failures]
        return super().to_dict() | {"dropped": dict(self.dropped), "failures": failures}
