"""``amemgym-train envs``: the list, the check, and what is refused."""

import importlib.util
import json

import pytest

from amemgym_envs.check.run import CHECKS
from amemgym_envs.registry import CLASSES
from amemgym_train import cli

FEW = ["--seeds", "1", "--tasks", "1", "--garbage", "20", "--seconds", "0.01"]
TOY = """
from amemgym_envs import Outcome, TaskEnv
from amemgym_envs.core import EnvCard

class Hopeless(TaskEnv):
    card = EnvCard("Hopeless-v0", "Wait.", "one", {"test": 1}, (0.0, 1.0), "never", 2, "anything")
    splits = {"test": ["only"]}
    instruction = "Say anything."

    def __init__(self, word="no", max_steps=None):
        super().__init__(max_steps)
        self.word = word

    def begin(self, task):
        return "Go on."

    def act(self, action):
        return Outcome(self.word, float(self.word == "yes"), self.word == "yes")

    def expert(self):
        return "please"
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    (tmp_path / "hopeless_toy.py").write_text(TOY, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "hopeless_toy:Hopeless"


def test_all_environments_are_listed_with_what_they_need(capsys):
    assert cli.main(["envs", "--json"]) == 0
    listed = {one["id"]: one for one in json.loads(capsys.readouterr().out)}
    assert list(listed) == list(CLASSES)
    for one in listed.values():
        assert one["summary"] and one["success"] and one["grammar"] and len(one["score"]) == 2
        assert bool(one["install"]) == bool(one["missing"]) and set(one["missing"]) <= set(one["requires"])


def test_what_lacks_is_told_with_what_installs_it(capsys, monkeypatch):
    def found(name):
        return None if name == "minigrid" else importlib.util.find_spec(name)

    monkeypatch.setattr("amemgym_envs.registry.find_spec", found)
    assert cli.main(["envs"]) == 0
    told = capsys.readouterr().out
    assert "TextCraft" in told and "lacks" in told and "BabyAI-v0 -> pip install 'amemgym-train[babyai]'" in told
    assert cli.main(["envs", "check", "babyai"]) == 2
    assert "BabyAI-v0 needs minigrid, not installed: pip install 'amemgym-train[babyai]'" in capsys.readouterr().err


def test_a_check_says_a_line_for_each_and_ends_with_0_if_none_is_red(capsys):
    assert cli.main(["envs", "check", "textcraft", *FEW, "--options", "depths=[1]", "distractors=0"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in CHECKS) and "0 red" in told and "train 82" in told
    assert cli.main(["envs", "check", "textcraft", *FEW, "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == list(CHECKS)


def test_of_several_each_line_says_whose_it_is_and_one_red_is_enough_for_1(toy, capsys):
    assert cli.main(["envs", "check", f"textcraft,{toy}", *FEW, "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [row["environment"] for row in rows] == ["TextCraft-v0"] * len(CHECKS) + [toy] * len(CHECKS)
    assert [row["name"] for row in rows if row["level"] == "red"] == ["expert"]


def test_options_reach_the_environment_and_the_other_process(toy, capsys):
    assert cli.main(["envs", "check", toy, *FEW, "--options", "word='yes'"]) == 0
    assert cli.main(["envs", "check", toy, *FEW]) == 1
    assert "expert -> play such a task by env.expert()" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["chess"], "no environment 'chess'; there are AMemGym"),
        (["textcraft", "--options", "max_steps=x"], "envs check: textcraft: "),
        ([","], "no environment is named"),
        (["no_such_module:Env"], "is its folder in PYTHONPATH?"),
        (["textcraft", "--options", "colour=red"], "no option colour; there are recipes"),
        (["textcraft", "--options", "max_steps=0"], "max_steps is 0, expected at least 1"),
        (["textcraft", "--seconds", "nan"], "seconds is nan, expected more than 0"),
        (["textcraft", "--options", "depths"], "'depths', expected KEY=VALUE"),
        (["textcraft", "--options", "depths=["], "no value that YAML can read"),
    ],
)
def test_a_mistake_ends_with_2_and_a_line(words, told, capsys):
    assert cli.main(["envs", "check", *words]) == 2
    assert told in capsys.readouterr().err
