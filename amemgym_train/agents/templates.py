"""Prompt texts: one file per operation, filled in without a template engine.

A file holds the instruction (the system message), a line ``---``, and the body (the user message). Blank lines divide the body
into blocks; a block whose placeholders are all filled with nothing is left out, so that one text serves an agent with notes and
one without. A folder may hold some of the files only: the others are the default ones.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from amemgym_train.errors import UserError

PLACEHOLDERS: dict[str, tuple[str, ...]] = {
    "respond": ("conversation", "notes"),
    "write": ("conversation", "notes"),
    "read": ("conversation", "notes", "schema"),
    "answer": ("conversation", "notes", "question"),
}
DEFAULT_FOLDER = Path(__file__).with_name("prompts")
SEPARATOR = "\n---\n"


@dataclass(frozen=True)
class Prompt:
    """The instruction, and the body whose ``{placeholder}`` marks are filled for each call."""

    instruction: str
    body: str

    def messages(self, **values: str) -> list[dict[str, str]]:
        """One system message and one user message. A value is put in as it is: marks inside it are not filled again."""
        blocks = [block for block in re.split(r"\n\s*\n", self.body) if _has_content(block, values)]
        mark = re.compile("|".join(re.escape(_mark(name)) for name in values))
        body = "\n\n".join(mark.sub(lambda match: values[match[0][1:-1]], block) for block in blocks)
        return [{"role": "system", "content": self.instruction}, {"role": "user", "content": body}]


def _mark(name: str) -> str:
    return f"{{{name}}}"


def _has_content(block: str, values: dict[str, str]) -> bool:
    used = [value for name, value in values.items() if _mark(name) in block]
    return not used or any(used)


def load_prompts(folder: str = "default") -> dict[str, Prompt]:
    """The prompt of every operation. UserError: no such folder, an unknown file name, a missing separator or placeholder."""
    if folder == "default":
        return _default_prompts()
    own = Path(folder)
    files = sorted(own.glob("*.txt")) if own.is_dir() else []
    expected = ", ".join(f"{operation}.txt" for operation in PLACEHOLDERS)
    if not files:
        raise UserError(f"agent.prompts: {own} holds no prompt file; expected a folder with one or more of {expected}")
    for file in files:
        if file.stem not in PLACEHOLDERS:
            raise UserError(f"agent.prompts: {file} is no prompt; expected {expected}. Rename or remove it")
    return _default_prompts() | {file.stem: _read(file) for file in files}


def _default_prompts() -> dict[str, Prompt]:
    return {operation: _read(DEFAULT_FOLDER / f"{operation}.txt") for operation in PLACEHOLDERS}


def _read(file: Path) -> Prompt:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"agent.prompts: {file} is not UTF-8 text ({error}); save it as UTF-8") from error
    instruction, separator, body = text.partition(SEPARATOR)
    if not separator:
        raise UserError(f"agent.prompts: {file} has no line '---'; expected the instruction, a line '---', then the message")
    for name in PLACEHOLDERS[file.stem]:
        if _mark(name) not in body:
            raise UserError(f"agent.prompts: {file} lacks the placeholder {_mark(name)} below its line '---'; add it there")
    return Prompt(instruction.strip(), body.strip())
