"""A reflector without a model: rules, so that an evolution of prompts can be repeated anywhere.

What failed most is mended first (``reflection.search`` draws the target from the feedback); a rule for that operation then adds a
sentence or a worked example of invented facts.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from amemgym_train.agents.templates import Prompt
from amemgym_train.reflection.edits import types_of
from amemgym_train.reflection.reflectors import Ask

Rule = Callable[[str, Prompt], Prompt]  # from the name of the prompt and the prompt
TIME = "[Current Time: 2021-03-04 12:13:14]"
THANKS = "Assistant: Thanks for telling me, I will keep that in mind."


def sentence(text: str) -> Rule:
    """Puts ``text`` behind the first line of the instruction, where the sentences stand."""

    def rule(name: str, prompt: Prompt) -> Prompt:
        if text in prompt.instruction:
            return prompt
        first, line, rest = prompt.instruction.partition("\n")
        return replace(prompt, instruction=f"{first} {text}{line}{rest}")

    return rule


def noted(said: str, topic: str, value: str) -> Rule:
    """Adds a worked example of a message and what is noted of it; no ``topic``: nothing."""

    def rule(name: str, prompt: Prompt) -> Prompt:
        notes = {topic: value} if topic else {}
        reply = {"facts": [f"{topic}: {value}"] if topic else []} if name == "facts" else notes
        return _with_example(prompt, reply, conversation=f"User: {TIME}\n{said}\n{THANKS}", notes="", types="")

    return rule


def read(notes: str, states: dict[str, str]) -> Rule:
    def rule(name: str, prompt: Prompt) -> Prompt:
        allowed = json.dumps({state: [value, "other"] for state, value in states.items()})
        blanks = "{" + ", ".join(f"{json.dumps(state)}: ?" for state in states) + "}"
        asked = {"schema": allowed, "keys": " and ".join(states), "blanks": blanks}
        return _with_example(prompt, states, conversation="", notes=notes, **asked)

    return rule


def answered(notes: str, query: str, choices: Sequence[str], right: int) -> Rule:
    """``right`` counts from 0. The reply quotes the choice where the prompt's other examples do, else it has its number."""

    def rule(name: str, prompt: Prompt) -> Prompt:
        quotes = any('"answer": "' in text for text in (prompt.instruction, *prompt.examples[1::2]))
        reply = {"answer": choices[right] if quotes else right + 1}
        return _with_example(prompt, reply, conversation="", notes=notes, question=_numbered(query, choices))

    return rule


def by_number(name: str, prompt: Prompt) -> Prompt:
    """Lets an answer be the number of its choice, which cannot be miscopied, with examples of that in place of all others."""
    if prompt.instruction.startswith(NUMBER):
        return prompt
    prompt = replace(prompt, instruction=NUMBER, examples=())
    for notes, query, choices, right in ANSWERED:
        prompt = answered(notes, query, choices, right)(name, prompt)
    return prompt


def _numbered(query: str, choices: Sequence[str]) -> str:
    return "\n".join([query, "", *(f"{number}. {choice}" for number, choice in enumerate(choices, 1))])


NUMBER = 'Give the number of the choice that fits the notes about the user. Reply only with JSON, as in {"answer": 3}.'
ANSWERED = (
    (
        "umbrella: striped\nlocker code: blue owl\nseat row: row nine",
        "What fits my locker code?",
        ["type red fox", "type blue owl", "type grey hen"],
        1,
    ),
    (
        "locker code: red fox\nseat row: row nine",
        "How do I find my place, given my seat row and my locker code?",
        ["sit in row two and type red fox", "sit in row nine and type blue owl", "sit in row nine and type red fox"],
        2,
    ),
)
RULES: dict[str, list[Rule]] = {  # by target; that of types is below
    "write": [
        noted("Hello. For my locker code I now use blue owl, nothing else.", "locker code", "blue owl"),
        noted("Hi, nice to meet you. I keep my spare keys in a tin box, my hiding place.", "hiding place", "tin box"),
        sentence("Copy the whole value word for word, and name the topic as the user does."),
        sentence("Every message tells something: never leave the notes empty."),
    ],
    "read": [
        sentence("Take the value from the newest note of that key."),
        read("locker code: blue owl\numbrella: striped\nlocker code: red fox", {"locker code": "red fox"}),
        sentence("Copy the value word for word."),
    ],
    "answer": [
        by_number,
        answered(*ANSWERED[0]),
        sentence("The right choice names a value from the notes."),
        sentence("Where two notes tell of one topic, the later one holds."),
    ],
}
TYPES = (
    "- what the user owns or has chosen, by its full name",
    "- how the user does things: the way, the time, the place",
    "- what has changed since it was noted, under the topic that it had",
    "- names, numbers and colours that the user mentions",
)


@dataclass(frozen=True)
class ScriptedReflector:
    """Draw n takes the n-th of the rules that the prompt has not been through, in a circle."""

    async def reply(self, ask: Ask) -> str:
        """The prompt with one rule applied; once all have been, the prompt as it is, which is refused."""
        if ask.target == "types":
            listed = types_of(ask.prompt)
            left = [line for line in TYPES if line not in listed]
            added = left[ask.draw % len(left) :][:1] if left else []
            return json.dumps({"new_types": "\n".join([listed, *added]), "changes": added})
        made = [new for rule in RULES[ask.target] if (new := rule(ask.name, ask.prompt)) != ask.prompt]
        new = made[ask.draw % len(made)] if made else ask.prompt
        longer = len(new.examples) > len(ask.prompt.examples)
        changes = [f"a worked example: {new.examples[-1]}" if longer else "a sentence in the instruction"] if made else []
        return json.dumps({"new_prompt": new.text, "changes": changes})


def _with_example(prompt: Prompt, reply: object, **values: str) -> Prompt:
    """``prompt`` with one worked example more, its message worded as the prompt words its own; as it is if it has it already."""
    message = prompt.messages(**values)[-1]["content"]
    if message in prompt.examples:
        return prompt
    return replace(prompt, examples=(*prompt.examples, message, json.dumps(reply, ensure_ascii=False)))
