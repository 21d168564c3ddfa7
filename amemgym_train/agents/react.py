"""ReAct: a thought and an action in every turn, until the task is done (arXiv 2210.03629)."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from amemgym_train.agents.actions import LAYOUTS, read_action
from amemgym_train.agents.base import AfterPeriod, Asked, turn_of
from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.agent import AgentConfig
from amemgym_train.policy.base import Messages, Policy, Request, Sampling, TooLong
from amemgym_train.rollout.records import Memory, Turn


class ReactAgent:
    """Plays an environment with a goal (``amemgym_envs.TaskEnv``): a conversation in which the environment is the user.

    ``steps`` holds {observation, reply} so far, whose first observation has the instruction before it: chat templates need to
    know no more roles than user and assistant. ``history: append`` shows all of them, so that a prompt begins with the one before
    it, reply included; ``window`` the first and the last ``window``. Where they do not fit, the oldest but the first are left
    out, counted in ``Turn.meta["left_out"]``.
    """

    def __init__(self, config: AgentConfig, policy: Policy, episode: str, seed: int, sampling: Sampling) -> None:
        self.config, self.policy, self.episode, self.seed = config, policy, episode, seed
        self.sampling = replace(sampling, max_new_tokens=config.max_new_tokens.act)
        self.prompt = load_prompts(config.prompts)["act"]
        self.after_period: AfterPeriod | None = None
        self.turns: list[Turn] = []
        self.memories: list[Memory] = []
        self.acted: int | None = None
        self.opening: Messages = []
        self.steps: list[dict[str, str]] = []

    async def act(self, observation: str, info: dict[str, Any]) -> str:
        if info["kind"] != "act":
            raise ValueError(f"episode {self.episode}: a step of kind {info['kind']!r}; the react agent plays those of kind act")
        told = {"observation": observation}
        if not self.steps:
            self.opening = self._opening(observation, info["instruction"])
            before = "\n\n".join(message["content"] for message in self.opening)
            told["instruction"] = before.removesuffix(observation).rstrip()  # all that it is shown beside the observation
        turn = await self._call(observation, told)
        action, turn.meta["parsed"] = read_action(turn.text, self.config.style)
        self.turns.append(turn)
        self.acted = len(self.turns) - 1
        self.steps.append({"observation": observation, "reply": turn.text})
        return action

    async def act_together(self, asked: Sequence[Asked]) -> list[tuple[str, int | None]]:
        """One after the other: an action changes what the next one meets."""
        return [(await self.act(*one), self.acted) for one in asked]

    def save(self) -> dict[str, Any]:
        return {"opening": copy.deepcopy(self.opening), "steps": copy.deepcopy(self.steps)} if self.steps else {}

    def load(self, state: dict[str, Any]) -> None:
        self.opening, self.steps = (copy.deepcopy(state.get(key, [])) for key in ("opening", "steps"))

    def _opening(self, observation: str, instruction: str) -> Messages:
        """The first message, worked examples before it where the prompt has some."""
        values = {"instruction": instruction, "layout": LAYOUTS[self.config.style], "observation": observation}
        system, first, *rest = self.prompt.messages(**values)
        return [{"role": "user", "content": f"{system['content']}\n\n{first['content']}"}, *rest]

    async def _call(self, observation: str, told: dict[str, Any]) -> Turn:
        slot, hidden = f"act/{len(self.steps)}", self._outside_window()
        while True:
            messages = self._messages(observation, hidden)
            request = Request(messages, "act", slot, self.sampling, self.episode, self.seed)
            try:
                completion = await self.policy.complete(request)
                break
            except TooLong:
                if hidden >= len(self.steps) - 1:
                    raise
                hidden += 1
        return turn_of(completion, request, self.policy.version, told | ({"left_out": hidden} if hidden else {}))

    def _outside_window(self) -> int:
        """How many of the steps after the first are not shown."""
        if self.config.history == "append":
            return 0
        return max(len(self.steps) - 1 - self.config.window, 0)

    def _messages(self, observation: str, hidden: int) -> Messages:
        messages = list(self.opening)
        for place, step in enumerate(self.steps):
            if place == 0 or place > hidden:
                said = [{"role": "user", "content": step["observation"]}] if place else []
                messages += [*said, {"role": "assistant", "content": step["reply"]}]
        return [*messages, {"role": "user", "content": observation}] if self.steps else messages
