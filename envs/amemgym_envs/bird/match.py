"""Execution match: a query is right if its rows, as a set, are those of the gold query (as BIRD's own evaluation has it)."""

from bisect import bisect_left
from collections.abc import Iterable
from math import isclose
from typing import Any

Row = tuple[Any, ...]


class Gold:
    """The set of rows that is right. ``tolerance``: relative and absolute difference that numbers may have; 0: none."""

    def __init__(self, rows: Iterable[Row], tolerance: float = 0.0) -> None:
        self.rows = frozenset(rows)
        self.tolerance = tolerance
        self._alike: dict[Row, list[Row]] = {}
        if tolerance:
            for row in self.rows:
                self._alike.setdefault(_kind(row), []).append(row)
            for rows_alike in self._alike.values():
                rows_alike.sort(key=_numbers)

    def matches(self, rows: Iterable[Row]) -> bool:
        """Whether ``rows`` are the same set, in any order and number. Reads no further than the first wrong row."""
        missing = set(self.rows)
        for row in rows:
            found = self._same(row)
            if not found:
                return False
            missing.difference_update(found)
        return not missing

    def _same(self, row: Row) -> list[Row]:
        if row in self.rows and not self.tolerance:
            return [row]
        if not self.tolerance:
            return []
        numbers, alike = _numbers(row), self._alike.get(_kind(row), [])
        if not numbers:
            return alike
        reach = self.tolerance * max(1.0, abs(numbers[0])) * 2
        at, found = bisect_left(alike, numbers[0] - reach, key=lambda other: _numbers(other)[0]), []
        while at < len(alike) and (others := _numbers(alike[at]))[0] <= numbers[0] + reach:
            if all(isclose(a, b, rel_tol=self.tolerance, abs_tol=self.tolerance) for a, b in zip(numbers, others, strict=True)):
                found.append(alike[at])
            at += 1
        return found


def _kind(row: Row) -> Row:
    return tuple(float if isinstance(cell, int | float) else cell for cell in row)


def _numbers(row: Row) -> list[float]:
    return [cell for cell in row if isinstance(cell, int | float)]
