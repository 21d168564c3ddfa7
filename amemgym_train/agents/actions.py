"""Actions in the replies of a ReAct agent: how a reply is laid out, and what is read in one that is laid out otherwise."""

import json
import re
from typing import Any, Literal

from amemgym_train.agents.parsing import parse_object
from amemgym_train.rollout.records import Parsed

Style = Literal["text", "function", "json"]

LAYOUTS: dict[str, str] = {
    "text": "Reply in two lines, and in nothing else:\nThought: what you make of it, in a sentence\nAction: one action",
    "function": (
        "Reply with one JSON object that calls a function, and with nothing else:\n"
        '{"thought": "what you make of it, in a sentence", "function_name": "act", "arguments": {"action": "one action"}}'
    ),
    "json": (
        "Reply with one JSON object, and with nothing else:\n"
        '{"thought": "what you make of it, in a sentence", "action": "one action"}'
    ),
}
MARK = re.compile(r"^[ \t]*(thought|action|observation)[ \t]*:", re.IGNORECASE | re.MULTILINE)


def read_action(text: str, style: Style) -> tuple[str, Parsed]:
    """The action in a reply. ``repaired``: the reply holds more than the layout says, or less; ``failed``: there is none in it,
    and the whole reply is what the environment is given, whose answer then says what an action looks like."""
    if style == "text":
        return _after_mark(text)
    found, how = parse_object(text)
    action = (_called if style == "function" else _named)(found or {})
    return (text.strip(), "failed") if action is None else (action, how)


def written(action: str, style: Style, thought: str = "") -> str:
    """A reply that holds ``action``; ``read_action`` is the inverse."""
    if style == "text":
        return f"Thought: {thought}\nAction: {action}" if thought else f"Action: {action}"
    if style == "function":
        return json.dumps({"thought": thought, "function_name": "act", "arguments": {"action": action}}, ensure_ascii=False)
    return json.dumps({"thought": thought, "action": action}, ensure_ascii=False)


def _after_mark(text: str) -> tuple[str, Parsed]:
    """What stands between the first ``Action:`` and the next mark: a model that goes on by itself invents what it observes."""
    marks = list(MARK.finditer(text))
    place = next((i for i, mark in enumerate(marks) if mark[1].lower() == "action"), None)
    if place is None:
        return text.strip(), "failed"
    following = marks[place + 1 :]
    action = text[marks[place].end() : following[0].start() if following else None].strip()
    return (action, "repaired" if following else "strict") if action else (text.strip(), "failed")


def _named(found: dict[str, Any]) -> str | None:
    action = found.get("action")
    return action.strip() if isinstance(action, str) and action.strip() else None


def _called(found: dict[str, Any]) -> str | None:
    """``act`` is called with the action itself; any other function is a tool of the environment, with its arguments."""
    name, arguments = found.get("function_name"), found.get("arguments")
    if not isinstance(name, str) or not name.strip() or not isinstance(arguments, dict):
        return None
    if name == "act":
        return _named(arguments)
    return f"{name.strip()} with Action Input: {json.dumps(arguments, ensure_ascii=False)}"
