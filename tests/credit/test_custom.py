"""A scheme of the user's own: imported by name, tried on canned episodes, refused by name."""

import pytest

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit.canned import canned
from amemgym_train.credit.rewards import SCHEMES, Reward, resolve, rewarded
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.errors import UserError

MODULE = """
from amemgym_train.credit.rewards import Reward, operation

limit = 3

def short_is_good(episode, diagnosis, config):
    return {i: 1 / len(t.text) for i, t in enumerate(episode.turns) if t.operation in config.operations}

def mixed(episode, diagnosis, config):
    given = {i: None for i, t in enumerate(episode.turns) if t.operation in ("write", "read", "answer")}
    first, second, *_ = given
    return given | {first: Reward(0.5, "liked"), second: 1}

def writes_only(episode, diagnosis, config):
    return {i: r for i, r in operation(episode, diagnosis, config).items() if episode.turns[i].operation == "write"}

def a_list(episode, diagnosis, config):
    return [1.0]

def no_turn(episode, diagnosis, config):
    return {len(episode.turns): 1.0}

def negative(episode, diagnosis, config):
    return {-1: 1.0}

def by_slot(episode, diagnosis, config):
    return {episode.turns[1].slot: 1.0}

def respond(episode, diagnosis, config):
    return {0: 1.0}

def text(episode, diagnosis, config):
    return {1: "good"}

def infinite(episode, diagnosis, config):
    return {1: float("inf")}

def nan(episode, diagnosis, config):
    return {1: Reward(float("nan"), "?")}

def empty(episode, diagnosis, config):
    return {1: Reward(None, "?")}

def raises(episode, diagnosis, config):
    return {1: episode.turns[1].meta["colour"]}

def one_argument(episode):
    return {}

def only_the_third(episode, diagnosis, config):
    return {1: 1 / episode.score}
"""


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    package = tmp_path / "my_credit"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "schemes.py").write_text(MODULE)
    (package / "broken.py").write_text("def f(:\n")
    (package / "needy.py").write_text("import a_module_that_is_nowhere\n")
    monkeypatch.syspath_prepend(tmp_path)


def config(function, **keys):
    return CreditConfig(scheme=f"my_credit.schemes:{function}", **keys)


def refusal(scheme):
    with pytest.raises(UserError) as caught:
        resolve(CreditConfig(scheme=scheme))
    assert str(caught.value).startswith(f"credit.scheme: {scheme}")
    return str(caught.value)


def test_built_in_schemes_are_found_by_name():
    assert {name: resolve(CreditConfig(scheme=name)) for name in SCHEMES} == SCHEMES


def test_numbers_become_rewards_that_name_the_function():
    episode = canned()[0]
    found = resolve(config("short_is_good"))(episode, diagnose(episode), config("short_is_good"))
    assert found[1] == Reward(1 / len(episode.turns[1].text), "my_credit.schemes:short_is_good")
    assert rewarded(episode, diagnose(episode), config("short_is_good")) == found
    assert list(found) == [i for i, turn in enumerate(episode.turns) if turn.operation != "respond"]


def test_rewards_numbers_and_none_may_be_mixed():
    episode = canned()[0]
    one, two, *others = rewarded(episode, diagnose(episode), config("mixed")).values()
    assert (one, two) == (Reward(0.5, "liked"), Reward(1.0, "my_credit.schemes:mixed"))
    assert set(others) == {None} and type(two.value) is float


def test_turns_that_a_function_leaves_out_have_no_signal_and_untrained_ones_are_dropped():
    episode = canned()[0]
    found = rewarded(episode, diagnose(episode), config("writes_only"))
    assert {episode.turns[i].operation for i, reward in found.items() if reward is not None} == {"write"}
    assert {episode.turns[i].operation for i in found} == {"write", "read", "answer"}
    answers = rewarded(episode, diagnose(episode), config("mixed", operations=["answer"]))
    assert {episode.turns[i].operation for i in answers} == {"answer"}


@pytest.mark.parametrize(
    ("function", "got", "expected"),
    [
        ("a_list", "returned a list of episode canned/all right/0", "expected a dict"),
        ("no_turn", "gave a reward to turn 12", "an index from 0 to 11"),
        ("negative", "gave a reward to turn -1", "an index from 0 to 11"),
        ("by_slot", "gave a reward to turn 'write/p0/0'", "an index from 0 to 11"),
        ("respond", "turn 0, a respond turn", "write, read, answer, act turns only"),
        ("text", "gave turn 1 (write/p0/0) 'good'", "a Reward or a number, finite, or None"),
        ("infinite", "inf", "finite"),
        ("nan", "nan", "finite"),
        ("empty", "Reward(value=None", "finite"),
        ("raises", "KeyError: 'colour'", "schemes.py:45)"),
        ("one_argument", "TypeError: one_argument() takes 1 positional argument", "failed on episode canned/all right/0"),
        ("only_the_third", "ZeroDivisionError", "episode canned/a format failure/2"),
        ("missing", "got no such name in my_credit.schemes", "expected a function missing"),
        ("limit", "got a int in my_credit.schemes", "expected a function limit"),
    ],
)
def test_a_bad_function_is_refused_before_a_rollout(function, got, expected):
    message = refusal(f"my_credit.schemes:{function}")
    assert got in message and expected in message


def test_a_module_that_cannot_be_imported_is_told():
    assert "ModuleNotFoundError: No module named 'nowhere_at_all'. Expected" in refusal("nowhere_at_all:f")
    assert "ModuleNotFoundError: No module named 'a_module_that_is_nowhere'" in refusal("my_credit.needy:f")
    assert "needy.py:1)" in refusal("my_credit.needy:f")
    assert "SyntaxError" in refusal("my_credit.broken:f")


def test_the_check_of_a_recipe_tries_the_function():
    from amemgym_train.config.check import check
    from amemgym_train.config.recipe import Recipe

    def problems(scheme):
        return dict(check(Recipe.model_validate({"name": "x", "agent": {"local_length": 0}, "credit": {"scheme": scheme}})))

    assert problems("my_credit.schemes:short_is_good") == {}
    found = problems("my_credit.schemes:text")
    assert set(found) == {"credit.scheme"} and found["credit.scheme"].startswith("my_credit.schemes:text gave turn 1")


def test_nothing_is_evaluated():
    for scheme in ("my_credit.schemes:short_is_good()", "my_credit.schemes:a.b", "os:system('x')", "operations", "a b:c", ":f"):
        with pytest.raises(ValueError, match="package.module:function"):
            CreditConfig(scheme=scheme)
