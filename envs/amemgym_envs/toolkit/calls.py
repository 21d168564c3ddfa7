"""Tool calls as text, as AgentGym writes them and as function calling does."""

import json
import re
from typing import Any, NamedTuple

from amemgym_envs.toolkit.literals import literal

EXAMPLE = 'name with Action Input: {"parameter": value}'
HEAD = re.compile(r"^(?:[ \t]*Thought:[^\n]*?)?[ \t]*(?:Action:[ \t]*)?(\w+)[ \t]+with[ \t]+Action Input:",
                  re.MULTILINE | re.IGNORECASE)
NAMES = ("name", "function_name", "tool")  # how replies in JSON call the tool; AgentGym: function_name
ARGUMENTS = ("arguments", "parameters")


class Call(NamedTuple):
    tool: str
    arguments: dict[str, Any]


def write(call: Call) -> str:
    """The action that ``parse`` reads as ``call``."""
    return f"{call.tool} with Action Input: {json.dumps(call.arguments, ensure_ascii=False)}"


def parse(action: str) -> Call:
    """The call that ``action`` makes: the last line that begins one, in the form of ``EXAMPLE``, or a JSON object with ``name``
    and ``arguments``. ValueError with the reason: it makes none."""
    text = action.strip().removesuffix("</s>").rstrip()
    heads = list(HEAD.finditer(text))
    if heads:
        rest = text[heads[-1].end():].strip()
        return Call(heads[-1][1], _arguments(_first_line_or_all(rest)))
    text = text.removeprefix("Action:").lstrip()
    if text.startswith("{"):
        return _from_object(literal(text))
    raise ValueError("no tool is called")


def _first_line_or_all(text: str) -> Any:
    """The arguments may run over lines; what follows them on further lines is not theirs."""
    try:
        return literal(text)
    except ValueError:
        line, _, further = text.partition("\n")
        if not further:
            raise
        return literal(line)


def _from_object(value: Any) -> Call:
    name = next((value[key] for key in NAMES if key in value), None)
    if not isinstance(name, str):
        raise ValueError("the object has no name of a tool")
    arguments = next((value[key] for key in ARGUMENTS if key in value), {})
    return Call(name, _arguments(literal(arguments) if isinstance(arguments, str) else arguments))


def _arguments(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ValueError("the arguments are not an object of named values")
    return value
