"""Prompt texts: one file per operation, filled in without a template engine.

A file holds parts with a line ``---`` between them: the instruction (the system message), then any number of worked examples (a
user message and its reply, two parts each), then the body (the user message). Blank lines divide the body into blocks; a block
whose fields are all filled with nothing is left out, so that one text serves an agent with notes and one without. A
folder may hold some of the files only: the others are the default ones. Three sets come along: ``default``, ``fewshot`` for
models too small to follow an instruction without an example, and ``short`` for the quickstart's model, which reads none, and
which was taught neither AWE's two calls nor a list of topics: that set lacks them.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from amemgym_train.errors import UserError

FIELDS: dict[str, tuple[str, ...]] = {
    "respond": ("conversation", "notes"),
    "write": ("conversation",),  # {notes} is optional: not every writer needs to see what is noted already; so is {types}
    "read": ("conversation", "notes", "schema|keys|blanks"),  # the schema as JSON, its keys in words, or a JSON with blanks
    "answer": ("conversation", "notes", "question"),
    "facts": ("conversation",),  # AWE's first call of a write
    "decide": ("facts", "notes"),  # and its second, with the stored facts {notes}
}
FOLDER = Path(__file__).with_name("prompts")
SETS = {"default": FOLDER, "fewshot": FOLDER / "fewshot", "short": FOLDER / "short"}
SEPARATOR = "\n---\n"


@dataclass(frozen=True)
class Prompt:
    """The instruction, the ``examples`` (user and reply in turn), and the body whose ``{fields}`` each call fills."""

    instruction: str
    body: str
    examples: tuple[str, ...] = ()

    def messages(self, **values: str) -> list[dict[str, str]]:
        """A system message, the examples, and a user message. A value is put in as it is: marks in it are not filled again."""
        parts: list[str] = []
        for block in self.blocks:
            used = [values[name] for name in block[1::2] if name in values]
            if used and not any(used):
                continue
            if parts:
                parts.append("\n\n")
            parts += [values.get(part, _mark(part)) if place % 2 else part for place, part in enumerate(block)]
        roles = ("system", *("user", "assistant") * (len(self.examples) // 2), "user")
        texts = (self.instruction, *self.examples, "".join(parts))  # joined once: a conversation may be half a megabyte
        return [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]

    @cached_property
    def blocks(self) -> list[list[str]]:
        """Of each block its texts and, at the odd places, the names of its marks."""
        return [re.split(r"\{(\w+)\}", block) for block in re.split(r"\n\s*\n", self.body)]


def _mark(name: str) -> str:
    return f"{{{name}}}"


def load_prompts(folder: str = "default") -> dict[str, Prompt]:
    """The prompt of every kind of call. UserError: no such folder, an unknown file name, a missing separator or field."""
    if folder in SETS:
        return dict(_prompts_in(SETS[folder]))
    own = Path(folder)
    files = sorted(own.glob("*.txt")) if own.is_dir() else []
    expected = ", ".join(f"{operation}.txt" for operation in FIELDS)
    if not files:
        raise UserError(
            f"agent.prompts: {own} holds no prompt file; expected {' or '.join(SETS)}, or a folder with one or more of {expected}"
        )
    for file in files:
        if file.stem not in FIELDS:
            raise UserError(f"agent.prompts: {file} is no prompt; expected {expected}. Rename or remove it")
    return _prompts_in(FOLDER) | {file.stem: _read(file) for file in files}


@lru_cache(len(SETS))  # every agent asks for them
def _prompts_in(folder: Path) -> dict[str, Prompt]:
    return {file.stem: _read(file) for file in sorted(folder.glob("*.txt"))}


def _read(file: Path) -> Prompt:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"agent.prompts: {file} is not UTF-8 text ({error}); save it as UTF-8") from error
    instruction, *examples, body = [part.strip() for part in text.split(SEPARATOR)] if SEPARATOR in text else [text, ""]
    if not body:
        raise UserError(f"agent.prompts: {file} has no line '---'; expected the instruction, a line '---', then the message")
    if len(examples) % 2:
        found = f"{file} has {len(examples)} parts between instruction and body"
        raise UserError(f"agent.prompts: {found}; an example needs two, message and reply")
    for names in FIELDS[file.stem]:
        if not any(_mark(name) in body for name in names.split("|")):
            marks = " or ".join(_mark(name) for name in names.split("|"))
            raise UserError(f"agent.prompts: {file} lacks the field {marks} below its last line '---'; add it there")
    return Prompt(instruction, body, tuple(examples))
