"""The records that every room of the toolkit meets in: Turn, Episode and Row.

A record checks its own lengths when it is built, so that no later stage needs to. All fields are plain Python values:
records go to parquet and back without loss (``rollout.store``).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import compress
from operator import not_
from typing import Any, Literal

Operation = Literal["respond", "write", "read", "answer", "act"]
OPERATIONS: tuple[str, ...] = ("respond", "write", "read", "answer", "act")
Parsed = Literal["strict", "repaired", "failed"]


@dataclass
class Turn:
    """One LLM call.

    ``prompt_ids``, ``completion_ids`` come from the engine and are never re-encoded; ``logprobs`` holds one natural-log
    probability per completion token, of the token drawn, at the sampling temperature and before any top-k / top-p cut.
    ``slot`` names the call within its episode, the same for every episode of a group: ``write/p2/0`` (third period, its first
    write), ``answer/p2/q5``, ``read/p2/q5``, ``respond/p2/s0/r1``. ``meta`` (JSON values only) carries ``period``, for writes
    ``exposed`` ({info_type: value} of the sessions the call was shown) and ``sessions``, for calls with a JSON reply ``parsed``
    (strict | repaired | failed), and always ``sampling``, ``policy_version``.
    """

    prompt_ids: list[int]
    completion_ids: list[int]
    logprobs: list[float]
    text: str
    finish_reason: str
    operation: Operation
    slot: str
    meta: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise ValueError(f"turn {self.slot}: operation {self.operation!r} is none of {', '.join(OPERATIONS)}")
        if len(self.logprobs) != len(self.completion_ids):
            raise ValueError(
                f"turn {self.slot}: {len(self.logprobs)} logprobs for {len(self.completion_ids)} completion tokens; expected one "
                "each"
            )


@dataclass
class Answer:
    """One question put to the agent after a period. ``golden`` and ``response`` are 0-based choices; None = unparsable.

    ``agrees``: of each state that the question requires, whether the response has it right; None where nobody has said so.
    """

    period: int
    question: int
    choices: int
    golden: int
    response: int | None
    turn: int | None  # index into Episode.turns; None when no LLM call was made
    agrees: dict[str, bool] | None = None

    @property
    def correct(self) -> bool:
        return self.response == self.golden


@dataclass
class Probe:
    """One probe of the states that a question requires. ``response`` has None for a state that could not be read.

    ``write_period[s]`` is w(s, p): the last period <= ``period`` in which state s changed.
    """

    period: int
    question: int
    expected: dict[str, str]
    response: dict[str, str | None]
    write_period: dict[str, int]
    turn: int | None

    def __post_init__(self) -> None:
        keys = set(self.expected)
        if set(self.response) != keys or set(self.write_period) != keys:
            raise ValueError(
                f"probe p{self.period} q{self.question}: states {sorted(keys)} expected, got responses for "
                f"{sorted(self.response)} and write periods for {sorted(self.write_period)}"
            )

    def known(self, state: str) -> bool:
        return self.response[state] == self.expected[state]


@dataclass
class Memory:
    """The agent's memory right after turn ``turn``: entries in the order they are shown, each {label, value, timestamp}.

    ``turn`` is None where no LLM call writes (RAG): what the memory was before the questions of ``period``.
    """

    turn: int | None
    period: int
    entries: list[dict[str, str]]


def holds(entries: Iterable[Mapping[str, Any]], value: str) -> bool:
    """Whether an entry's ``value`` equals or contains ``value``, in any case of letters."""
    return any(value.casefold() in entry["value"].casefold() for entry in entries)


def write_of(slot: str) -> str:
    """The write that a call's ``slot`` belongs to: AWE's make two calls, ``write/p0/3/facts`` and ``write/p0/3/decide``."""
    return "/".join(slot.split("/")[:3])


@dataclass
class Episode:
    """One agent playing one task once. ``error`` (kind: message) marks it unscorable: no field of it may enter a score.

    ``states`` holds the agent's saved state at the end of each period (JSON values), enough to ask its questions again.
    ``rewards`` are the environment's own, one per step.
    """

    environment: str
    task: str
    seed: int
    group: str
    turns: list[Turn] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    score: float | None = None
    success: bool | None = None
    answers: list[Answer] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    memories: list[Memory] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None

    @property
    def id(self) -> str:
        return f"{self.environment}/{self.task}/{self.seed}"

    @property
    def acts(self) -> bool:
        """Whether it is of an environment with a goal, whose calls are acts and one for each step."""
        return bool(self.turns) and self.turns[0].operation == "act"

    def __post_init__(self) -> None:
        for record in [*self.answers, *self.probes, *self.memories]:
            if record.turn is not None and not 0 <= record.turn < len(self.turns):
                raise ValueError(f"episode {self.id}: {record} points at turn {record.turn} of {len(self.turns)}")


@dataclass
class Row:
    """One training example: a turn's ids with what training needs to know about it.

    ``ids`` = prompt then completion; ``mask`` is 1 on the completion tokens, the only ones in the loss; ``logprobs`` is 0 on the
    prompt. ``advantage`` and ``weight`` (its token's share of the loss) are one number for all tokens of the mask, or a list with
    one per id, 0 where the mask is. ``reason`` says why the row is here, for display. ``imitated``: it is learned by heart, and
    ``logprobs`` are of no use (``training.imitation``).
    """

    ids: list[int]
    mask: list[int]
    logprobs: list[float]
    operation: Operation
    slot: str
    episode: str
    group: str
    policy_version: str
    advantage: float | list[float] = 1.0
    weight: float | list[float] = 1.0
    reason: str = ""
    imitated: bool = False

    def __post_init__(self) -> None:
        if not len(self.ids) == len(self.mask) == len(self.logprobs):
            raise ValueError(
                f"row {self.episode} {self.slot}: {len(self.ids)} ids, {len(self.mask)} mask, {len(self.logprobs)} logprobs; "
                "expected equal lengths"
            )
        for name, values in (("advantage", self.advantage), ("weight", self.weight)):
            if isinstance(values, list):
                self._check_tokens(name, values)

    def _check_tokens(self, name: str, values: list[float]) -> None:
        if len(values) != len(self.ids):
            raise ValueError(
                f"row {self.episode} {self.slot}: {len(values)} entries of {name} for {len(self.ids)} ids; expected one each"
            )
        if any(compress(values, map(not_, self.mask))):
            i = next(i for i, learned in enumerate(self.mask) if not learned and values[i])
            raise ValueError(f"row {self.episode} {self.slot}: {name} {values[i]} at token {i}, where the mask is 0; expected 0")

    @property
    def advantages(self) -> list[float]:
        """One per id, 0 where the mask is."""
        return self._per_token(self.advantage)

    @property
    def weights(self) -> list[float]:
        """One per id, 0 where the mask is."""
        return self._per_token(self.weight)

    def _per_token(self, value: float | list[float]) -> list[float]:
        return list(value) if isinstance(value, list) else [value * learned for learned in self.mask]

    def shown(self) -> dict[str, Any]:
        """For display: what it is, and why it is here."""
        told = {name: getattr(self, name) for name in ("episode", "slot", "operation", "reason")}
        return told | {"tokens": sum(self.mask)}

    @classmethod
    def from_turn(cls, turn: Turn, episode: Episode, reason: str) -> "Row":
        prompt, completion = len(turn.prompt_ids), len(turn.completion_ids)
        return cls(
            ids=[*turn.prompt_ids, *turn.completion_ids],
            mask=[0] * prompt + [1] * completion,
            logprobs=[0.0] * prompt + list(turn.logprobs),
            operation=turn.operation,
            slot=turn.slot,
            episode=episode.id,
            group=episode.group,
            policy_version=turn.meta.get("policy_version", "base"),
            reason=reason,
        )
