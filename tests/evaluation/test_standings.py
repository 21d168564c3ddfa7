"""Figures of several agents, by hand; and the tables that show them."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from amemgym_train.evaluation.shown import markdown, remarks, rich, tables
from amemgym_train.evaluation.standings import broken, control, differences, equal_seeds, standing
from amemgym_train.rollout.records import Answer, Episode, Probe, Turn

WRONG, RIGHT = 1, 0


def episode(user, rights, seed=0, error=None, left_out=0):
    """One question and probe in each period, of two choices; the probe knows the state where the answer is right."""
    made = Episode("AMemGym-v0", user, seed, user, error=error)
    for period, right in enumerate(rights):
        for operation, text in (("answer", "{}"), ("read", "{}")):
            meta = {"period": period, "left_out": left_out}
            made.turns.append(Turn([1] * 10, [2] * 3, [0.0] * 3, text, "stop", operation, f"{operation}/p{period}/q0", meta))
        made.answers.append(Answer(period, 0, 2, RIGHT, RIGHT if right else WRONG, 2 * period))
        named = {"pet": "cat" if right else None}
        made.probes.append(Probe(period, 0, {"pet": "cat"}, named, {"pet": 0}, 2 * period + 1))
        made.states.append({})
    return made


AWI = {0: [episode("ann", [1, 1]), episode("bob", [1, 0])], 1: [episode("ann", [1, 0], 1), episode("bob", [0, 0], 1)]}
NATIVE = {0: [episode("ann", [0, 0], left_out=3), episode("bob", [], error="OSError: gone")]}


def test_a_users_figure_is_the_mean_over_periods_and_then_seeds():
    one = standing(AWI, None)
    assert {user: figures["overall"] for user, figures in one["per_user"].items()} == {"ann": 0.75, "bob": 0.25}
    assert one["figures"]["overall"]["mean"] == 0.5 and one["figures"]["overall"]["users"] == 2
    assert (one["figures"]["overall"]["low"], one["figures"]["overall"]["high"]) == (0.25, 0.75)
    assert one["figures"]["memory_score"]["mean"] == 0.0 and one["per_user"]["ann"]["memory_score"] == 0.5
    assert one["per_period"]["overall"] == [0.75, 0.25] and one["per_period"]["read"] == [0.0, 0.5]
    assert (one["episodes"], one["unscorable"], one["calls"], one["tokens"]) == (4, 0, 16, [160, 48])
    assert one["unread"] == {"answer": 0, "read": 4, "write": 0} and one["shortened"] == 0


def test_who_was_broken_enters_no_figure():
    one = standing(NATIVE, None)
    assert (one["episodes"], one["unscorable"], list(one["per_user"])) == (1, 1, ["ann"])
    assert one["figures"]["overall"] == {"mean": 0.0, "low": None, "high": None, "users": 1}
    assert one["shortened"] == 4
    nobody = standing({0: [episode("ann", [1], error="OSError: gone")]}, None)
    assert nobody["figures"]["overall"]["mean"] is None and nobody["per_period"] == {"period": []} and nobody["tokens"] is None
    assert broken("native", NATIVE[0]) == [{"results": "native", "user": "bob", "period": 0, "error": "OSError: gone"}]
    half = replace(episode("ann", [1, 1]), error="OSError: gone")
    assert broken("awi-seed1", [half])[0]["period"] == 2
    assert broken("awi, empty memory", [replace(half, states=[])])[0]["period"] == 2  # a control keeps none


def test_without_headroom_a_user_has_no_memory_score():
    upper = {("ann", 0, 0): 0.5, ("bob", 0, 0): 1.0}  # a blind pick of two gets 0.5
    one = standing(AWI, upper)
    assert one["per_user"]["ann"]["memory_score"] is None and one["undefined_periods"] == 4
    assert one["figures"]["memory_score"] == {"mean": -0.5, "low": None, "high": None, "users": 1}


def test_differences_are_paired():
    [one] = differences({"awi": standing(AWI, None), "native": standing(NATIVE, None)})
    assert (one["of"], one["minus"]) == ("native", "awi")
    assert one["figures"]["overall"] == {"mean": -0.75, "low": None, "high": None, "users": 1}  # ann's alone
    [same] = differences({"awi": standing(AWI, None), "again": standing(AWI, None)})
    assert (same["figures"]["overall"]["low"], same["figures"]["overall"]["high"]) == (0.0, 0.0)


def test_seeds_with_the_same_answers_are_found():
    assert equal_seeds(AWI) == [] and equal_seeds({7: AWI[0]}) == []
    again = [replace(one, seed=5) for one in AWI[0]]
    assert equal_seeds({0: AWI[0], 5: again, 1: AWI[1]}) == [5]
    lost = [episode(user, [], error="OSError: gone") for user in ("ann", "bob")]
    assert equal_seeds({0: lost, 1: lost}) == []  # nobody answered at all


def test_a_control_that_nobody_could_play_has_no_figures():
    assert set(control([episode("ann", [], error="OSError: gone")], None).values()) == {None}
    assert control(AWI[0], None)["overall"] == 0.75


@pytest.fixture
def report():
    awi, native = {"results": ["awi", "awi-seed1"]} | standing(AWI, None), {"results": ["native"]} | standing(NATIVE, None)
    agents = {"awi": awi, "native": native}
    return {
        **{"split": "test", "users": ["ann", "bob"], "seeds": [0, 1], "agents": agents, "differences": differences(agents)},
        **{"controls": {"random": control(AWI[1], None)}, "broken": broken("native", NATIVE[0]), "notes": ["so | so"]},
    }


def test_the_tables_fit_a_terminal_of_80_columns(report):
    console = Console(width=80, record=True, file=io.StringIO())
    for table in tables(report, {"awi": {"ann": 1.0, "bob": 2.0}, "native": {"ann": 4.0}}):
        console.print(rich(table))
    text = console.export_text()
    assert "…" not in text and max(map(len, text.splitlines())) <= 80
    words = text.split()
    for expected in ("0.500", "[.25,", ".75]", "160/48", "0/4/0", "1.5", "4.0", "-0.750"):
        assert expected in words, expected


def test_markdown_is_the_same_without_seconds(report):
    text = markdown(report)
    lines = text.splitlines()
    assert lines[0] == "# 2 test users, seeds 0, 1" and "seconds" not in text
    assert "| awi | 0.500 [.25, .75] | 0.000 [-.50, .50] | 0.250 [.00, .50] | 0.250 [.25, .25] | 0.000 [.00, .00] |" in lines
    assert "| native - awi | -0.750 | -1.500 | +1.000 | -0.250 | +0.000 |" in lines
    assert "| native | 1 | 0/2/0 | 4 | 4 | 40/12 |" in lines
    assert remarks(report)[0] == "not played to the end: native, user bob, stopped in period 0: OSError: gone"
    assert [line for line in lines if line.startswith("- ")] == [f"- {one}" for one in remarks(report)]
