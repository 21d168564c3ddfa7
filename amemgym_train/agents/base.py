"""What an agent is, and the part that memory agents share: the recent messages, the prompts and the record of every LLM call."""

import copy
import json
from dataclasses import replace
from typing import Any, Protocol

from amemgym_train.agents.parsing import parse_answer, parse_states
from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.agent import AgentConfig
from amemgym_train.policy.base import Messages, Policy, Request, Sampling
from amemgym_train.rollout.records import Memory, Operation, Turn

ACKNOWLEDGEMENT = "Thanks for telling me, I will keep that in mind."


class Agent(Protocol):
    """Plays one episode. ``acted`` is the index in ``turns`` of the call that made the last action; None when none did.

    ``save`` gives all that later actions depend on (JSON values, a copy); ``load`` takes it back, and ``{}`` is an empty memory.
    """

    policy: Policy
    turns: list[Turn]
    memories: list[Memory]
    acted: int | None

    async def act(self, observation: str, info: dict[str, Any]) -> str: ...

    def save(self) -> dict[str, Any]: ...

    def load(self, state: dict[str, Any]) -> None: ...


class MemoryAgent:
    """The base of AMemGym's agents. A subclass says what becomes of messages (``absorb``) and which ``notes`` it shows.

    ``recent`` holds messages {role, content, period, session, time, exposed}, oldest first. ``exposed`` ({info_type: value}) is
    what the environment says the message gave away: it goes on the record of a write and is never shown to a model.
    """

    def __init__(self, config: AgentConfig, policy: Policy, episode: str, seed: int, sampling: Sampling) -> None:
        self.config = config
        self.policy = policy
        self.episode = episode
        self.seed = seed
        self.sampling = sampling
        self.prompts = load_prompts(config.prompts)
        self.turns: list[Turn] = []
        self.memories: list[Memory] = []
        self.acted: int | None = None
        self.recent: list[dict[str, Any]] = []

    @property
    def notes(self) -> str:
        """The memory as a prompt shows it; empty when there is none."""
        return ""

    async def absorb(self, period: int) -> None:
        """Called after every exchange of a session, when the new messages are the last of ``recent``."""

    async def settle(self, period: int) -> None:
        """Called before a question or probe of ``period`` is looked at."""

    def save(self) -> dict[str, Any]:
        return {"recent": copy.deepcopy(self.recent)}

    def load(self, state: dict[str, Any]) -> None:
        self.recent = copy.deepcopy(state.get("recent", []))

    async def act(self, observation: str, info: dict[str, Any]) -> str:
        """The action for a step of AMemGym; ``info["kind"]`` says what the step is."""
        self.acted = None
        kind = info["kind"]
        if kind == "session":
            return await self._converse(observation, info)
        if kind not in ("question", "probe"):
            raise ValueError(f"episode {self.episode}: a step of kind {kind!r}; expected session, question or probe")
        await self.settle(info["period"])
        return await (self._answer if kind == "question" else self._read)(observation, info)

    async def call(
        self, operation: Operation, slot: str, messages: Messages, facts: dict[str, Any], meta: dict[str, Any]
    ) -> tuple[str, int]:
        """Make one LLM call and record it; returns its text and its index in ``turns``.

        ``facts`` reach scripted policies only, ``meta`` is kept on the turn beside ``sampling`` and ``policy_version``.
        """
        sampling = replace(self.sampling, max_new_tokens=getattr(self.config.max_new_tokens, operation))
        completion = await self.policy.complete(Request(messages, operation, slot, sampling, self.episode, self.seed, facts))
        self.turns.append(
            Turn(
                prompt_ids=completion.prompt_ids,
                completion_ids=completion.completion_ids,
                logprobs=completion.logprobs,
                text=completion.text,
                finish_reason=completion.finish_reason,
                operation=operation,
                slot=slot,
                meta={**meta, "sampling": sampling.as_dict(), "policy_version": self.policy.version},
            )
        )
        return completion.text, len(self.turns) - 1

    async def _converse(self, observation: str, info: dict[str, Any]) -> str:
        origin = {"period": info["period"], "session": info["session"], "time": info["time"]}
        self.recent.append({"role": "user", "content": observation, **origin, "exposed": dict(info["exposed"])})
        reply = ACKNOWLEDGEMENT if self.config.respond == "fixed" else await self._respond(info)
        self.recent.append({"role": "assistant", "content": reply, **origin, "exposed": {}})
        await self.absorb(info["period"])
        return reply

    async def _respond(self, info: dict[str, Any]) -> str:
        facts = {key: info[key] for key in ("period", "session", "round")}
        slot = "respond/p{period}/s{session}/r{round}".format(**facts)
        messages = self.prompts["respond"].messages(notes=self.notes, conversation=transcript(self.recent))
        text, self.acted = await self.call("respond", slot, messages, facts, facts)
        return text

    async def _answer(self, observation: str, info: dict[str, Any]) -> str:
        place = {"period": info["period"], "question": info["question"]}
        choices = len(info["choices"])
        messages = self.prompts["answer"].messages(notes=self.notes, conversation=transcript(self.recent), question=observation)
        slot = "answer/p{period}/q{question}".format(**place)
        text, self.acted = await self.call("answer", slot, messages, {**place, "choices": choices}, place)
        choice, how = parse_answer(text, choices, info["choices"])
        self.turns[self.acted].meta["parsed"] = how
        return text if choice is None else json.dumps({"answer": choice + 1})

    async def _read(self, observation: str, info: dict[str, Any]) -> str:
        place = {"period": info["period"], "question": info["question"]}
        schema = info["schema"]
        messages = self.prompts["read"].messages(
            notes=self.notes,
            conversation=transcript(self.recent),
            schema=observation,
            keys=" and ".join(schema),
            blanks="{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: ?" for key in schema) + "}",
        )
        slot = "read/p{period}/q{question}".format(**place)
        text, self.acted = await self.call("read", slot, messages, {**place, "schema": schema}, place)
        states, how = parse_states(text, schema)
        self.turns[self.acted].meta["parsed"] = how
        if how == "failed":
            return text
        return json.dumps({state: value for state, value in states.items() if value is not None}, ensure_ascii=False)


def transcript(messages: list[dict[str, Any]]) -> str:
    """The messages as ``User: ...`` and ``Assistant: ...`` lines, oldest first."""
    return "\n".join(f"{message['role'].capitalize()}: {message['content']}" for message in messages)
