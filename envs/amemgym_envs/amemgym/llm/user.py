"""One user from questions to a checked scenario. The model writes texts only: what happens in the life is drawn from the seed."""

import json
from dataclasses import dataclass
from hashlib import blake2s
from math import prod
from typing import Any

from amemgym_envs.amemgym.consistency import check
from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.generator.dates import session_times
from amemgym_envs.amemgym.generator.filling import fill
from amemgym_envs.amemgym.generator.life import State, combinations_lived, draw_life, draw_pools
from amemgym_envs.amemgym.generator.periods import build_periods, windows_of
from amemgym_envs.amemgym.generator.user import origin
from amemgym_envs.amemgym.llm.answers import Combination, write_answers
from amemgym_envs.amemgym.llm.caller import Caller, GaveUp, attempted, together
from amemgym_envs.amemgym.llm.events import Story, write_story
from amemgym_envs.amemgym.llm.queries import write_sessions
from amemgym_envs.amemgym.llm.schema import Asked, QuestionBank, Schema
from amemgym_envs.amemgym.records import Choice, Period, Question, Scenario, Session

_IN_ID = (  # the settings that this writer reads
    *("seed", "split", "disjoint", "num_periods", "num_questions", "num_states_per_question", "num_choices_per_state"),
    *("num_choices", "num_changes_per_period", "max_changes_per_state", "states_per_session", "changes_per_session"),
    *("start_date", "num_months_per_period", "language", "target_tokens", "reply_tokens", "rounds_init", "rounds_update"),
)


def user_id(config: GeneratorConfig, model: str, persona: dict[str, Any], user: int) -> str:
    """32 hex digits of all that the user depends on, so that a finished user is never taken for one of other settings."""
    settings = [getattr(config, name) for name in _IN_ID]
    return blake2s(json.dumps(["llm", settings, model, persona, user], sort_keys=True).encode(), digest_size=16).hexdigest()


@dataclass
class UserWriter:
    """The pipeline of one user."""

    caller: Caller
    config: GeneratorConfig
    user: int
    persona: dict[str, Any]
    max_resamples: int

    async def scenario(self) -> Scenario:
        """GaveUp when the model cannot do it or the settings leave no room."""
        bank = QuestionBank(self.caller, self.config, self.max_resamples)
        while True:
            questions = await bank.take()
            schema = {name: bank.schema[name] for question in questions for name in question.required}
            pools = self._pools(questions, schema)
            answers = await self._answers(bank, questions, pools)
            if answers is None:
                continue
            states = self._life(questions, pools)
            stories = await together(self._story(states, p) for p in range(len(states)))
            sessions = await self._sessions(bank, questions, stories, schema)
            if sessions is not None:
                return self._assembled(questions, schema, answers, states, stories, sessions)

    def _pools(self, questions: list[Asked], schema: Schema) -> Schema:
        """The sizes are drawn for all types together, the values for each by itself, so that those of the others survive a
        question's replacement, and with them the answers that were written for them."""
        required = [list(question.required) for question in questions]
        drawn = draw_pools(schema, required, self.config.num_choices, self.config.stream(self.user, "pools"))
        streams = {name: self.config.stream(self.user, f"values/{name}") for name in schema}
        return {name: streams[name].sample(values, len(values))[: len(drawn[name])] for name, values in schema.items()}

    async def _answers(self, bank: QuestionBank, questions: list[Asked], pools: Schema) -> list[dict[Combination, str]] | None:
        """None when questions had to be dropped."""
        outcomes = await together(attempted(write_answers(self.caller, question, pools)) for question in questions)
        failed = {q: outcome for q, outcome in zip(questions, outcomes, strict=True) if isinstance(outcome, GaveUp)}
        if failed:
            first = next(iter(failed))
            bank.drop(list(failed), "answers", f"no answers for the question {first.query!r}: {failed[first].reason}")
            return None
        return [outcome for outcome in outcomes if isinstance(outcome, dict)]

    def _life(self, questions: list[Asked], pools: Schema) -> list[State]:
        required = [list(question.required) for question in questions]
        grid = max(prod(len(pools[name]) for name in names) for names in required)
        try:
            return draw_life(
                pools,
                required,
                choices=grid,  # every combination of the pools has its answer
                periods=self.config.num_periods,
                changes=min(self.config.num_changes_per_period, len(pools)),
                max_changes=self.config.max_changes_per_state,
                rng=self.config.stream(self.user, "life"),
            )
        except ScenarioError as error:
            raise GaveUp("life", str(error)) from error

    async def _story(self, states: list[State], period: int) -> Story:
        most = self.config.changes_per_session if period else self.config.states_per_session
        return await write_story(self.caller, states, period, windows_of(self.config)[period], most)

    async def _sessions(
        self, bank: QuestionBank, questions: list[Asked], stories: list[Story], schema: Schema
    ) -> list[list[Session]] | None:
        """Per period; None when questions had to be dropped because a state could not be told."""
        events = [(p, event) for p, story in enumerate(stories) for event in story.events]
        outcomes = await together(write_sessions(self.caller, event, schema) for _, event in events)
        untold = {name: reason for outcome in outcomes if isinstance(outcome, dict) for name, reason in outcome.items()}
        if untold:
            name, reason = next(iter(untold.items()))
            affected = [question for question in questions if set(question.required) & set(untold)]
            bank.drop(affected, "queries", f"no query that tells {name}: {reason}")
            return None
        sessions: list[list[Session]] = [[] for _ in stories]
        for (p, _), outcome in zip(events, outcomes, strict=True):
            sessions[p] += outcome
        return sessions

    def _assembled(
        self,
        questions: list[Asked],
        schema: Schema,
        answers: list[dict[Combination, str]],
        states: list[State],
        stories: list[Story],
        sessions: list[list[Session]],
    ) -> Scenario:
        scenario = Scenario(
            user_id(self.config, self.caller.endpoint.model, self.persona, self.user),
            self.config.start_date,
            self.persona,
            schema,
            self._periods(states, stories, sessions, schema),
            self._questions(questions, answers, states),
            {"generator": self._origin()},
        )
        try:
            check(scenario)
        except ScenarioError as error:
            raise GaveUp("check", str(error)) from error
        return scenario

    def _origin(self) -> dict[str, Any]:
        """A model's variables are its own and no split's: only personas can be kept apart."""
        about = origin(self.config) | {"writer": "llm", "model": self.caller.endpoint.model}
        return {key: value for key, value in about.items() if (key, value) != ("disjoint", "variables")}

    def _questions(self, questions: list[Asked], answers: list[dict[Combination, str]], states: list[State]) -> list[Question]:
        rng = self.config.stream(self.user, "questions")
        finished = []
        for question, texts in zip(questions, answers, strict=True):
            lived = combinations_lived(states, list(question.required))
            choices = [Choice(list(c), text, "experience" if c in lived else "random") for c, text in texts.items()]
            rng.shuffle(choices)
            finished.append(Question(question.query, list(question.required), choices))
        return finished

    def _periods(self, states: list[State], stories: list[Story], sessions: list[list[Session]], schema: Schema) -> list[Period]:
        rng, windows = self.config.stream(self.user, "sessions"), windows_of(self.config)
        for (begin, end), own in zip(windows, sessions, strict=True):
            for session, time in zip(own, session_times(begin, end, len(own), rng), strict=True):
                session.session_time = time
        filling = fill(self.config, self.user, sessions, windows, avoid=[word for values in schema.values() for word in values])
        told = [own + others for own, others in zip(sessions, filling, strict=True)]
        return build_periods(states, windows, told, [story.summary for story in stories])
