"""What an agent is, and the part that memory agents share: the recent messages, the prompts and the record of every LLM call."""

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from amemgym_train.agents.parsing import parse_answer, parse_states
from amemgym_train.agents.past import Message, Past, Transcript, copied
from amemgym_train.agents.templates import Prompt, load_prompts, parse_prompt
from amemgym_train.config.agent import AgentConfig
from amemgym_train.policy.base import Completion, Policy, Request, Sampling, TooLong
from amemgym_train.rollout.records import Episode, Memory, Operation, Turn

ACKNOWLEDGEMENT = "Thanks for telling me, I will keep that in mind."
Asked = tuple[str, dict[str, Any]]  # an observation and its info
AfterPeriod = Callable[["MemoryAgent", Episode, int], Awaitable[None]]  # called with the agent, what it has played, the period


class Agent(Protocol):
    """Plays one episode. ``acted`` is the index in ``turns`` of the call that made the last action; None when none did.

    ``act_together`` answers several questions or probes of one period at once: an (action, index in ``turns``) for each.
    ``after_period`` is called when a period is over and the state that its questions were answered from is saved.
    ``save`` gives all that later actions depend on (JSON values, a copy); ``load`` takes it back, and ``{}`` is an empty memory.
    """

    policy: Policy
    turns: list[Turn]
    memories: list[Memory]
    acted: int | None
    after_period: "AfterPeriod | None"

    async def act(self, observation: str, info: dict[str, Any]) -> str: ...

    async def act_together(self, asked: Sequence[Asked]) -> list[tuple[str, int | None]]: ...

    def save(self) -> dict[str, Any]: ...

    def load(self, state: dict[str, Any]) -> None: ...


def turn_of(completion: Completion, request: Request, version: str, meta: dict[str, Any]) -> Turn:
    """The record of a call that the weights ``version`` answered; ``meta`` is kept on it beside that and the sampling."""
    return Turn(
        prompt_ids=completion.prompt_ids,
        completion_ids=completion.completion_ids,
        logprobs=completion.logprobs,
        text=completion.text,
        finish_reason=completion.finish_reason,
        operation=request.operation,
        slot=request.slot,
        meta={**meta, "sampling": request.sampling.as_dict(), "policy_version": version},
    )


class MemoryAgent:
    """The base of AMemGym's agents. A subclass says what becomes of messages (``absorb``) and what it recalls for a prompt.

    ``recent`` holds messages {role, content, period, session, time, exposed}, oldest first. ``exposed`` ({info_type: value}) is
    what the environment says the message gave away: it goes on the record of a write and is never shown to a model.
    ``passed`` messages of ``recent``, the oldest, did not fit the last reply's prompt: later prompts begin behind them.
    ``prompts`` may be rewritten ``after_period``, and are then a part of its state, as are the records of that, ``rewrites``;
    ``given`` are those that it began with.
    """

    def __init__(self, config: AgentConfig, policy: Policy, episode: str, seed: int, sampling: Sampling) -> None:
        self.config = config
        self.policy = policy
        self.episode = episode
        self.seed = seed
        self.sampling = sampling
        self.given = self.prompts = load_prompts(config.prompts, config.start)
        self.rewrites: list[dict[str, Any]] = []
        self.after_period: AfterPeriod | None = None
        self.turns: list[Turn] = []
        self.memories: list[Memory] = []
        self.acted: int | None = None
        self.recent: list[Message] = []
        self.passed = 0
        self.told = Transcript()

    async def recall(self, query: str) -> Sequence[str]:
        """The memory as a prompt about ``query`` shows it, one text per note, oldest first; empty when there is none."""
        return ()

    async def absorb(self, period: int) -> None:
        """Called after every exchange of a session, when the new messages are the last of ``recent``."""

    async def settle(self, period: int) -> None:
        """Called before a question or probe of ``period`` is looked at."""

    def save(self) -> dict[str, Any]:
        reworded = {name: prompt.text for name, prompt in self.prompts.items() if prompt != self.given[name]}
        kept = {"passed": self.passed, "prompts": reworded, "rewrites": copy.deepcopy(self.rewrites)}
        return {"recent": copied(self.recent)} | {key: value for key, value in kept.items() if value}

    def load(self, state: dict[str, Any]) -> None:
        self.recent = copied(state.get("recent", []))
        self.passed = state.get("passed", 0)
        reworded = {name: parse_prompt(name, text, "a saved state") for name, text in state.get("prompts", {}).items()}
        self.prompts = self.given | reworded
        self.rewrites = copy.deepcopy(state.get("rewrites", []))

    async def act(self, observation: str, info: dict[str, Any]) -> str:
        """The action for a step of AMemGym; ``info["kind"]`` says what the step is."""
        self.acted = None
        if info["kind"] == "session":
            return await self._converse(observation, info)
        [(action, self.acted)] = await self.act_together([(observation, info)])
        return action

    async def act_together(self, asked: Sequence[Asked]) -> list[tuple[str, int | None]]:
        """The calls are recorded in the order of ``asked``, whichever ends first."""
        for _, info in asked:
            if info["kind"] not in ("question", "probe"):
                raise ValueError(f"episode {self.episode}: a step of kind {info['kind']!r}; expected session, question or probe")
        await self.settle(asked[0][1]["period"])
        if len(asked) == 1:  # without a task of its own, which would cost a turn of the event loop
            replies = [await self._reply(*asked[0])]
        else:
            replies = await asyncio.gather(*(self._reply(*one) for one in asked), return_exceptions=True)
        for reply in replies:  # all of them have ended before one that failed is told
            if isinstance(reply, BaseException):
                raise reply
        return [(action, self.record(turn)) for action, turn in replies]

    async def _reply(self, observation: str, info: dict[str, Any]) -> tuple[str, Turn]:
        return await (self._answer if info["kind"] == "question" else self._read)(observation, info)

    async def call(
        self,
        operation: Operation,
        slot: str,
        prompt: Prompt,
        past: Past,
        values: dict[str, str],
        meta: dict[str, Any],
        **facts: Any,
    ) -> Turn:
        """Make one LLM call, with as much of ``past`` as fits, and return it; ``record`` puts it on the episode.

        ``values`` fill the other fields. ``meta`` is kept on the turn beside ``sampling`` and ``policy_version``; it and
        ``facts`` reach scripted policies, never a model. TooLong: it does not fit with nothing of the past.
        """
        sampling = replace(self.sampling, max_new_tokens=getattr(self.config.max_new_tokens, operation))
        facts = meta | facts
        while True:
            messages = prompt.messages(**past.shown(), **values)
            request = Request(messages, operation, slot, sampling, self.episode, self.seed, facts)
            try:
                completion = await self.policy.complete(request)
                break
            except TooLong as over:
                past = past.shorter(over)
        return turn_of(completion, request, self.policy.version, meta | ({"left_out": past.left_out} if past.left_out else {}))

    def record(self, turn: Turn) -> int:
        """The index of ``turn``, now the last call of the episode."""
        self.turns.append(turn)
        return len(self.turns) - 1

    def take(self, count: int) -> list[Message]:
        """The oldest ``count`` messages, which leave ``recent``."""
        taken, self.recent = self.recent[:count], self.recent[count:]
        self.passed = max(self.passed - count, 0)
        return taken

    async def _past(self, query: str, kept: int = 0) -> Past:
        notes = await self.recall(query)
        return Past(self.recent, notes, 0 if notes else self.passed, kept, self.told)

    async def _converse(self, observation: str, info: dict[str, Any]) -> str:
        origin = {"period": info["period"], "session": info["session"], "time": info["time"]}
        self.recent.append({"role": "user", "content": observation, **origin, "exposed": dict(info["exposed"])})
        reply = info.get("reply")  # a recorded one, which is listened to in place of the agent's own
        if reply is None:
            reply = ACKNOWLEDGEMENT if self.config.respond == "fixed" else await self._respond(observation, info)
        self.recent.append({"role": "assistant", "content": reply, **origin, "exposed": {}})
        await self.absorb(info["period"])
        return reply

    async def _respond(self, observation: str, info: dict[str, Any]) -> str:
        place = {key: info[key] for key in ("period", "session", "round")}
        slot = "respond/p{period}/s{session}/r{round}".format(**place)
        past = await self._past(observation, kept=1)
        turn = await self.call("respond", slot, self.prompts["respond"], past, {}, place)
        if not past.notes:
            self.passed = turn.meta.get("left_out", 0)
        self.acted = self.record(turn)
        return turn.text

    async def _answer(self, observation: str, info: dict[str, Any]) -> tuple[str, Turn]:
        place = {"period": info["period"], "question": info["question"]}
        choices = len(info["choices"])
        slot = "answer/p{period}/q{question}".format(**place)
        past = await self._past(info.get("query", observation))
        turn = await self.call("answer", slot, self.prompts["answer"], past, {"question": observation}, place, choices=choices)
        choice, how = parse_answer(turn.text, choices, info["choices"])
        turn.meta["parsed"] = how
        return (turn.text if choice is None else json.dumps({"answer": choice + 1})), turn

    async def _read(self, observation: str, info: dict[str, Any]) -> tuple[str, Turn]:
        place = {"period": info["period"], "question": info["question"]}
        schema = info["schema"]
        values = {
            "schema": observation,
            "keys": " and ".join(schema),
            "blanks": "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: ?" for key in schema) + "}",
        }
        slot = "read/p{period}/q{question}".format(**place)
        past = await self._past(observation)
        turn = await self.call("read", slot, self.prompts["read"], past, values, place, schema=schema)
        states, how = parse_states(turn.text, schema)
        turn.meta["parsed"] = how
        if how == "failed":
            return turn.text, turn
        return json.dumps({state: value for state, value in states.items() if value is not None}, ensure_ascii=False), turn
