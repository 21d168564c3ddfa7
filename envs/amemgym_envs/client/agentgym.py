"""An environment of AgentGym's own servers, in either of their dialects."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from amemgym_envs.agentgym import WIRES
from amemgym_envs.client.connection import Connection
from amemgym_envs.client.errors import ServerError
from amemgym_envs.core import EnvCard, TextEnv

SOME = 1000  # tasks that are listed of an environment which has one for every number


class AgentGymEnv(TextEnv):
    """``environment``, by our name for it (amemgym_envs.agentgym.WIRES), of AgentGym's server at ``url``.

    A task is AgentGym's number as text. ``tasks``: those to draw from and to list (default: all there are). ``max_steps``: None
    for the rounds of AgentGym's scripts. ``prefix``: of the paths, where it is not AgentGym's. ``instruction``: None for ours of
    the same environment; Wordle's vocabulary, which its server keeps to itself, has to be told here.

    What AgentGym's controller takes as an episode's reward, the last step's, is the score; ``reward`` is what a step added to it.
    A server that is gone, and an answer that is an error, whatever its status, are OSErrors. Steps are never sent twice.
    """

    blocking = True

    def __init__(
        self,
        url: str,
        environment: str,
        tasks: Sequence[int] | None = None,
        max_steps: int | None = None,
        instruction: str | None = None,
        prefix: str | None = None,
        timeout: float = 300.0,
        tries: int = 5,
        wait: float = 0.1,
    ) -> None:
        super().__init__()
        self.name = _named(environment)
        self.wire = WIRES[self.name]
        if max_steps is not None and max_steps < 1:
            raise ValueError(f"{self.name}: max_steps is {max_steps}, expected at least 1")
        self.max_steps = max_steps or self.wire.rounds
        self.prefix = self.wire.prefix if prefix is None else prefix
        self._numbers = range(self.wire.numbers or SOME) if tasks is None else tasks
        self._connection = Connection(url, None, timeout, tries, wait)
        self._told = instruction
        self._handle: int | None = None
        self._running, self._score, self.steps = False, 0.0, 0

    @cached_property
    def card(self) -> EnvCard:  # type: ignore[override]
        return EnvCard(
            id=self.name,
            summary=f"{self.name.partition('-')[0]} on a server of AgentGym's.",
            tasks="numbers, as AgentGym has them",
            splits={"all": len(self.tasks)},
            score=self.wire.score,
            success=f"the episode ends with a score of {self.wire.success:g} or more",
            step_cap=self.wire.rounds,
            grammar="as the instruction says",
        )

    @cached_property
    def instruction(self) -> str:
        if self._told is not None:
            return self._told
        from amemgym_envs.client.instructions import INSTRUCTIONS
        from amemgym_envs.registry import make

        return INSTRUCTIONS.get(self.name) or make(self.name).instruction

    @cached_property
    def tasks(self) -> list[str]:
        return [str(number) for number in self._numbers]

    def choose_task(self, options: dict[str, Any] | None) -> str:
        task = (options or {}).get("task")
        if isinstance(task, str) and task.isascii() and task.isdecimal():
            if self.wire.numbers is None or int(task) < self.wire.numbers:
                return task
        return super().choose_task(options)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        task = self.choose_task(options)
        self._running, self._score, self.steps = False, 0.0, 0
        told = self._begun(int(task))
        self._running = True
        return self._opening(told), self._info(told, None)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if not self._running:
            raise RuntimeError(f"{self.name}: step without a running episode; call reset first")
        self._running = False  # unless an answer says more
        told = self._post("/step", {"action": self._written(action)}, repeat=False)
        if not isinstance(told, dict):
            raise self._strange("/step", told)
        observation = told.get("state", told.get("observation"))
        done, score = told.get("done", told.get("terminated")), told.get("score", told.get("reward"))
        if not isinstance(observation, str) or type(done) is not bool or type(score) not in (int, float):
            raise self._strange("/step", told)
        if "terminated" in told and not done:
            score = 0.0  # WebArena's counts only at the end
            done = bool(told.get("truncated"))
        self.steps += 1
        reward, self._score = score - self._score, float(score)
        truncated = not done and self.steps >= self.max_steps
        self._running = not (done or truncated)
        success = None if self._running else done and score >= self.wire.success
        return observation, float(reward), done, truncated, self._info(told, success)

    def close(self) -> None:
        """Give the instance back, where the server takes it and is still there."""
        try:
            if self._handle is not None and self.wire.closes:
                self._post("/close", {}, repeat=False)
        except OSError:
            pass
        finally:
            self._handle, self._running = None, False
            self._connection.close()

    def _begun(self, number: int) -> Any:
        """What reset answers. An instance that the server has forgotten since the last episode is replaced."""
        body = {self.wire.task: number, **self.wire.also}
        if self._handle is not None:
            try:
                return self._post("/reset", body)
            except ServerError:
                self._handle = None
        told = self._checked("/create", *self._connection.ask("POST", f"{self.prefix}/create", self.wire.sends or {}))
        handle = told.get(self.wire.handle) if isinstance(told, dict) else told
        if type(handle) is not int:
            raise self._strange("/create", told)
        self._handle = handle
        return self._post("/reset", body)

    def _opening(self, told: Any) -> str:
        """The first observation, as AgentGym's clients show it."""
        if self.name == "WebShop-v0":
            path = f"{self.prefix}/observation?{self.wire.handle}={self._handle}"
            told = self._checked("/observation", *self._connection.ask("GET", path))
        if isinstance(told, list) and told:
            told = told[0]
        if isinstance(told, str):
            return told
        if not isinstance(told, dict) or not isinstance(told.get("observation"), str):
            raise self._strange("/reset", told)
        if self.name == "WebArena-v0" and told["observation"] == "TimeoutError":
            raise ServerError(f"{self._connection.url}: /reset of {self.name} took the server too long")
        goal, actions = told.get("task_description"), told.get("available_actions")
        text = f"{goal}\n{told['observation']}" if goal else told["observation"]
        return f"{text}\nAVAILABLE ACTIONS: {','.join(map(str, actions))}" if actions else text

    def _written(self, action: str) -> str:
        """As the server reads it: tools' arguments by ``eval``, web actions in backticks."""
        if self.wire.best:
            from amemgym_envs.toolkit.calls import parse

            try:
                call = parse(action)
            except ValueError:
                return action
            return f"Action: {call.tool} with Action Input: {call.arguments!r}"
        return action if "```" in action else self.wire.form.format(action)

    def _post(self, path: str, body: dict[str, Any], repeat: bool = True) -> Any:
        body = {self.wire.handle: self._handle, **body}
        return self._checked(path, *self._connection.ask("POST", self.prefix + path, body, repeat))

    def _checked(self, path: str, status: int, told: Any) -> Any:
        if status != 200 or (isinstance(told, dict) and "error" in told):
            said = told["error"] if isinstance(told, dict) and "error" in told else told
            raise ServerError(f"{self._connection.url}{self.prefix}{path}: status {status}, {str(said)[:300]}")
        return told

    def _strange(self, path: str, told: Any) -> ServerError:
        url = f"{self._connection.url}{self.prefix}{path}"
        return ServerError(f"{url}: got {repr(told)[:300]}, expected what AgentGym's server of {self.name} answers")

    def _info(self, told: Any, success: bool | None) -> dict[str, Any]:
        info = {
            **{"kind": "act", "instruction": self.instruction, "ephemeral": False, "score": self._score, "success": success},
            **{"steps": self.steps, "max_steps": self.max_steps},
        }
        actions = told.get("available_actions") if isinstance(told, dict) else None
        return info | {"available_actions": actions} if isinstance(actions, list) else info


def _named(environment: str) -> str:
    for name in WIRES:
        if environment.casefold() in (name.casefold(), name.partition("-")[0].casefold()):
            return name
    raise ValueError(f"AgentGym has no environment {environment!r}; it has {', '.join(name.partition('-')[0] for name in WIRES)}")
