"""Second tries: an episode played again, with a reflection in the prompts of the calls that failed (ERL, arXiv 2602.13949).

The same user says the same things. A call whose prompt is that of the first try is replayed, token for token; a call that failed
is made with its hint; what follows from a changed memory is made anew. The turns of a second try hold the prompts *without* the
reflection: a row made of one teaches to do unprompted what the hint asked for. ``meta`` of such a turn says ``try`` (replayed |
reflected | again) and ``grounded``: whether what its reply needs was in its prompt or memory. Where a hint told what the memory
had lost, a right reply would teach to make things up.
"""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from amemgym_train.config.reflection import ReflectionConfig
from amemgym_train.diagnosis.operations import Diagnosis, diagnose
from amemgym_train.policy.base import Completion, Policy, Request
from amemgym_train.policy.encoding import encode
from amemgym_train.reflection.hints import hints, hold_all, memory_after, memory_at
from amemgym_train.reflection.reflectors import Failure
from amemgym_train.rollout.pool import AgentFactory, Task, episode_of
from amemgym_train.rollout.records import Episode, Turn
from amemgym_train.rollout.runner import EnvironmentFactory, play

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from amemgym_envs.amemgym.scenario import Scenario


Adviser = Callable[[str, Failure], Awaitable[str]]  # called with the live episode and what failed


@dataclass(frozen=True)
class FirstTry:
    """An episode worth another try, and what to tell before its failed calls: {slot: hint}."""

    episode: Episode
    hints: Mapping[str, str]

    @cached_property
    def turns(self) -> dict[str, Turn]:
        """By slot."""
        return {turn.slot: turn for turn in self.episode.turns}


def worth_trying(
    episodes: Sequence[Episode],
    scenarios: "Mapping[str, Scenario]",
    config: ReflectionConfig,
    gather: Callable[[list[Any]], list[Any]] = list,
) -> list[FirstTry]:
    """The ``retry.episodes`` of each group that have the most to be told, in the order of ``episodes``.

    ``gather``: the lists of all processes in one, where a group's episodes may be those of several.
    """
    found = {
        episode.id: FirstTry(episode, told)
        for episode in episodes
        if episode.error is None
        and (told := hints(episode, scenarios[episode.task], diagnose(episode), config.feedback))
    }
    groups: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    own = [(one.episode.group, (-len(one.hints), one.episode.seed, name)) for name, one in found.items()]
    for group, rank in gather(own):
        groups[group].append(rank)
    kept = {name for ranked in groups.values() for *_, name in sorted(ranked)[: config.retry.episodes]}
    return [one for name, one in found.items() if name in kept]


def second_tries(
    firsts: Sequence[FirstTry],
    policy: Policy,
    tokenizer: "PreTrainedTokenizerBase",
    environment: EnvironmentFactory,
    agents: Callable[[Policy], AgentFactory],
    *,
    seed: int,
    group_size: int,
    concurrency: int = 64,
    together: bool = False,
    label: str | None = "second tries",
    adviser: Adviser | None = None,
) -> list[Episode]:
    """Play each of ``firsts`` once more, with what the first try was played with; its task's seed is ``group_size`` higher.

    ``adviser``: who turns a hint into the reflection that is shown; None: the hint is it.
    """
    tasks = [Task(one.episode.task, one.episode.group, one.episode.seed + group_size) for one in firsts]
    reminded = Reminded(policy, tokenizer, {episode_of(task).id: one for task, one in zip(tasks, firsts, strict=True)}, adviser)
    episodes = play(environment, tasks, agents(reminded), seed, concurrency, label, together)
    for episode in episodes:
        for turn in episode.turns:
            turn.meta["try"] = reminded.how[episode.id, turn.slot]
        if episode.error is None:
            _mark_grounded(episode)
    return episodes


class Reminded:
    """Answers with ``policy``, or with what the first try said; ``firsts`` by the id of the second try's episode.

    ``how`` says of each (episode, slot) that was asked how the reply came about: replayed, reflected or again.
    """

    def __init__(
        self,
        policy: Policy,
        tokenizer: "PreTrainedTokenizerBase",
        firsts: Mapping[str, FirstTry],
        adviser: Adviser | None = None,
    ) -> None:
        self.policy, self.tokenizer, self.firsts, self.adviser = policy, tokenizer, firsts, adviser
        self.how: dict[tuple[str, str], str] = {}

    @property
    def version(self) -> str:
        return self.policy.version

    def enter(self, episode: str) -> None:
        self.policy.enter(episode)

    def leave(self, episode: str) -> None:
        self.policy.leave(episode)

    async def complete(self, request: Request) -> Completion:
        one, call = self.firsts[request.episode], (request.episode, request.slot)
        prompt, hint = encode(self.tokenizer, request.messages), one.hints.get(request.slot)
        first = one.turns.get(request.slot)
        if hint is None and first is not None and first.prompt_ids == prompt:
            self.how[call] = "replayed"
            return Completion(prompt, first.completion_ids, first.logprobs, first.text, first.finish_reason)
        self.how[call] = "again" if hint is None else "reflected"
        if hint is not None and self.adviser is not None:
            failure = Failure(request.slot, request.messages[-1]["content"], first.text if first else "", hint)
            hint = await self.adviser(request.episode, failure) or hint
        completion = await self.policy.complete(request if hint is None else reminded(request, hint))
        return replace(completion, prompt_ids=prompt)


def reminded(request: Request, hint: str) -> Request:
    """``request`` with ``hint`` below its last message."""
    *before, last = request.messages
    return replace(request, messages=[*before, last | {"content": f"{last['content']}\n\n{hint}"}])


def counts(firsts: Sequence[FirstTry], seconds: Sequence[Episode]) -> dict[str, Any]:
    """Figures of the second tries: how many, the hints by operation, the calls that were made anew, and their tokens."""
    turns = [turn for episode in seconds if episode.error is None for turn in episode.turns]
    hinted = Counter(slot.partition("/")[0] for one in firsts for slot in one.hints)
    made = [turn for turn in turns if turn.meta["try"] != "replayed"]
    return {
        "tries": len(seconds),
        **{f"hints_{operation}": count for operation, count in sorted(hinted.items())},
        "turns": len(made),
        "tokens_sampled": sum(len(turn.completion_ids) for turn in made),
    }


def _mark_grounded(episode: Episode) -> None:
    diagnosis = diagnose(episode)
    named = {  # (period, state) that a probe without a reflection has right
        (probe.period, state)
        for probe in episode.probes
        for state in probe.expected
        if probe.known(state) and (probe.turn is None or episode.turns[probe.turn].meta["try"] != "reflected")
    }
    for index, states in _needed(episode, diagnosis).items():
        turn = episode.turns[index]
        memory = memory_after(episode, turn) if turn.operation == "write" else memory_at(episode, turn.meta["period"])
        unproven = [value for state, value in states.items() if (turn.meta["period"], state) not in named]
        turn.meta["grounded"] = hold_all(memory, unproven)


def _needed(episode: Episode, diagnosis: Diagnosis) -> dict[int, dict[str, str]]:
    """{index of a turn: {state: value} that its reply rests on}."""
    needed = {}
    for index, known in diagnosis.known_after.items():
        exposed = episode.turns[index].meta["exposed"]
        needed[index] = {state: exposed[state] for state, right in known.items() if right is not None}
    expected = {(probe.period, probe.question): probe.expected for probe in episode.probes}
    for record in [*episode.probes, *episode.answers]:
        if record.turn is not None:
            needed[record.turn] = expected[record.period, record.question]
    return needed
