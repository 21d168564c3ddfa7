"""AMemGym as an environment: per period its sessions, then every question, then every probe.

Protocol: AMemGym, arXiv 2603.01966. ``info`` says what the observation is; ``info["scored"]`` says how the action just taken
was judged.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from amemgym_envs.amemgym.consistency import check_all
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.languages import wording
from amemgym_envs.amemgym.records import Question, Scenario
from amemgym_envs.amemgym.replies import parse_answer, parse_probe
from amemgym_envs.amemgym.simulator import ScriptedUser, User
from amemgym_envs.core import EnvCard, TextEnv

# A small set for a first look; recipes generate or load their own.
DEMO = GeneratorConfig(num_users=4, num_variables=6, num_periods=2, num_questions=4, num_changes_per_period=2)


@dataclass(frozen=True)
class Step:
    """One exchange of an episode. ``index`` is the session or question, ``round`` counts within a session (0 elsewhere)."""

    kind: str
    period: int
    index: int
    round: int = 0
    rounds: int = 1


def question_text(question: Question) -> str:
    """The question as the agent sees it: the query, an empty line, and the choices numbered from 1."""
    numbered = [f"{i}. {choice.answer}" for i, choice in enumerate(question.answer_choices, 1)]
    return "\n".join([question.query, "", *numbered])


def timeline(scenario: Scenario, user: User, rounds_init: int, rounds_update: int, probes: bool) -> list[Step]:
    """All steps of an episode, in order."""
    steps = []
    for p, period in enumerate(scenario.periods):
        for s, session in enumerate(period.sessions):
            rounds = user.rounds(p, s) or (rounds_update if p else rounds_init) + len(session.off_topic)
            steps += [Step("session", p, s, r, rounds) for r in range(rounds)]
        steps += [Step("question", p, q) for q in range(len(scenario.questions))]
        steps += [Step("probe", p, q) for q in range(len(scenario.questions)) if probes]
    return steps


class AMemGymEnv(TextEnv):
    """Long conversations whose facts change, and questions that depend on them. A task is a scenario id.

    ``rounds_init`` and ``rounds_update``: user messages per session in the initial and in later periods, the opening included;
    None: as the scenario was made for, or 1. A session's own off-topic messages come on top.
    ``probes``: after a period's questions, ask for the states behind each of them, which diagnosis needs. Reward: 1 for a right
    answer to a question, else 0. ``scenario`` is the one being played. ``user``: (scenario, seed) -> who talks.

    Options of ``reset`` beside ``task``: ``period``, the one to begin with (0), and ``right``, of each question before it whether
    it was answered right. ValueError for impossible arguments.
    """

    card: ClassVar[EnvCard] = EnvCard(
        id="AMemGym-v0",
        summary="Remember what a user said, and that it changed, over months of conversation.",
        tasks="one per scenario: generated, or loaded from a data.json of the public layout",
        splits={"train": None, "validation": None, "test": None},
        score=(0.0, 1.0),
        success="every question of every period answered right",
        step_cap=None,
        grammar='session: any text; question: {"answer": <1-based int>}; probe: {"<info type>": "<value>", ...}',
        requires=("yaml",),
    )

    def __init__(
        self,
        scenarios: list[Scenario] | None = None,
        rounds_init: int | None = None,
        rounds_update: int | None = None,
        probes: bool = True,
        user: Callable[[Scenario, int], User] = ScriptedUser,
    ) -> None:
        super().__init__()
        if scenarios is not None and not scenarios:
            raise ValueError("AMemGymEnv: got an empty list of scenarios, expected at least one (or None for the demo set)")
        for name, value in (("rounds_init", rounds_init), ("rounds_update", rounds_update)):
            if value is not None and value < 1:
                raise ValueError(f"AMemGymEnv: {name} is {value}, expected at least 1 (the opening is a round)")
        scenarios = generate(DEMO) if scenarios is None else scenarios
        check_all(scenarios)
        self.rounds_init, self.rounds_update, self.probes = rounds_init, rounds_update, probes
        self._new_user = user
        self.user: User | None = None  # before the first reset
        self._scenarios = {scenario.id: scenario for scenario in scenarios}
        self._steps: list[Step] = []
        self._at = 0
        self._right: list[bool] = []
        self._talk: list[dict[str, str]] = []  # of the session that is going on

    @property
    def tasks(self) -> list[str]:
        return list(self._scenarios)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.scenario = self._scenarios[self.choose_task(options)]
        self.user = self._new_user(self.scenario, int(self.np_random.integers(2**31)) if seed is None else seed)
        self.blocking = self.user.blocking
        rounds = self._rounds("rounds_init"), self._rounds("rounds_update")
        self._steps = timeline(self.scenario, self.user, *rounds, self.probes)
        self._start(options or {})
        return self._observation(self._at), self._info(self._at, scored=None)

    def _start(self, options: dict[str, Any]) -> None:
        period, right = options.get("period", 0), list(options.get("right", ()))
        if period not in range(len(self.scenario.periods)) or len(right) != period * len(self.scenario.questions):
            raise ValueError(
                f"AMemGym-v0: task {self.scenario.id} from period {period} on with {len(right)} questions answered; expected a "
                f"period below {len(self.scenario.periods)} and {len(self.scenario.questions)} answers for each one before it"
            )
        self._at = next(i for i, step in enumerate(self._steps) if step.period == period)
        self._right = right

    def inquiries(self) -> list[tuple[str, dict[str, Any]]]:
        """Observation and info of the questions and probes from here to the period's end: no action at one changes another."""
        end = self._at
        while end < len(self._steps) and self._steps[end].kind != "session":
            if self._steps[end].period != self._steps[self._at].period:
                break
            end += 1
        return [(self._observation(at), self._info(at, scored=None)) for at in range(self._at, end)]

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self._at >= len(self._steps):
            raise RuntimeError("AMemGym-v0: step without a running episode; call reset first")
        step = self._steps[self._at]
        scored = self._score(step, action)
        right = scored is not None and scored["kind"] == "answer" and scored["response"] == scored["golden"]
        if step.kind == "session":
            self._talk.append({"role": "assistant", "content": action})
        self._at += 1
        return self._observation(self._at), float(right), self._at == len(self._steps), False, self._info(self._at, scored)

    def close(self) -> None:
        """A step that waits for the user in another thread ends with CancelledError."""
        if self.user is not None:
            self.user.close()

    def _rounds(self, name: str) -> int:
        return getattr(self, name) or self.scenario.origin.get(name) or 1

    def _score(self, step: Step, action: str) -> dict[str, Any] | None:
        if step.kind == "question":
            golden = self.scenario.golden(step.period, step.index)
            choices = len(self.scenario.questions[step.index].answer_choices)
            response = parse_answer(action, choices)
            self._right.append(response == golden)
            cell = {"kind": "answer", "period": step.period, "question": step.index}
            agrees = self.scenario.agreement(step.period, step.index, response)
            return {**cell, "choices": choices, "golden": golden, "response": response, "agrees": agrees}
        if step.kind == "probe":
            expected = self.scenario.required_state(step.period, step.index)
            return {
                "kind": "probe",
                "period": step.period,
                "question": step.index,
                "expected": expected,
                "response": parse_probe(action, self._schema(step.index)),
                "write_period": {name: self.scenario.write_period(step.period, name) for name in expected},
            }
        return None

    def _schema(self, question: int) -> dict[str, list[str]]:
        return {name: list(self.scenario.state_schema[name]) for name in self.scenario.questions[question].required_info}

    def _observation(self, at: int) -> str:
        if at == len(self._steps):
            return ""
        step = self._steps[at]
        if step.kind == "question":
            return question_text(self.scenario.questions[step.index])
        if step.kind == "probe":
            return json.dumps(self._schema(step.index), ensure_ascii=False)
        if step.round == 0:
            self._talk, said = [], self.user.opening(step.period, step.index)
        else:
            said = self.user.follow_up(step.period, step.index, step.round, list(self._talk))
        self._talk.append({"role": "user", "content": said})
        return said

    def _info(self, at: int, scored: dict[str, Any] | None) -> dict[str, Any]:
        ended = at == len(self._steps)
        step = Step("end", self._steps[-1].period, 0) if ended else self._steps[at]
        info: dict[str, Any] = {
            "kind": step.kind,
            "ephemeral": step.kind in ("question", "probe"),
            "period": step.period,
            "period_end": not ended and (at + 1 == len(self._steps) or self._steps[at + 1].period != step.period),
            "instruction": wording(self.scenario.language).instructions[step.kind],
            "scored": scored,
            "score": sum(self._right) / len(self._right) if self._right else 0.0,
            "success": all(self._right) if ended else None,
        }
        return info | getattr(self, f"_{step.kind}_info")(step)

    def _session_info(self, step: Step) -> dict[str, Any]:
        session = self.scenario.periods[step.period].sessions[step.index]
        heard = self.user.reply(step.period, step.index, step.round)
        return {
            "session": step.index,
            "round": step.round,
            "rounds": step.rounds,
            "exposed": dict(session.exposed_states) if step.round == 0 else {},
            "info_types": list(self.scenario.state_schema),
            "time": session.session_time,
        } | ({} if heard is None else {"reply": heard})

    def _question_info(self, step: Step) -> dict[str, Any]:
        question = self.scenario.questions[step.index]
        return {
            "question": step.index,
            "query": question.query,
            "choices": [choice.answer for choice in question.answer_choices],
            "required": list(question.required_info),
        }

    def _probe_info(self, step: Step) -> dict[str, Any]:
        return {"question": step.index, "schema": self._schema(step.index)}

    def _end_info(self, step: Step) -> dict[str, Any]:
        return {}
