"""Who rewrites prompts: a model of any kind, or rules (``reflection.scripted``)."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from amemgym_train.agents.templates import TYPES, Prompt
from amemgym_train.config.reflection import ReflectorConfig, Target
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.policy.base import Messages, Policy, Request, Sampling, TooLong
from amemgym_train.policy.chat import chat_policy
from amemgym_train.reflection.edits import types_of
from amemgym_train.reflection.feedback import Feedback

if TYPE_CHECKING:
    from amemgym_train.policy.local import LocalPolicy

REFLECTOR = "reflection.reflector.chat"

TASKS = {
    "write": "the prompt with which it writes its memory",
    "types": "the list of types of information that it remembers",
    "read": "the prompt with which it reports what it knows",
    "answer": "the prompt with which it answers questions",
}
ROLE = (
    "You improve the prompts of an agent that talks with many users over months, keeps a memory, and is asked questions about "
    "each user. You see a prompt and what happened with it. Rewrite it so that such failures become rare with users it has not "
    "met: write of kinds of failure, and never put a fact about one of these users into it."
)
WHOLE = (
    "The prompt is a text of parts with a line --- between them: the instruction, any worked examples (a message and its reply, "
    "two parts each), and last the message, whose fields {fields} must all stay. Reply only with JSON: "
    '{{"new_prompt": "the whole new text", "changes": ["what you changed, and why"]}}'
)
ADVISER = (
    "A call of an agent failed, and it will try again. Tell it in one or two short sentences what to do otherwise this time, "
    "with the words that it must not miss."
)
LISTED = 'Reply only with JSON: {"new_types": "the new list, a line for each type", "changes": ["what you changed, and why"]}'
GUIDED = " Give each type an invented example, such as: - lucky things (a lucky number)."


@dataclass(frozen=True)
class Ask:
    """Rewrite ``prompt`` (of the calls ``name``) at ``target`` after ``feedback``. ``draw`` counts the proposals of a search;
    ``guided``: types are to have examples."""

    target: Target
    name: str
    prompt: Prompt
    feedback: Feedback
    draw: int
    guided: bool = False


@dataclass(frozen=True)
class Failure:
    """A call that failed: the message at its end, its ``reply``, and what may be told of what was wrong with it."""

    slot: str
    message: str
    reply: str
    wrong: str


class Reflector(Protocol):
    async def reply(self, ask: Ask) -> str:
        """A text that ``edits.edited`` reads. Unscorable when what answers cannot be reached."""
        ...


@dataclass(frozen=True)
class ModelReflector:
    """Asks ``policy``. ``episode`` and ``seed`` fix its draws; ``apart``: nobody else has announced ``episode`` to it."""

    policy: Policy
    sampling: Sampling
    seed: int
    episode: str = "reflection"
    apart: bool = True

    async def reply(self, ask: Ask) -> str:
        """UserError: the question is too long for the model."""
        try:
            return await self._answer(messages(ask), f"reflect/{ask.target}/{ask.draw}")
        except TooLong as error:
            raise UserError(f"{error}, or lower reflection.prompts.max_chars or reflection.reflector.max_new_tokens") from error

    async def advise(self, failure: Failure) -> str:
        """In a sentence or two, what to do otherwise; nothing where the call is too long to be shown."""
        parts = (f"The call:\n{failure.message}", f"Its reply:\n{failure.reply}", f"What is known of it:\n{failure.wrong}")
        asked = [{"role": "system", "content": ADVISER}, {"role": "user", "content": "\n\n".join(parts)}]
        try:
            return " ".join((await self._answer(asked, f"reflect/{failure.slot}")).split())
        except TooLong:
            return ""

    async def _answer(self, asked: Messages, slot: str) -> str:
        request = Request(asked, "reflect", slot, self.sampling, self.episode, self.seed)
        if self.apart:
            self.policy.enter(self.episode)
        try:
            return (await self.policy.complete(request)).text
        except OSError as error:
            raise Unscorable(f"the reflector could not be asked: {error}") from error
        finally:
            if self.apart:
                self.policy.leave(self.episode)


def reflector_of(config: ReflectorConfig, policy: Policy, dtype: str, seed: int, episode: str | None = None) -> Reflector:
    """Who rewrites prompts by ``config``, where ``policy`` is what answers. ``episode``: the live one that asks, if one does."""
    if config.kind == "scripted":
        from amemgym_train.reflection.scripted import ScriptedReflector

        return ScriptedReflector()
    if config.chat is not None:
        policy, apart = chat_policy(config.chat, REFLECTOR), True
    elif config.model is not None:
        policy, apart = another_model(config.model, dtype, _device_of(policy)), True
    else:
        apart = episode is None
    sampling = Sampling(max_new_tokens=config.max_new_tokens, temperature=config.temperature)
    return ModelReflector(policy, sampling, seed, episode or "reflection", apart)


@cache
def another_model(model: str, dtype: str, device: str) -> "LocalPolicy":
    """A model that only reflects, loaded once in this process."""
    from amemgym_train.policy.local import LocalPolicy
    from amemgym_train.policy.references import load

    return LocalPolicy(*load(model, dtype, device), model)


def _device_of(policy: Policy) -> str:
    """Where ``policy`` computes; where it is asked elsewhere, a GPU if there is one."""
    import torch

    return str(policy.model.device) if hasattr(policy, "model") else "cuda" if torch.cuda.is_available() else "cpu"


def messages(ask: Ask) -> Messages:
    """What a model is asked."""
    if ask.target == "types":
        shown, wanted = types_of(ask.prompt), LISTED + GUIDED * ask.guided
        heading = TYPES
    else:
        fields = ", ".join(f"{{{name}}}" for name in dict.fromkeys(ask.prompt.marks))
        shown, wanted, heading = ask.prompt.text, WHOLE.format(fields=fields), "The prompt:"
    parts = (f"Rewrite {TASKS[ask.target]}.", f"{heading}\n{shown}", f"What happened:\n{ask.feedback.text}", wanted)
    return [{"role": "system", "content": ROLE}, {"role": "user", "content": "\n\n".join(parts)}]
