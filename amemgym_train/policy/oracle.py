"""Policies that need no model: one that knows the scenario and one that guesses; they bound a score from above and below."""

import json
import random
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from amemgym_train.policy.base import Completion, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from transformers import PreTrainedTokenizerBase

    from amemgym_envs.amemgym.scenario import Question, Scenario

ACKNOWLEDGEMENT = "Thanks, I will keep that in mind."


class ScriptedPolicy(ABC):
    """Completes a request with ``reply(request)``. With a tokenizer the completion has ids, each of logprob 0 (certain)."""

    version = "scripted"

    def __init__(self, tokenizer: "PreTrainedTokenizerBase | None" = None) -> None:
        self.tokenizer = tokenizer

    def enter(self, episode: str) -> None:  # noqa: B027 - does nothing by design, a subclass need not say so
        """Nothing to wait for: every request is answered at once."""

    def leave(self, episode: str) -> None:  # noqa: B027
        """See ``enter``."""

    @abstractmethod
    def reply(self, request: Request) -> str:
        """The text that answers ``request``."""

    async def complete(self, request: Request) -> Completion:
        text = self.reply(request)
        if self.tokenizer is None:
            return Completion([], [], [], text, "stop")
        prompt = self.tokenizer.apply_chat_template(
            request.messages, add_generation_prompt=True, tokenize=True, return_dict=False
        )
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"] + [self.tokenizer.eos_token_id]
        return Completion(list(prompt), ids, [0.0] * len(ids), text, "stop")


class OraclePolicy(ScriptedPolicy):
    """Writes exactly what the shown sessions expose, reads the true states and picks the golden choice of ``scenario``.

    With ``quotes`` it answers with the text of that choice instead of its number.
    """

    version = "oracle"

    def __init__(
        self, scenario: "Scenario", tokenizer: "PreTrainedTokenizerBase | None" = None, *, quotes: bool = False
    ) -> None:
        super().__init__(tokenizer)
        self.scenario = scenario
        self.quotes = quotes

    def reply(self, request: Request) -> str:
        facts = request.facts
        if request.operation == "respond":
            return ACKNOWLEDGEMENT
        if request.operation == "write":
            exposures = [self.scenario.periods[period].sessions[session].exposed_states for period, session in facts["sessions"]]
            return _written({state: value for exposed in exposures for state, value in exposed.items()}, facts)
        if request.operation == "read":
            return _json(self.scenario.required_state(facts["period"], facts["question"]))
        if request.operation == "answer":
            golden = self.scenario.golden(facts["period"], facts["question"])
            choices = self.scenario.questions[facts["question"]].answer_choices
            return _json({"answer": choices[golden].answer if self.quotes else golden + 1})
        raise ValueError(f"{request.slot}: the oracle knows nothing of operation {request.operation!r}")


class RandomPolicy(ScriptedPolicy):
    """Uniform choices for answers and reads, and no notes. A draw depends on the seeds and on its request's episode and slot."""

    version = "random"

    def __init__(self, seed: int = 0, tokenizer: "PreTrainedTokenizerBase | None" = None) -> None:
        super().__init__(tokenizer)
        self.seed = seed

    def reply(self, request: Request) -> str:
        draw = random.Random(f"{self.seed}/{request.seed}/{request.episode}/{request.slot}")
        if request.operation == "respond":
            return ACKNOWLEDGEMENT
        if request.operation == "write":
            return _written({}, request.facts)
        if request.operation == "read":
            return _json({state: draw.choice(list(values)) for state, values in request.facts["schema"].items()})
        if request.operation == "answer":
            return _json({"answer": draw.randint(1, request.facts["choices"])})
        raise ValueError(f"{request.slot}: no random reply for operation {request.operation!r}")


class BlindPolicy(RandomPolicy):
    """Remembers nothing, and takes the choice of the highest ``score(question)``, the first of equals: what a choice's make-up
    alone gives away."""

    version = "blind"

    def __init__(self, scenario: "Scenario", score: "Callable[[Question], Sequence[float]]") -> None:
        super().__init__()
        self.scenario, self.score = scenario, score

    def reply(self, request: Request) -> str:
        if request.operation != "answer":
            return super().reply(request)
        scores = self.score(self.scenario.questions[request.facts["question"]])
        return _json({"answer": 1 + max(range(len(scores)), key=scores.__getitem__)})


def _written(states: dict[str, str], facts: dict[str, Any]) -> str:
    """``states`` as the reply to a write: AWI's one call, or one of the two of AWE and mem0 (``facts["step"]``).

    A stored fact about the same state is updated; it is known by the text before its colon.
    """
    lines = [f"{state}: {value}" for state, value in states.items()]
    if facts.get("step") == "facts":
        return _json({"facts": lines})
    if facts.get("step") != "decide":
        return _json(states)
    stored = {text.partition(":")[0]: str(id) for id, text in enumerate(facts["found"])}
    events = {state: {"event": "UPDATE", "id": stored[state]} if state in stored else {"event": "ADD"} for state in states}
    return _json({"memory": [{**events[state], "text": line} for state, line in zip(states, lines, strict=True)]})


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
