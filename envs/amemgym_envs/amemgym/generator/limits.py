"""Every reason to refuse a generator setting, each naming the setting, its value and what it could be."""

import math
from collections.abc import Mapping
from datetime import date
from statistics import fmean
from typing import TYPE_CHECKING

from amemgym_envs.amemgym.consistency import MOST
from amemgym_envs.amemgym.generator.dates import seconds, window
from amemgym_envs.amemgym.languages import DIRECTNESS, PHRASINGS, SPLITS, phrased

if TYPE_CHECKING:
    from amemgym_envs.amemgym.generator.config import GeneratorConfig

DISJOINT: tuple[str, ...] = ("variables", "personas")
_LEAST = {
    "num_users": 1,
    "num_variables": 1,
    "num_periods": 0,
    "num_questions": 1,
    "num_states_per_question": 1,
    "num_changes_per_period": 1,
    "max_changes_per_state": 1,
    "num_choices": 2,
    "num_choices_per_state": 2,
    "states_per_session": 1,
    "changes_per_session": 1,
    "num_months_per_period": 1,
    "user_offset": 0,
    "pool": 0,
    "rounds_init": 1,
    "rounds_update": 1,
    "noise_rounds": 0,
    "target_tokens": 0,
    "reply_tokens": 0,
}
_MOST = dict.fromkeys(("rounds_init", "rounds_update", "reply_tokens"), MOST)
_SPREAD = 10  # seconds of a period for each of its off-topic sessions, at least
_SHARES = ("distractor_values", "contradictions")


def check_limits(config: "GeneratorConfig") -> None:
    """ScenarioError unless users can be generated with ``config``."""
    _check_ranges(config)
    _check_difficulty(config)
    _check_wording(config)
    _check_room(config)
    _check_calendar(config)
    _check_target(config)


def _check_ranges(config: "GeneratorConfig") -> None:
    for name, least in _LEAST.items():
        if getattr(config, name) < least:
            config.fail(name, f"at least {least}")
    for name, most in _MOST.items():
        if getattr(config, name) > most:
            config.fail(name, f"at most {most}")
    for name in _SHARES:
        if not 0 <= getattr(config, name) <= 1:
            config.fail(name, "a share from 0 to 1")
    for name, known in (("phrasings", PHRASINGS), ("disjoint", DISJOINT), ("split", (*SPLITS, "all"))):
        if getattr(config, name) not in known:
            config.fail(name, f"one of {', '.join(known)}")


def _check_difficulty(config: "GeneratorConfig") -> None:
    given = config.difficulty
    known = f"one of {', '.join(DIRECTNESS)}, mixed, or weights of the first three, numbers of which none is negative, one not 0"
    if isinstance(given, str):
        if given not in (*DIRECTNESS, "mixed"):
            config.fail("difficulty", known)
    elif not isinstance(given, Mapping) or set(given) - set(DIRECTNESS) or not _are_weights(list(given.values())):
        config.fail("difficulty", known)


def _are_weights(values: list[float]) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and min(values, default=0) >= 0 and 0 < sum(values) < math.inf


def _check_wording(config: "GeneratorConfig") -> None:
    domains = list(dict.fromkeys(v.domain for v in config.words.variables))
    if set(config.domains) - set(domains):
        config.fail("domains", f"some of {', '.join(domains)}")
    variables = config.available()
    where = f"split {config.split!r}" if config.disjoint == "variables" else f"language {config.language!r}"
    if config.num_variables > len(variables):
        config.fail("num_variables", f"at most {len(variables)}, the number of variables in {where}")
    if config.pool and not config.num_variables <= config.pool <= len(variables):
        span = f"num_variables ({config.num_variables}) to {len(variables)}"
        config.fail("pool", f"0, or {span}, the variables in {where}")
    if config.num_choices_per_state > (most := min(len(v.values) for v in variables)):
        config.fail("num_choices_per_state", f"at most {most}, the values that each variable has")


def _check_room(config: "GeneratorConfig") -> None:
    states, variables = config.num_states_per_question, config.num_variables
    if states > variables:
        config.fail("num_states_per_question", f"at most num_variables ({variables})")
    if (slots := config.num_questions * states) < variables:
        config.fail("num_variables", f"at most num_questions * num_states_per_question ({slots}), so that each is asked")
    if config.num_changes_per_period > variables:
        config.fail("num_changes_per_period", f"at most num_variables ({variables})")
    if config.num_choices > (combinations := config.num_choices_per_state**states):
        config.fail("num_choices", f"at most {combinations}, the combinations of {states} states")


def _check_calendar(config: "GeneratorConfig") -> None:
    try:
        start = date.fromisoformat(config.start_date)
    except ValueError:
        start = date.min
    if start.isoformat() != config.start_date or start.year == date.min.year:  # 20201001 is ISO too; some sessions lie before it
        config.fail("start_date", "a date like 2020-10-01")
    if start.year + (config.num_periods + 1) * config.num_months_per_period // 12 >= date.max.year:
        config.fail("num_months_per_period", f"a life that ends before the year {date.max.year}")


def _check_target(config: "GeneratorConfig") -> None:
    """Off-topic sessions have seconds of their own; few enough are taken for a life to stay one."""
    if not config.target_tokens:
        return
    words, periods = config.words, config.num_periods + 1
    opening = fmean(map(words.tokens, phrased(words.off_topic, config.phrasings)))
    costs = [
        opening + (rounds - 1) * words.follow_up_tokens + rounds * config.reply_tokens
        for rounds in (config.rounds_init, config.rounds_update)
    ]
    cost = (costs[0] + config.num_periods * costs[1]) / periods  # sessions are dealt evenly over the periods
    start = date.fromisoformat(config.start_date)
    room = min(seconds(*window(start, config.num_months_per_period, p)) for p in range(periods)) // _SPREAD
    if config.target_tokens > (most := int(room * periods * cost)):
        config.fail(
            "target_tokens", f"at most {most:,}, for {room:,} off-topic sessions in a period; raise num_periods or rounds"
        )
