"""From a reflector's reply to a rewritten prompt, or to the reason why nothing is changed.

A reply is a JSON object: ``{"new_prompt": ..., "changes": [...]}``, the whole text of a prompt file, or ``{"new_types": ...}``,
the section that lists types of information. The fields that a call fills must stand in the body as they did before.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from amemgym_train.agents.parsing import parse_object
from amemgym_train.agents.templates import SEPARATION, TYPES, Prompt, parse_prompt
from amemgym_train.config.reflection import Target
from amemgym_train.errors import UserError
from amemgym_train.reflection.leaks import Secrets

KEYS: dict[str, str] = {"types": "new_types"}  # of the reply; else new_prompt
LISTING = re.compile(rf"^{re.escape(TYPES)}$", re.MULTILINE)
REFUSALS = ("unreadable", "long", "shape", "fields", "same", "leak")


class Refused(Exception):
    """A reply that changes nothing. ``kind`` is one of REFUSALS."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Edit:
    """A prompt rewritten; ``leaks`` names what it gives away, where that is not refused."""

    prompt: Prompt
    changes: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bounds:
    """What a rewritten prompt keeps to: its length, ``secrets`` that it may not give away (or that are told, if leaks are not
    rejected), and whether it ``fits`` the window of what answers.
    """

    max_chars: int
    secrets: Secrets
    reject_leaks: bool = True
    fits: Callable[[Prompt], bool] = lambda prompt: True


def edited(target: Target, name: str, prompt: Prompt, reply: str, bounds: Bounds) -> Edit:
    """``prompt`` (of the calls ``name``) as ``reply`` wants it. Raises Refused."""
    max_chars = bounds.max_chars
    key = KEYS.get(target, "new_prompt")
    if len(reply) > 20 * max_chars:
        raise Refused("long", f"a reply of {len(reply)} characters; a prompt may have {max_chars}")
    found, _ = parse_object(reply)
    text = (found or {}).get(key)
    if not isinstance(text, str) or not text.strip():
        raise Refused("unreadable", f"expected a JSON object with the text {key}, got {reply[:80]!r}")
    whole = _with_types(prompt, text.strip()) if target == "types" else text
    if len(whole) > max_chars:
        raise Refused("long", f"{len(whole)} characters; a prompt may have {max_chars}")
    new = _parsed(name, whole)
    if LISTING.search(prompt.instruction) and not LISTING.search(new.instruction):
        raise Refused("shape", f"the line {TYPES!r} is gone, below which types of information are listed")
    if new.marks != prompt.marks:
        raise Refused("fields", f"the body has the fields {new.marks}; expected {prompt.marks}")
    if new == prompt:
        raise Refused("same", "it is the prompt as it was")
    if not bounds.fits(new):
        raise Refused("long", "it leaves too little room in the model's window")
    leaks = tuple(bounds.secrets.found_in(new.text, prompt.text))
    if leaks and bounds.reject_leaks:
        raise Refused("leak", f"it gives away {', '.join(leaks)}")
    changes = (found or {}).get("changes")
    told = [changes] if isinstance(changes, str) else changes if isinstance(changes, list) else []
    return Edit(new, tuple(change[:200] for change in told if isinstance(change, str))[:10], leaks)


def types_of(prompt: Prompt) -> str:
    """The section below the line TYPES, to the end of the instruction."""
    found = LISTING.search(prompt.instruction)
    return prompt.instruction[found.end() :].strip() if found else ""


def _with_types(prompt: Prompt, types: str) -> str:
    if SEPARATION.search(f"\n{types}\n"):
        raise Refused("shape", "a line '---' in the types would end the instruction")
    found = LISTING.search(prompt.instruction)
    head = prompt.instruction[: found.end()] if found else f"{prompt.instruction}\n\n{TYPES}"
    return replace(prompt, instruction=f"{head}\n{types}").text


def _parsed(name: str, text: str) -> Prompt:
    try:
        new = parse_prompt(name, text, "the reply")
    except UserError as error:
        message = str(error).removeprefix("agent.prompts: ")
        raise Refused("fields" if "lacks the field" in message else "shape", message) from error
    if not new.instruction:
        raise Refused("shape", "no instruction above the first line '---'")
    return new
