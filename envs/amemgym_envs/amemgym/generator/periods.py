"""The periods of a life, from its states and the sessions that tell them; whoever worded the sessions."""

from collections.abc import Sequence
from datetime import date

from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.generator.dates import window
from amemgym_envs.amemgym.generator.life import State, changes
from amemgym_envs.amemgym.records import Period, Session

Window = tuple[date | None, date]


def windows_of(config: GeneratorConfig) -> list[Window]:
    """(begin, end) of the initial period and of each later one."""
    start = date.fromisoformat(config.start_date)
    return [window(start, config.num_months_per_period, p) for p in range(config.num_periods + 1)]


def build_periods(
    states: Sequence[State], windows: Sequence[Window], sessions: Sequence[list[Session]], summaries: Sequence[str | None]
) -> list[Period]:
    """One per state, with what changed since the one before; ``sessions`` are put in the order of their times."""
    counts = dict.fromkeys(states[0], 0)
    periods = []
    for p, ((begin, end), state) in enumerate(zip(windows, states, strict=True)):
        before: dict[str, str | None] = {**states[p - 1]} if p else dict.fromkeys(state)
        changed = changes(states, p)
        for name in changed if p else ():
            counts[name] += 1
        periods.append(
            Period(
                period_start=begin.isoformat() if begin else None,
                period_end=end.isoformat(),
                period_summary=summaries[p],
                sessions=sorted(sessions[p], key=lambda session: session.session_time),
                state=dict(state),
                updates={name: {"old": before[name], "new": value} for name, value in changed.items()},
                update_cnts=dict(counts),
            )
        )
    return periods
