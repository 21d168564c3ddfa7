"""Structured users without an LLM: a schema, a life of changes, sessions that tell it, and questions that depend on it.

Every draw comes from a stream named by (seed, user, purpose), so a user is the same whatever the number of users.

Each question's choices are, as far as ``num_choices`` allows, the full grid of the values that its states may take ("pools").
No choice then stands out by its make-up: whoever remembers no state guesses among all, whoever remembers one of two among half.
"""

from dataclasses import asdict, dataclass
from datetime import date
from hashlib import blake2s
from random import Random
from typing import NoReturn

from amemgym_envs.amemgym.consistency import check
from amemgym_envs.amemgym.dates import session_times, window
from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.life import State, combinations_lived, draw_life, draw_pools, draw_required
from amemgym_envs.amemgym.personas import persona
from amemgym_envs.amemgym.questions import build_question
from amemgym_envs.amemgym.records import Period, Scenario
from amemgym_envs.amemgym.telling import tell
from amemgym_envs.amemgym.templates import PHRASINGS, Variable, phrased, wording

_LEAST = {
    "num_users": 1,
    "num_variables": 1,
    "num_periods": 0,
    "num_questions": 1,
    "num_states_per_question": 1,
    "num_changes_per_period": 1,
    "max_changes_per_state": 1,
    "num_choices": 2,
    "states_per_session": 1,
    "changes_per_session": 1,
    "num_months_per_period": 1,
    "user_offset": 0,
    "pool": 0,
}


@dataclass(frozen=True)
class GeneratorConfig:
    """What to generate; ScenarioError for a combination that cannot hold.

    ``num_periods`` counts the periods after the initial one. ``split`` says which variables a user may have, ``phrasings`` which
    wordings; ``pool`` keeps only so many of the split's variables, from as many domains as there are (0: all of them).
    ``states_per_session`` facts are told per session at first, ``changes_per_session`` later. ``user_offset`` is the
    number of the first user.
    """

    seed: int = 42
    num_users: int = 20
    split: str = "train"
    phrasings: str = "train"
    num_variables: int = 20
    num_periods: int = 10
    num_questions: int = 10
    num_states_per_question: int = 2
    num_changes_per_period: int = 4
    max_changes_per_state: int = 3
    num_choices: int = 4
    states_per_session: int = 2
    changes_per_session: int = 1
    start_date: str = "2020-10-01"
    num_months_per_period: int = 3
    user_offset: int = 0
    language: str = "en"
    pool: int = 0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                self.fail(name, f"at least {least}")
        if self.phrasings not in PHRASINGS:
            self.fail("phrasings", f"one of {', '.join(PHRASINGS)}")
        available = len(wording(self.language).split(self.split))
        if self.num_variables > available:
            self.fail("num_variables", f"at most {available}, the number of variables in split {self.split!r}")
        if self.pool and not self.num_variables <= self.pool <= available:
            self.fail("pool", f"0, or num_variables ({self.num_variables}) to {available}, the variables in split {self.split!r}")
        if self.num_states_per_question > self.num_variables:
            self.fail("num_states_per_question", f"at most num_variables ({self.num_variables})")
        slots = self.num_questions * self.num_states_per_question
        if slots < self.num_variables:
            self.fail("num_variables", f"at most num_questions * num_states_per_question ({slots}), so that each is asked")
        if self.num_changes_per_period > self.num_variables:
            self.fail("num_changes_per_period", f"at most num_variables ({self.num_variables})")
        if self.num_periods * self.num_changes_per_period > self.num_variables * self.max_changes_per_state:
            room = self.num_variables * self.max_changes_per_state
            most = f"at most {room // self.num_periods} in each of {self.num_periods} periods"
            self.fail("num_changes_per_period", f"{most}: num_variables * max_changes_per_state leave room for {room}")
        combinations = 4**self.num_states_per_question
        if self.num_choices > combinations:
            self.fail("num_choices", f"at most {combinations}, the combinations of {self.num_states_per_question} states")
        try:
            start = date.fromisoformat(self.start_date)
        except ValueError:
            self.fail("start_date", "a date like 2020-10-01")
        if start.year + (self.num_periods + 1) * self.num_months_per_period // 12 >= date.max.year:
            self.fail("num_months_per_period", f"a life that ends before the year {date.max.year}")

    def stream(self, user: int, purpose: str) -> Random:
        """The random stream of one purpose for one user; adding draws to one purpose leaves the others as they are."""
        return Random(f"{self.seed}/{user}/{purpose}")

    def variables(self) -> tuple[Variable, ...]:
        """The variables a user may have: the split's, or ``pool`` of them, dealt in turn from each domain."""
        everything = wording(self.language).split(self.split)
        if not self.pool:
            return everything
        domains = [v.domain for v in everything]
        turns = [domains[:i].count(domain) for i, domain in enumerate(domains)]  # how many of its domain stand before it
        return tuple(everything[i] for i in sorted(range(len(turns)), key=turns.__getitem__)[: self.pool])

    def user_id(self, user: int) -> str:
        """32 hex digits; users of different settings have different ids, the number of users is no such setting."""
        settings = {key: value for key, value in asdict(self).items() if key not in ("num_users", "user_offset")}
        if not self.pool:
            del settings["pool"]  # ids from before there was a pool stay as they are
        return blake2s(f"{settings}/{user}".encode(), digest_size=16).hexdigest()

    def fail(self, name: str, expected: str) -> NoReturn:
        raise ScenarioError(f"generator setting {name}: got {getattr(self, name)!r}, expected {expected}")


def generate(config: GeneratorConfig) -> list[Scenario]:
    """``config.num_users`` checked scenarios; ScenarioError when the settings leave no room for the changes asked for."""
    return [_user(config, config.user_offset + i) for i in range(config.num_users)]


def _user(config: GeneratorConfig, user: int) -> Scenario:
    words = wording(config.language)
    rng = config.stream(user, "schema")
    variables = {v.name: v for v in rng.sample(config.variables(), config.num_variables)}
    schema = {name: rng.sample(v.values, len(v.values)) for name, v in variables.items()}
    required = draw_required(list(schema), config.num_questions, config.num_states_per_question, rng)
    pools = draw_pools(schema, required, config.num_choices, rng)
    states = draw_life(
        pools,
        required,
        choices=config.num_choices,
        periods=config.num_periods,
        changes=config.num_changes_per_period,
        max_changes=config.max_changes_per_state,
        rng=config.stream(user, "life"),
    )
    rng = config.stream(user, "questions")
    questions = [
        build_question(
            [variables[n] for n in names],
            [pools[n] for n in names],
            combinations_lived(states, names),
            config.num_choices,
            phrased(words.questions, config.phrasings),
            rng,
        )
        for names in required
    ]
    user_id = config.user_id(user)
    profile = persona(user_id, words, config.stream(user, "persona"))
    scenario = Scenario(user_id, config.start_date, profile, schema, _periods(config, user, states, variables), questions)
    check(scenario)
    return scenario


def _periods(config: GeneratorConfig, user: int, states: list[State], variables: dict[str, Variable]) -> list[Period]:
    rng = config.stream(user, "sessions")
    counts = dict.fromkeys(variables, 0)
    periods: list[Period] = []
    for p, state in enumerate(states):
        before: dict[str, str | None] = {**states[p - 1]} if p else dict.fromkeys(state)
        changed = {name: value for name, value in state.items() if value != before[name]}
        for name in changed if p else ():
            counts[name] += 1
        begin, end = window(date.fromisoformat(config.start_date), config.num_months_per_period, p)
        sessions = tell(
            changed,
            variables,
            config.changes_per_session if p else config.states_per_session,
            first=p == 0,
            words=wording(config.language),
            phrasings=config.phrasings,
            rng=rng,
        )
        for session, time in zip(sessions, session_times(begin, end, len(sessions), rng), strict=True):
            session.session_time = time
        periods.append(
            Period(
                period_start=begin.isoformat() if begin else None,
                period_end=end.isoformat(),
                period_summary=f"What changed: {', '.join(changed)}." if p else None,
                sessions=sessions,
                state=dict(state),
                updates={name: {"old": before[name], "new": value} for name, value in changed.items()},
                update_cnts=dict(counts),
            )
        )
    return periods
