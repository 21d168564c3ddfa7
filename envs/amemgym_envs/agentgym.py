"""How AgentGym's servers speak: fields, paths and task numbers of each environment, for our server and for our client.

Dialect A calls an instance ``env_idx``, answers ``create`` by a bare number and mistakes by status 500. Dialect B calls it
``id``, answers by objects, and mistakes by status 200 with {"error": ...}.
"""

from dataclasses import dataclass, field
from typing import Any

PAIR = ("observation, null",)  # an answer that is a list of two
TEXT = ("observation as it is",)  # an answer that is a string
A_STEP = ("observation", "reward", "done")
B_STEP = ("observation", "reward", "score", "done")


@dataclass(frozen=True)
class Wire:
    """``reset``, ``step``, ``look``: the keys of these answers, or PAIR or TEXT. ``create``: its keys; empty: a bare number."""

    task: str  # reset's field for the number of the task
    numbers: int | None  # of tasks; None: any from 0 on
    rounds: int  # that AgentGym's scripts play at most
    dialect: str
    greeting: str = "ok"
    prefix: str = ""  # of all paths
    create: tuple[str, ...] = ()
    sends: dict[str, Any] | None = None  # the body of create
    reset: tuple[str, ...] = TEXT
    also: dict[str, Any] = field(default_factory=dict)  # what reset takes beside the number
    step: tuple[str, ...] = A_STEP
    look: tuple[str, ...] = TEXT
    headed: bool = False  # GET /observation repeats the first line of the first observation, the goal
    closes: bool = False
    cap: int = 1_000_000  # steps after which the server itself ends an episode
    best: bool = False  # the reward of a step is the best so far
    form: str = "{}"  # what an action is put into
    score: tuple[float, float] = (0.0, 1.0)  # lowest and highest
    success: float = 1.0  # the least score that is one

    @property
    def handle(self) -> str:
        return "env_idx" if self.dialect == "A" else "id"


def _tool(numbers: int, rounds: int) -> Wire:
    return Wire("id", numbers, rounds, "A", sends={"id": 0}, best=True, form="Action: {}")


WIRES = {
    "TextCraft-v0": Wire(
        *("data_idx", 544, 20, "B", "This is environment TextCraft."),
        create=("id", "observation", "done", "reward"),
        sends={},
        reset=("id", "observation", "done", "reward"),
        closes=True,
    ),
    "BabyAI-v0": Wire(
        *("data_idx", None, 20, "B", "This is environment BabyAI."),
        create=("id",),
        reset=("observation", "reward", "score", "deleted", "done"),
        step=B_STEP,
        look=("observation", "reward", "score", "done", "deleted"),
        headed=True,
        closes=True,
        success=0.5,  # such a score ends the episode; minigrid's is never 1
    ),
    "Maze-v0": Wire("game", 25, 15, "B", prefix="/maze", create=("id",), reset=("observation",), cap=50, score=(-1.0, 1.0)),
    "Wordle-v0": Wire("seed", None, 8, "B", prefix="/wordle", create=("id",), reset=("id", "observation")),
    "Weather-v0": _tool(343, 10),
    "Movie-v0": _tool(238, 12),
    "Academia-v0": _tool(20, 12),
    "Sheet-v0": _tool(20, 15),
    "Todo-v0": _tool(155, 15),
    "BIRD-v0": Wire("item_id", 10_962, 1, "A", reset=PAIR, step=("state", "reward", "done", "info")),
    "SearchQA-v0": Wire("id", 221_328, 10, "A", sends={"id": 0}, step=(*A_STEP, "info"), closes=True),
    # not of this package: for the client alone
    "WebShop-v0": Wire("session_id", 6910, 10, "A", reset=PAIR, step=("state", "reward", "done", "info")),
    "WebArena-v0": Wire(
        *("idx", 812, 25, "A"),
        create=("env_idx",),
        reset=("observation", "sites", "object"),
        also={"seed": 0},
        step=("observation", "reward", "terminated", "truncated", "info"),
        closes=True,
        form="```{}```",
    ),
    "ALFWorld-v0": Wire(
        *("game", 2620, 30, "B"),
        create=("id",),
        reset=("id", "observation", "available_actions", "task_type"),
        also={"world_type": "Text"},
        step=("observation", "reward", "available_actions", "done"),
    ),
    "SciWorld-v0": Wire(
        *("data_idx", 4639, 30, "B"),
        create=("id",),
        reset=("task_name", "var_num", "task_description", "observation", "reward", "score", "deleted", "done"),
        step=B_STEP,
        closes=True,
        cap=100,
        score=(-100.0, 100.0),
        success=100.0,
    ),
}
