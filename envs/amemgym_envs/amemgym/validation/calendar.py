"""Dates: periods follow each other without a gap, and sessions are told in order inside their period."""

from collections.abc import Generator, Iterator
from datetime import datetime

from amemgym_envs.amemgym.consistency import Fault, fault
from amemgym_envs.amemgym.records import Scenario


def calendar_faults(scenario: Scenario) -> Iterator[Fault]:
    yield from _date_faults(scenario, "start_time", scenario.start_time, None)
    last = ""  # of the whole life
    first = scenario.periods[0].period_end
    if first != scenario.start_time and _readable(scenario.start_time, "%Y-%m-%d"):
        yield fault(scenario, "periods[0].period_end", first, f"{scenario.start_time}, the start_time", 0)
    for p, period in enumerate(scenario.periods):
        path = f"periods[{p}]"
        expected_start = scenario.periods[p - 1].period_end if p else None
        if period.period_start != expected_start:
            yield fault(scenario, f"{path}.period_start", period.period_start, f"{expected_start}, where the last period ends", p)
        yield from _date_faults(scenario, f"{path}.period_end", period.period_end, p)
        if period.period_start is not None and period.period_end <= period.period_start:
            yield fault(scenario, f"{path}.period_end", period.period_end, f"a date after {period.period_start}", p)
        last = yield from _session_faults(scenario, p, last)


def _session_faults(scenario: Scenario, p: int, last: str) -> Generator[Fault, None, str]:
    """``last`` is the time of the session before the period; that of its own last session is returned."""
    period = scenario.periods[p]
    for s, session in enumerate(period.sessions):
        path, time = f"periods[{p}].sessions[{s}].session_time", session.session_time
        if not _readable(time, "%Y-%m-%d %H:%M:%S"):
            yield fault(scenario, path, time, "a time like 2020-10-01 18:30:00", p)
            continue
        if not (period.period_start or "") <= time[:10] <= period.period_end:
            yield fault(scenario, path, time, f"a time from {period.period_start or 'any day'} to {period.period_end}", p)
            continue
        if time <= last:
            yield fault(scenario, path, time, f"a time after {last}, that of the session before", p)
        last = time
    return last


def _date_faults(scenario: Scenario, path: str, text: str, period: int | None) -> Iterator[Fault]:
    if not _readable(text, "%Y-%m-%d"):
        yield fault(scenario, path, text, "a date like 2020-10-01", period)


def _readable(text: str, form: str) -> bool:
    try:
        return str(datetime.strptime(text, form)).startswith(text)  # strptime also takes 2020-1-1
    except ValueError:
        return False
