"""One generated user, put together from its schema, life, questions and sessions.

Every draw comes from a stream named by (seed, user, purpose), so a user is the same whatever the number of users.

Each question's choices are, as far as ``num_choices`` allows, the full grid of the values that its states may take ("pools").
No choice then stands out by its make-up: whoever remembers no state guesses among all, whoever remembers one of two among half.
"""

from math import prod
from typing import Any

from amemgym_envs.amemgym.consistency import check
from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.generator.filling import fill
from amemgym_envs.amemgym.generator.life import Schema, State, changes, combinations_lived, draw_life, draw_pools, draw_required
from amemgym_envs.amemgym.generator.periods import build_periods, windows_of
from amemgym_envs.amemgym.generator.personas import persona
from amemgym_envs.amemgym.generator.questions import build_question
from amemgym_envs.amemgym.generator.telling import Teller
from amemgym_envs.amemgym.languages import Variable, phrased
from amemgym_envs.amemgym.records import Period, Question, Scenario


def generate(config: GeneratorConfig) -> list[Scenario]:
    """``config.num_users`` checked scenarios; ScenarioError when the settings leave no room for the changes asked for."""
    return [generate_user(config, config.user_offset + i) for i in range(config.num_users)]


def generate_user(config: GeneratorConfig, user: int) -> Scenario:
    """User number ``user``, whatever ``num_users`` and ``user_offset`` are."""
    variables, schema, required, pools = _drawn(config, user)
    states = draw_life(
        pools,
        required,
        choices=config.num_choices,
        periods=config.num_periods,
        changes=config.num_changes_per_period,
        max_changes=config.max_changes_per_state,
        rng=config.stream(user, "life"),
    )
    profile = persona(config, user)
    periods = _periods(config, user, states, Teller(config, user, variables, schema, profile["name"]))
    questions = _questions(config, user, required, variables, schema, pools, states)
    scenario = Scenario(profile["uuid"], config.start_date, profile, schema, periods, questions, {"generator": origin(config)})
    check(scenario)
    return scenario


def full_grid(config: GeneratorConfig, user: int) -> bool:
    """Whether the choices of each of the user's questions are all combinations of the values that its states may take."""
    _, _, required, pools = _drawn(config, user)
    return all(prod(len(pools[name]) for name in names) == config.num_choices for names in required)


def _drawn(config: GeneratorConfig, user: int) -> tuple[dict[str, Variable], Schema, list[list[str]], Schema]:
    """(variables by name, schema, what each question requires, the values that may occur in this life)."""
    rng = config.stream(user, "schema")
    variables = {v.name: v for v in rng.sample(config.variables(), config.num_variables)}
    schema = {name: rng.sample(v.values, config.num_choices_per_state) for name, v in variables.items()}
    required = draw_required(list(schema), config.num_questions, config.num_states_per_question, rng)
    return variables, schema, required, draw_pools(schema, required, config.num_choices, rng)


def origin(config: GeneratorConfig) -> dict[str, Any]:
    """What a reader of the file needs to play and to validate it."""
    return {
        "writer": "templates",
        "language": config.language,
        "split": config.split,
        "disjoint": config.disjoint,
        "rounds_init": config.rounds_init,
        "rounds_update": config.rounds_update,
        "reply_tokens": config.reply_tokens,
    }


def _questions(
    config: GeneratorConfig,
    user: int,
    required: list[list[str]],
    variables: dict[str, Variable],
    schema: dict[str, list[str]],
    pools: dict[str, list[str]],
    states: list[State],
) -> list[Question]:
    rng = config.stream(user, "questions")
    return [
        build_question(
            [variables[n] for n in names],
            [pools[n] for n in names],
            [[value for value in variables[n].values if value in schema[n]] for n in names],
            combinations_lived(states, names),
            config.num_choices,
            phrased(config.words.questions, config.phrasings),
            config.words,
            rng,
        )
        for names in required
    ]


def _periods(config: GeneratorConfig, user: int, states: list[State], teller: Teller) -> list[Period]:
    windows, events = windows_of(config), config.stream(user, "summaries")
    told = [teller.tell(p, states, *window) for p, window in enumerate(windows)]
    sessions = [own + others for own, others in zip(told, fill(config, user, told, windows), strict=True)]
    summaries = [teller.summary(list(changes(states, p)), events) if p else None for p in range(len(states))]
    return build_periods(states, windows, sessions, summaries)
