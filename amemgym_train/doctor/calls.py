"""The calls of an episode in which everything is noted, read and answered right, to be measured by a model's tokenizer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from amemgym_train.agents import build_agent
from amemgym_train.config.curriculum import longest
from amemgym_train.config.environments import alike, environment_of
from amemgym_train.config.recipe import Recipe
from amemgym_train.evaluation.controls import GREEDY, environment
from amemgym_train.policy.base import Messages, Request
from amemgym_train.policy.encoding import encode
from amemgym_train.policy.oracle import OraclePolicy
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.runner import play

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Call:
    operation: str
    messages: Messages
    reply: str


def right_calls(recipe: Recipe) -> list[Call]:
    """Those of every environment's first training user, at the end of a curriculum. Real notes, and prompts, may be longer.

    UserError: the users cannot be made.
    """
    recipe, made = longest(recipe), []
    first = {environment_of(recipe, one.id): one for one in reversed(alike(recipe, "train"))}
    scenarios = {one.id: one for one in first.values()}

    class Listening(OraclePolicy):
        def reply(self, request: Request) -> str:
            text = super().reply(request)
            made.append(Call(request.operation, request.messages, text))
            return text

    def agent(task: Task, episode: str, seed: int):
        return build_agent(recipe.agent, Listening(scenarios[task.id]), episode, seed, GREEDY)

    tasks = [Task(user, user, 0) for user in scenarios]
    play(environment(recipe, "train", list(scenarios.values()), scripted=True), tasks, agent, recipe.seed, label=None)
    return made


def longest_call(recipe: Recipe, calls: list[Call], tokenizer: "PreTrainedTokenizerBase") -> int:
    """Tokens of the longest prompt and the longest reply allowed to it; of an operation the prompt of most characters counts."""
    texts: dict[str, Messages] = {}
    for call in calls:
        texts[call.operation] = max(texts.get(call.operation, []), call.messages, key=_characters)
    limits = recipe.agent.max_new_tokens
    return max(len(encode(tokenizer, messages)) + getattr(limits, operation) for operation, messages in texts.items())


def longest_replies(calls: list[Call], tokenizer: "PreTrainedTokenizerBase") -> dict[str, tuple[int, str]]:
    """Of each operation the right reply with the most tokens, its end token included: how many, and the text."""
    found: dict[str, tuple[int, str]] = {}
    for call in calls:
        tokens = len(tokenizer(call.reply, add_special_tokens=False)["input_ids"]) + 1
        found[call.operation] = max(found.get(call.operation, (0, "")), (tokens, call.reply))
    return found


def _characters(messages: Messages) -> int:
    return sum(len(message["content"]) for message in messages)
