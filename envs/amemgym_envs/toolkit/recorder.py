"""Calls made to find an answer, kept as the gold sequence of the task that asks for it."""

from collections.abc import Mapping
from typing import Any

from amemgym_envs.toolkit.calls import Call
from amemgym_envs.toolkit.tools import Tool


class Recorder:
    """Makes calls of ``tools`` in ``session`` and keeps them in ``calls``."""

    def __init__(self, tools: Mapping[str, Tool], session: Any) -> None:
        self.tools = tools
        self.session = session
        self.calls: list[Call] = []

    def use(self, tool: str, /, **arguments: Any) -> Any:
        """The result of ``tool``. ToolError: it cannot be called so."""
        called = self.tools[tool]
        called.check(arguments)
        self.calls.append(Call(tool, arguments))
        return called.method(self.session, **arguments)
