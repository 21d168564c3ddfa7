import errno
import json
import os
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from amemgym_train import cli
from amemgym_train.config.load import load_recipe
from amemgym_train.config.scenarios import ScenarioConfig

ROOT = Path(__file__).resolve().parents[1]
RECIPES = sorted(ROOT.glob("recipes/configs/**/*.yaml"))
COMMANDS = ["generate", "evaluate", "rescore", "convert", "rollout", "evolve", "serve", "envs"]
SMALL = ["--users", "2", "--variables", "4", "--questions", "3", "--periods", "1", "--changes", "1"]


def run(*arguments, **options):
    env = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=env, timeout=60, **options)


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("name: x\nagent: {local_length: 0}\n")
    return path


def test_help_is_fast():
    start = time.perf_counter()
    result = run("-m", "amemgym_train.cli", "--help")
    assert time.perf_counter() - start < 1
    assert result.returncode == 0
    assert all(command in result.stdout for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_help_has_a_worked_example(command, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([command, "--help"])
    assert stop.value.code == 0
    assert f"example:\n  amemgym-train {command} " in capsys.readouterr().out


def test_a_bad_recipe_ends_with_2_and_the_nearest_name(recipe):
    recipe.write_text("name: x\nevolution: {iteration: 3}\n")
    result = run("-m", "amemgym_train.cli", "evolve", str(recipe))
    assert result.returncode == 2
    assert "did you mean evolution.iterations?" in result.stderr
    assert "Traceback" not in result.stderr and result.stdout == ""


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_of_the_repository_holds(path):
    assert load_recipe(path).name == path.stem


def test_there_are_recipes():
    assert {"quickstart", "smollm2_cpu"} <= {path.stem for path in RECIPES}


def test_generate_takes_flags_or_a_recipe_and_writes_the_same_users(tmp_path, recipe, capsys):
    one, two = tmp_path / "one.json", tmp_path / "two.json.gz"
    assert cli.main(["generate", "--out", str(one), "--split", "test", "--seed", "5", *SMALL]) == 0
    scenarios = "{num_users: 2, num_variables: 4, num_questions: 3, num_periods: 1, num_changes_per_period: 1}"
    overrides = [f"scenarios.test={scenarios}", "scenarios.test.seed=5"]
    assert cli.main(["generate", str(recipe), *overrides, "--out", str(two), "--split", "test"]) == 0
    users = ScenarioConfig(data=str(one)).build()
    assert users == ScenarioConfig(data=str(two)).build()
    assert len(users) == 2
    assert f"{one}: 2 users" in capsys.readouterr().out


def test_generate_tells_what_it_cannot_do(tmp_path, capsys):
    out = str(tmp_path / "data.json")
    assert cli.main(["generate", "--out", out, "--users", "0"]) == 2
    assert "scenarios.train.num_users (override scenarios.train.num_users=0): got 0" in capsys.readouterr().err
    assert cli.main(["generate", "--out", out, "--variables", "1000"]) == 2
    assert "num_variables" in capsys.readouterr().err
    assert cli.main(["generate", "a.yaml", "b.yaml", "--out", out]) == 2
    assert "takes one recipe" in capsys.readouterr().err
    assert cli.main(["generate", f"scenarios.train.data={__file__}", "--out", out]) == 2
    assert "there is nothing to generate" in capsys.readouterr().err
    assert not Path(out).exists()


def replace(monkeypatch, name, function):
    """Puts ``function`` in the place of what a command would call, without importing it."""
    module, _, attribute = name.rpartition(".")
    monkeypatch.setitem(sys.modules, module, types.SimpleNamespace(**{attribute: function}))


def test_overrides_may_stand_anywhere(recipe, monkeypatch, capsys):
    seen = {}

    def evaluate_policy(recipe, split, adapter):
        seen.update(recipe=recipe, split=split, adapter=adapter)
        return {"memory_score": 0.25, "failures": {"write": 0.5}, "per_period": [1, 2]}

    replace(monkeypatch, "amemgym_train.evolution.stages.evaluate_policy", evaluate_policy)
    assert cli.main(["evaluate", str(recipe), "seed=3", "--adapter", "a", "sampling.top_k=5", "--json"]) == 0
    assert (seen["recipe"].seed, seen["recipe"].sampling.top_k, seen["split"], seen["adapter"]) == (3, 5, "test", "a")
    assert json.loads(capsys.readouterr().out)["failures"] == {"write": 0.5}
    assert cli.main(["evaluate", str(recipe)]) == 0
    shown = capsys.readouterr().out
    assert "memory_score" in shown and "0.250" in shown and "failures.write" in shown
    with pytest.raises(SystemExit) as stop:
        cli.main(["evaluate", str(recipe), "--adaptor"])
    assert stop.value.code == 2


@pytest.mark.parametrize(
    "words",
    [["--out", ""], ["--out", "o", "--replay", ""], ["--adapter", " "], ["--out", "o\udcff"], ["--seeds", str(2**32)]],
    ids=["nowhere", "no recording", "no adapter", "no text", "no seed"],
)
def test_flags_that_would_be_passed_over_or_break_later_are_refused(recipe, monkeypatch, words, capsys):
    for name in ("stages.evaluate_policy", "evaluation.evaluate_agents"):
        replace(monkeypatch, f"amemgym_train.evolution.{name}", lambda *_, **__: pytest.fail("was begun"))
    with pytest.raises(SystemExit) as stop:
        cli.main(["evaluate", str(recipe), *words])
    assert stop.value.code == 2
    assert f"{words[-1]!r}, expected" in capsys.readouterr().err


def test_rollout_prints_where_the_episodes_are(recipe, monkeypatch, capsys):
    replace(monkeypatch, "amemgym_train.evolution.stages.rollout_policy", lambda recipe, split, adapter, out: Path(out) / split)
    assert cli.main(["rollout", str(recipe), "--split", "validation", "--out", "there"]) == 0
    assert capsys.readouterr().out == f"{Path('there') / 'validation'}\n"


def test_evolve_says_what_will_be_done_and_only_on_the_main_process(recipe, monkeypatch, capsys):
    replace(monkeypatch, "amemgym_train.evolution.run.evolve", lambda recipe, machine: {"best": 1})
    assert cli.main(["evolve", str(recipe)]) == 0
    assert "x: 3 iterations of the awi agent" in capsys.readouterr().out
    monkeypatch.setenv("RANK", "1")
    assert cli.main(["evolve", str(recipe)]) == 0
    assert capsys.readouterr().out == ""


def test_an_interrupt_says_how_to_go_on(recipe, monkeypatch, capsys):
    def evolve(recipe, machine):
        raise KeyboardInterrupt

    replace(monkeypatch, "amemgym_train.evolution.run.evolve", evolve)
    assert cli.main(["evolve", str(recipe), "seed=1"]) == 130
    assert f"run again: amemgym-train evolve {recipe} seed=1" in capsys.readouterr().err


def test_a_full_disk_is_told_and_other_errors_of_the_system_are_not_hidden(recipe, monkeypatch, capsys):
    def evolve(recipe, machine):
        raise OSError(number, os.strerror(number), "runs/x/metrics.jsonl")

    replace(monkeypatch, "amemgym_train.evolution.run.evolve", evolve)
    number = errno.ENOSPC
    assert cli.main(["evolve", str(recipe)]) == 2
    assert "no space left while writing runs/x/metrics.jsonl" in capsys.readouterr().err
    number = errno.EROFS
    assert cli.main(["evolve", str(recipe)]) == 2
    assert "runs/x/metrics.jsonl: Read-only file system. Mend that path" in capsys.readouterr().err
    number = errno.EIO
    with pytest.raises(OSError):
        cli.main(["evolve", str(recipe)])


def test_the_recipe_script_takes_what_evolve_takes(recipe):
    result = run(str(ROOT / "recipes" / "evolve.py"), str(recipe), "sampling.temprature=1")
    assert result.returncode == 2
    assert "did you mean sampling.temperature?" in result.stderr


def test_a_reader_that_has_seen_enough_is_no_error():
    words = ["-m", "amemgym_train.cli", "evolve", str(ROOT / "recipes/configs/quickstart.yaml"), "--dry-run"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    process.stdout.close()
    told = process.stderr.read()
    assert process.wait() == 0 and "Traceback" not in told and "BrokenPipe" not in told
