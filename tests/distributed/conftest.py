"""How alike the steps of two launches must be."""

import pytest


@pytest.fixture
def alike():
    """(steps, expected, counts, figures) -> whether all steps drew the same tokens; asserts that those that did are alike.

    A sum over two processes differs from that in one in its last digits, and after an update a draw may fall between the two:
    rare, and from there on the episodes are others. The first step, before any update, and the second must draw the same.
    """

    def compare(steps, expected, counts, figures):
        assert len(steps) == len(expected)
        equal = [all(one.get(key) == other.get(key) for key in counts) for one, other in zip(steps, expected, strict=True)]
        same = equal.index(False) if False in equal else len(equal)
        assert same >= 2, [[step.get(key) for key in counts] for step in (steps[same], expected[same])]
        for key, allowed in figures.items():
            found, wanted = ([step[key] for step in every[:same]] for every in (steps, expected))
            assert found == pytest.approx(wanted, rel=2e-3, abs=allowed), key
        for key in ("tokens_sampled", "entropy"):
            found, wanted = ([step[key] for step in every[same:]] for every in (steps, expected))
            assert found == pytest.approx(wanted, rel=0.05), key
        return same == len(steps)

    return compare
