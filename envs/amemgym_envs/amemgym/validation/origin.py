"""The mark of a writer of ours: known words only, and what such a writer leaves empty is empty."""

from collections.abc import Iterator

from amemgym_envs.amemgym.consistency import Fault, fault
from amemgym_envs.amemgym.generator.limits import DISJOINT
from amemgym_envs.amemgym.languages import SPLITS
from amemgym_envs.amemgym.records import Scenario
from amemgym_envs.amemgym.validation.exposure import sessions_of

WRITERS: tuple[str, ...] = ("templates", "llm")
_KNOWN = {"split": (*SPLITS, "all"), "disjoint": DISJOINT}


def writer_of(scenario: Scenario) -> str | None:
    """The writer of ours that the item names; None for data from elsewhere."""
    writer = scenario.origin.get("writer")
    return writer if writer in WRITERS else None


def mark_faults(scenario: Scenario) -> Iterator[Fault]:
    """An item without the key ``generator`` promises nothing; one that has it must name a writer of ours."""
    if "generator" not in scenario.extra:
        return
    if writer_of(scenario) is None:
        yield fault(scenario, "generator.writer", scenario.origin.get("writer"), f"one of {', '.join(WRITERS)}")
        return
    for name, known in _KNOWN.items():
        value = scenario.origin.get(name, known[0])
        if value not in known:
            yield fault(scenario, f"generator.{name}", value, f"one of {', '.join(known)}")
    for p, path, session in sessions_of(scenario):
        if session.messages:
            yield fault(scenario, f"{path}.messages", session.messages, "an empty list: nothing was played yet", p)
