"""The calendar of a generated life."""

from datetime import date, datetime
from itertools import pairwise
from random import Random

import pytest

from amemgym_envs.amemgym.generator.dates import add_months, session_times, window


@pytest.mark.parametrize(
    ("day", "months", "expected"),
    [
        ("2020-10-01", 3, "2021-01-01"),
        ("2020-10-01", 0, "2020-10-01"),
        ("2024-01-31", 1, "2024-02-29"),
        ("2023-01-31", 1, "2023-02-28"),
        ("2020-12-15", 24, "2022-12-15"),
    ],
)
def test_months_are_added_within_the_calendar(day, months, expected):
    assert add_months(date.fromisoformat(day), months).isoformat() == expected


def test_windows_follow_each_other():
    start = date(2024, 1, 31)
    windows = [window(start, 1, p) for p in range(15)]
    assert windows[0] == (None, start)
    assert all(after[0] == before[1] and after[0] < after[1] for before, after in pairwise(windows))


def test_times_increase_inside_a_window_however_many():
    begin, end = date(2021, 1, 1), date(2021, 2, 1)
    for seed in range(5):
        times = [datetime.fromisoformat(t) for t in session_times(begin, end, 500, Random(seed))]
        assert all(a < b for a, b in pairwise(times))
        assert begin <= times[0].date() and times[0].time() > datetime.min.time() and times[-1].date() < end
    assert session_times(begin, end, 0, Random(0)) == []
