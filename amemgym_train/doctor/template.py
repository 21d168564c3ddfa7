"""The tokenizer's chat template on the agent's own prompts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amemgym_train.config.recipe import Recipe
from amemgym_train.doctor.finding import Finding, green, red, yellow

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from amemgym_train.policy.base import Messages

NAME = "template"
REMEDY = "policy.model=NAME of one with another chat_template.jinja, or mend the template in its folder"
REPLY, NEXT = '{"answer": 1}', "And then?"


def template(recipe: Recipe) -> list[Finding]:
    """Of every prompt the template shows all messages, and what it makes of a conversation stays when the reply follows."""
    if recipe.policy.chat is not None:
        return [green(NAME, "the chat endpoint's own")]
    from amemgym_train.policy.references import load_tokenizer

    tokenizer, asked = load_tokenizer(recipe.policy.model), dict(prompts(recipe))
    for kind, messages in asked.items():
        problem = roles_problem(tokenizer, messages) or prefix_problem(tokenizer, messages)
        if problem:
            return [red(NAME, f"{recipe.policy.model}, {kind} prompt: {problem}", REMEDY)]
    changing = [kind for kind, messages in asked.items() if _changes_the_past(tokenizer, messages)]
    if changing:
        rewritten = "a reply is shown otherwise once another message follows (as templates do that drop reasoning)"
        return [yellow(NAME, f"{recipe.policy.model}: {rewritten}; every call is encoded anew, so that nothing goes wrong here")]
    return [green(NAME, f"shows all roles, and prompts are beginnings of what follows, in {', '.join(asked)} prompts")]


def prompts(recipe: Recipe) -> "Iterator[tuple[str, Messages]]":
    """The messages of each kind of call that the agent words itself, its fields filled with a word each."""
    from amemgym_train.agents.templates import load_prompts

    texts = load_prompts(recipe.agent.prompts, recipe.agent.start)
    for kind in recipe.agent.needed_prompts:
        marks = texts[kind].marks
        yield kind, texts[kind].messages(**{mark: f"some {mark}" for mark in marks})


def roles_problem(tokenizer: "PreTrainedTokenizerBase", messages: "Messages") -> str | None:
    """Why the template cannot show ``messages``: it refuses a role, or leaves one's text out."""
    from jinja2 import TemplateError

    marked = [message | {"content": f"message-{number}-{message['role']}"} for number, message in enumerate(messages)]
    try:
        shown = tokenizer.apply_chat_template(marked, add_generation_prompt=True, tokenize=False)
    except TemplateError as error:
        roles = ", ".join(dict.fromkeys(message["role"] for message in messages))
        return f"the chat template refuses messages of the roles {roles} ({error})"
    lost = next((message["role"] for message in marked if message["content"] not in shown), None)
    return None if lost is None else f"the chat template leaves out what a {lost} message says"


def prefix_problem(tokenizer: "PreTrainedTokenizerBase", messages: "Messages") -> str | None:
    """Why the ids of ``messages``, the assistant's turn opened, are not the beginning of those with its reply."""
    from amemgym_train.policy.encoding import encode

    opened = encode(tokenizer, messages)
    closed = _closed(tokenizer, [*messages, {"role": "assistant", "content": REPLY}])
    if closed[: len(opened)] == opened:
        return None
    place = next((i for i, pair in enumerate(zip(opened, closed, strict=False)) if pair[0] != pair[1]), len(closed))
    differ = f"of {len(opened)} tokens they differ from token {place} on"
    return f"the prompt is no beginning of the conversation with its reply: {differ}"


def _changes_the_past(tokenizer: "PreTrainedTokenizerBase", messages: "Messages") -> bool:
    talk = [*messages, {"role": "assistant", "content": REPLY}]
    said = _closed(tokenizer, talk)
    later = _closed(tokenizer, [*talk, {"role": "user", "content": NEXT}])
    return later[: len(said)] != said


def _closed(tokenizer: "PreTrainedTokenizerBase", messages: "Messages") -> list[int]:
    return list(tokenizer.apply_chat_template(messages, add_generation_prompt=False, tokenize=True, return_dict=False))
