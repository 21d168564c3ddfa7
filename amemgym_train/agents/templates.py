"""Prompt texts: one file per operation, filled in without a template engine.

A file holds parts with a line ``---`` between them: the instruction (the system message), then any number of worked examples (a
user message and its reply, two parts each), then the body (the user message). Blank lines divide the body into blocks; a block
whose fields are all filled with nothing is left out, so that one text serves an agent with notes and one without. A
folder may hold some of the files only: the others are the default ones. Four sets come along: ``default``, ``fewshot`` for
models too small to follow an instruction without an example, ``short`` for the quickstart's model, which reads none, and which
was taught neither AWE's two calls nor a list of topics: that set lacks them; and ``bare`` for models that were taught to act in
an environment with a goal: they see its observations and nothing else.

A start (``STARTS``) puts another instruction above the examples and the body of the memory-update prompts: where an evolution of
prompts begins, or what it is compared with.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from amemgym_train.errors import UserError
from amemgym_train.files import write_text

FIELDS: dict[str, tuple[str, ...]] = {
    "respond": ("conversation", "notes"),
    "write": ("conversation",),  # {notes} is optional: not every writer needs to see what is noted already; so is {types}
    "read": ("conversation", "notes", "schema|keys|blanks"),  # the schema as JSON, its keys in words, or a JSON with blanks
    "answer": ("conversation", "notes", "question"),
    "facts": ("conversation",),  # AWE's first call of a write
    "decide": ("facts", "notes"),  # and its second, with the stored facts {notes}
    "act": ("observation",),  # the first message of an episode with a goal; {instruction} and {layout} are optional
}
FOLDER = Path(__file__).with_name("prompts")
SETS = {"default": FOLDER} | {name: FOLDER / name for name in ("fewshot", "short", "bare")}
SEPARATOR, SEPARATION = "\n---\n", re.compile(r"\n---[^\S\n]*\n")  # blanks behind it are not seen by whoever writes a file
STARTS = {"minimal": "minimal", "info_type": "info_type", "guided_info_type": "info_type"}  # folders; the last is asked otherwise
TYPES = "Types of information to remember:"  # the line above the section of an instruction that lists them


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

    @property
    def text(self) -> str:
        """As a file holds it: ``parse_prompt`` is the inverse."""
        return SEPARATOR.join((self.instruction, *self.examples, self.body))

    @property
    def marks(self) -> list[str]:
        """The names in the body that a call may fill, each as often as it stands there, in the order of the alphabet."""
        known = {name for names in FIELDS.values() for one in names for name in one.split("|")}
        known |= {"types", "instruction", "layout"}
        return sorted(name for block in self.blocks for name in block[1::2] if name in known)

    @cached_property
    def blocks(self) -> list[list[str]]:
        """Of each block its texts and, at the odd places, the names of its marks."""
        return [re.split(r"\{(\w+)\}", block) for block in re.split(r"\n\s*\n", self.body)]


def _mark(name: str) -> str:
    return f"{{{name}}}"


def load_prompts(folder: str = "default", start: str = "default") -> dict[str, Prompt]:
    """The prompt of every kind of call. UserError: no such folder, an unknown file name, a missing separator or field."""
    prompts = dict(_prompts_in(SETS[folder])) if folder in SETS else _own(Path(folder))
    if start in STARTS:
        for name, instruction in _instructions(FOLDER / "start" / STARTS[start]).items():
            if name in prompts:
                prompts[name] = replace(prompts[name], instruction=instruction)
    return prompts


def parse_prompt(name: str, text: str, place: str) -> Prompt:
    """The prompt of the calls ``name`` in ``text``, the content of a file. UserError naming ``place``: it could not be used."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    parts = [part.strip() for part in SEPARATION.split(text)]
    instruction, *examples, body = parts if len(parts) > 1 else [text, ""]
    if not body:
        raise UserError(f"agent.prompts: {place} has no line '---'; expected the instruction, a line '---', then the message")
    if len(examples) % 2:
        found = f"{place} has {len(examples)} parts between instruction and body"
        raise UserError(f"agent.prompts: {found}; an example needs two, message and reply")
    for names in FIELDS[name]:
        if not any(_mark(name) in body for name in names.split("|")):
            marks = " or ".join(_mark(name) for name in names.split("|"))
            raise UserError(f"agent.prompts: {place} lacks the field {marks} below its last line '---'; add it there")
    return Prompt(instruction, body, tuple(examples))


def write_prompts(folder: Path, prompts: Mapping[str, Prompt]) -> None:
    """A folder that ``load_prompts`` reads: a file for each prompt."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, prompt in prompts.items():
        write_text(folder / f"{name}.txt", prompt.text)


def _own(folder: Path) -> dict[str, Prompt]:
    files = sorted(folder.glob("*.txt")) if folder.is_dir() else []
    expected = ", ".join(f"{operation}.txt" for operation in FIELDS)
    if not files:
        found = f"{folder} holds no prompt file; expected {' or '.join(SETS)}, or a folder with one or more of {expected}"
        raise UserError(f"agent.prompts: {found}")
    for file in files:
        if file.stem not in FIELDS:
            raise UserError(f"agent.prompts: {file} is no prompt; expected {expected}. Rename or remove it")
    return _prompts_in(FOLDER) | {file.stem: _read(file) for file in files}


@lru_cache(len(SETS))  # every agent asks for them
def _prompts_in(folder: Path) -> dict[str, Prompt]:
    return {file.stem: _read(file) for file in sorted(folder.glob("*.txt"))}


@lru_cache(len(STARTS))
def _instructions(folder: Path) -> dict[str, str]:
    return {file.stem: file.read_text(encoding="utf-8").strip() for file in sorted(folder.glob("*.txt"))}


def _read(file: Path) -> Prompt:
    try:
        return parse_prompt(file.stem, file.read_text(encoding="utf-8"), str(file))
    except UnicodeDecodeError as error:
        raise UserError(f"agent.prompts: {file} is not UTF-8 text ({error}); save it as UTF-8") from error
