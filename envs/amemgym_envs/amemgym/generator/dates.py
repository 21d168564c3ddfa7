"""The calendar of a generated life: when periods begin and end, and when sessions happen."""

from calendar import monthrange
from datetime import date, datetime, timedelta
from random import Random

_LEAD_DAYS = 30  # the initial period has no start; its sessions happen this long before its end


def add_months(day: date, months: int) -> date:
    """The same day of the month, or the month's last day where it is shorter."""
    month = day.month - 1 + months
    year, month = day.year + month // 12, month % 12 + 1
    return day.replace(year=year, month=month, day=min(day.day, monthrange(year, month)[1]))


def window(start: date, months: int, period: int) -> tuple[date | None, date]:
    """(period_start, period_end); the initial period ends at ``start`` and has no start of its own."""
    if period == 0:
        return None, start
    return add_months(start, months * (period - 1)), add_months(start, months * period)


def _span(begin: date | None, end: date) -> tuple[datetime, timedelta]:
    first = datetime.combine(begin or end - timedelta(days=_LEAD_DAYS), datetime.min.time())
    return first, datetime.combine(end, datetime.min.time()) - first


def seconds(begin: date | None, end: date) -> int:
    """How many seconds a period has."""
    return int(_span(begin, end)[1].total_seconds())


def session_times(begin: date | None, end: date, count: int, rng: Random) -> list[str]:
    """``count`` increasing times strictly between ``begin`` and ``end``, as "YYYY-MM-DD HH:MM:SS"."""
    first, length = _span(begin, end)
    share = length / max(count, 1)
    return [str((first + share * (i + rng.uniform(0.1, 0.9))).replace(microsecond=0)) for i in range(count)]


def other_times(begin: date | None, end: date, count: int, taken: set[str], rng: Random) -> list[str]:
    """``count`` distinct times strictly between ``begin`` and ``end``, none of them ``taken``, in random order.

    ValueError when the period has not that many seconds.
    """
    first, _ = _span(begin, end)
    drawn = rng.sample(range(1, seconds(begin, end)), count + len(taken))
    free = [time for time in (str(first + timedelta(seconds=s)) for s in drawn) if time not in taken]
    return free[:count]
