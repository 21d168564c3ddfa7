"""AMemGym's users behind tools: an ``environment_factory`` for TRL's own GRPOTrainer. Needs neither TRL nor torch.

    users = memory_tools(GeneratorConfig(num_users=8))
    GRPOTrainer(..., environment_factory=users, train_dataset=Dataset.from_list(tasks(users)))

What this measures: TRL's conversations only grow, so whatever the user said is still in the model's context when the question
comes. A model can answer without a single note; notes are a help against distance, not the only way to remember. It trains
tool use and reading over a long context, not forgetting: for that, play ``AMemGymEnv`` with an agent whose context is cut.
"""

import json
from collections.abc import Callable
from functools import cache, wraps
from inspect import signature
from typing import Any, ClassVar

from amemgym_envs.amemgym.consistency import check_all
from amemgym_envs.amemgym.environment import DEMO, AMemGymEnv
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.scenario import Scenario, ScenarioError

MAX_CHARS = 120  # of a note's label and of its value; the AWI agent's default
INSTRUCTION = """You are the assistant of one user for a long time. The user tells you about their life, and things change. \
Call write and delete to keep notes of what is true now, next_message to hear more, and answer when you are asked a question. \
Every reply of yours is a tool call until you are told that the conversation is over.

"""


def _tool(method: Callable[..., str]) -> Callable[..., str]:
    """A call whose arguments are missing, unknown or too many is answered in words, as any other bad argument is."""

    @wraps(method)
    def call(self: "MemoryTools", *args: Any, **kwargs: Any) -> str:
        try:
            signature(method).bind(self, *args, **kwargs)
        except TypeError as error:
            return self._refuse(f"{error}; {method.__name__} takes {list(signature(method).parameters)[1:]}.")
        return method(self, *args, **kwargs)

    return call


class MemoryTools:
    """One episode after another: the sessions of a period, then its questions, period by period. Probes are not asked.

    Every public method but ``reset`` and ``get_reward`` is a tool of the model. Bad arguments raise nothing: the tool says what
    it expected, nothing else happens, and ``refused`` counts it. No tool tells whether an answer was right. For reward functions
    of your own, which TRL hands the instances as ``environments``: ``notes`` {label: value}, ``refused``, ``answered``.

    Bind users by ``memory_tools``; the bare class has those of the demo. Class attributes: ``instruction`` opens the first
    observation; ``at_start`` messages of the user follow it (0: every message comes by ``next_message``, so all prompts are
    alike); ``at_once`` is the number of messages per ``next_message``.
    """

    instruction: ClassVar[str] = INSTRUCTION
    at_start: ClassVar[int] = 1
    at_once: ClassVar[int] = 1
    _scenarios: ClassVar[dict[str, Scenario]] = {}

    def __init__(self) -> None:
        self._resets = 0
        self._clear()

    def reset(self, task: str | None = None, seed: int | None = None, **row: Any) -> str:
        """The first observation of a new episode; further columns of the dataset row are ignored.

        ``task`` is a scenario id. Without it ``seed`` counts through the users, and without either this instance's resets do: all
        instances then meet the same user as long as all are reset equally often, which an evaluation in between may upset.
        ``seed`` (default 0) also fixes the small talk of sessions with several messages. ScenarioError for an unknown task.
        """
        self._clear()
        users = _users(type(self))
        if task is None:
            task = list(users)[(self._resets if seed is None else seed) % len(users)]
        if task not in users:
            raise ScenarioError(f"MemoryTools: task is {task!r}, expected one of {len(users)} such as {next(iter(users))!r}")
        self._resets += 1
        self._env = AMemGymEnv([users[task]], probes=False)
        self._text, self._info = self._env.reset(seed=seed or 0, options={"task": task})
        self._questions = len(users[task].periods) * len(users[task].questions)
        return self.instruction + self._hear(self.at_start)

    def get_reward(self) -> float | None:
        """The share of right answers among all questions of the episode, unanswered ones being wrong; None without an episode."""
        return self._right / self._questions if self._questions else None

    @property
    def notes(self) -> dict[str, str]:
        """{label: value}, the last written last."""
        return dict(self._notes)

    @_tool
    def next_message(self) -> str:
        """Hear what the user says next, or the question that is to be answered now."""
        return self._hear(self.at_once)

    @_tool
    def write(self, label: str, value: str) -> str:
        """Keep a note. A note that has this label is replaced.

        Args:
            label: What the note is about, at most 120 characters.
            value: What is true now, at most 120 characters.
        """
        label, value = _line(label), _line(value)
        if not label or not value:
            return self._refuse(f"label and value must be texts of 1 to {MAX_CHARS} characters; nothing was written.")
        replaced = self._notes.pop(label, None)
        self._notes[label] = value
        return "Written." if replaced is None else "Replaced."

    @_tool
    def delete(self, label: str) -> str:
        """Delete a note.

        Args:
            label: The label of the note.
        """
        if self._notes.pop(_line(label), None) is None:
            return self._refuse(f"There is no such note. {self._labels()}")
        return "Deleted."

    @_tool
    def read(self, label: str = "") -> str:
        """Read your notes.

        Args:
            label: The label of the note; all notes without it.
        """
        if label == "":
            return "\n".join(f"{name}: {value}" for name, value in self._notes.items()) or self._labels()
        if (value := self._notes.get(_line(label))) is None:
            return self._refuse(f"There is no such note. {self._labels()}")
        return value

    @_tool
    def answer(self, choice: int) -> str:
        """Answer the question that was asked, once, and go on.

        Args:
            choice: The number of the choice that is true for the user now.
        """
        if not self._asked:
            return self._refuse("No question is open. Call next_message.")
        choices = len(self._info["choices"])
        if isinstance(choice, bool) or not isinstance(choice, int) or not 1 <= choice <= choices:
            return self._refuse(f"choice must be a whole number from 1 to {choices}; the question is still open.")
        self._right += self._step(json.dumps({"answer": choice}))
        self.answered += 1
        return f"Your answer is noted.\n\n{self._hear(self.at_once)}"

    def _clear(self) -> None:
        """No episode: what the tools find before the first reset, and after one that failed."""
        self._notes: dict[str, str] = {}
        self._text, self._info = "", {"kind": "end"}  # what comes next, not yet told
        self._asked = False  # the question that comes next was told
        self._questions = self._right = self.answered = self.refused = 0

    def _hear(self, messages: int) -> str:
        """Up to so many messages; the question or the end when no message comes before it."""
        told = []
        while self._info["kind"] == "session" and len(told) < messages:
            told.append(f"The user says:\n{self._text}")
            self._step("")
        if told or self._info["kind"] == "session":
            return "\n\n".join(told)
        self._asked = self._info["kind"] == "question"
        if not self._asked:
            return "The conversation is over. Call no more tools."
        return f"Question {self.answered + 1} of {self._questions}, to be answered by its number:\n{self._text}"

    def _step(self, action: str) -> int:
        """1 for a right answer, else 0."""
        self._asked = False
        self._text, reward, _, _, self._info = self._env.step(action)
        return int(reward)

    def _labels(self) -> str:
        return f"There are notes on: {', '.join(self._notes)}." if self._notes else "There are no notes."

    def _refuse(self, reason: str) -> str:
        self.refused += 1
        return reason


def memory_tools(
    config: GeneratorConfig | None = None, scenarios: list[Scenario] | None = None, at_start: int = 1, at_once: int = 1
) -> type[MemoryTools]:
    """MemoryTools of the users that ``config`` generates, or of ``scenarios``; of the demo's without either.

    ScenarioError for both at once, for no users, for unsound ones, and for ``at_start`` < 0 or ``at_once`` < 1.
    """
    if config is not None and scenarios is not None:
        raise ScenarioError("memory_tools: got config and scenarios, expected one of them")
    if at_start < 0 or at_once < 1:
        raise ScenarioError(f"memory_tools: at_start is {at_start}, at_once {at_once}; expected at least 0 and at least 1")
    users = generate(config or DEMO) if scenarios is None else scenarios
    if not users:
        raise ScenarioError("memory_tools: got an empty list of scenarios, expected at least one")
    check_all(users)
    bound = {"_scenarios": {user.id: user for user in users}, "at_start": at_start, "at_once": at_once}
    return type("MemoryTools", (MemoryTools,), bound | {"__doc__": MemoryTools.__doc__, "__module__": __name__})


def tasks(environment: type[MemoryTools] = MemoryTools) -> list[dict[str, Any]]:
    """One dataset row per user: its ``task``, and an empty ``prompt`` to which TRL appends what ``reset`` returns."""
    return [{"prompt": [{"role": "user", "content": ""}], "task": name} for name in _users(environment)]


def _users(environment: type[MemoryTools]) -> dict[str, Scenario]:
    return environment._scenarios or _demo()


@cache
def _demo() -> dict[str, Scenario]:
    return {user.id: user for user in generate(DEMO)}


def _line(text: Any) -> str:
    """The text on one line, fit to be encoded (JSON may bring half characters); empty when it is no text, empty or too long."""
    line = " ".join(text.encode("utf-8", "replace").decode().split()) if isinstance(text, str) else ""
    return line if len(line) <= MAX_CHARS else ""
