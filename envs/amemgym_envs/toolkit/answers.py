"""When two answers are the same."""

from typing import Any

TOLERANCE = 0.01  # of numbers with decimals


def same(given: Any, expected: Any, *, tolerance: float = TOLERANCE, ordered: bool = False) -> bool:
    """Whether ``given`` says what ``expected`` does. Types count: "3" is not 3, true is not 1, [3] is not 3.

    Strings: without regard to case and outer or repeated spaces. Numbers: an expected int must be met exactly (3.0 is 3), a float
    to within ``tolerance``. Lists: element by element, in any order unless ``ordered``.
    """
    if isinstance(expected, bool) or isinstance(given, bool) or expected is None or given is None:
        return given is expected
    if isinstance(expected, int | float):
        limit = tolerance if isinstance(expected, float) else 0
        return isinstance(given, int | float) and abs(given - expected) <= limit + 1e-9
    if isinstance(expected, str):
        return isinstance(given, str) and _plain(given) == _plain(expected)
    if isinstance(expected, dict):
        return isinstance(given, dict) and given.keys() == expected.keys() and all(
            same(given[key], expected[key], tolerance=tolerance, ordered=ordered) for key in expected)
    if not isinstance(given, list | tuple) or len(given) != len(expected):
        return False
    if ordered:
        return all(same(one, other, tolerance=tolerance, ordered=True) for one, other in zip(given, expected, strict=True))
    left = list(given)
    for wanted in expected:
        match = next((at for at, one in enumerate(left) if same(one, wanted, tolerance=tolerance)), None)
        if match is None:
            return False
        del left[match]
    return True


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
