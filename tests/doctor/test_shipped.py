"""What ships passes: the recipes, the list of tested versions, the command."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from amemgym_train import cli
from amemgym_train.doctor.versions import listed

ROOT = Path(__file__).resolve().parents[2]
RECIPES = sorted((ROOT / "recipes" / "configs").glob("*.yaml"))
# No machine has all their models, servers and adapters: a tiny local model stands in for the first two, and none for the third.
HERE = ("policy.server=null", "policy.adapter=null")
OTHER = ("packages", "lengths")  # versions may be newer, and the stand-in's tokens are not those that the limits are for


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_shipped_recipe_passes(path, untrained, tmp_path, capsys):
    assert cli.main(["doctor", str(path), f"policy.model={untrained}", f"output={tmp_path}", *HERE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [finding for finding in found if finding["level"] != "green" and finding["name"] not in OTHER] == []
    assert {"recipe", "users", "model", "template", "batch", "disk", "episode", "model's episode"} <= {f["name"] for f in found}
    assert list(tmp_path.iterdir()) == []


def test_the_tested_versions_are_those_of_the_project():
    """Bounds and extras as in pyproject.toml, versions as in constraints.txt, nothing more and nothing less."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    pins = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    extras = {extra: lines for extra, lines in project["optional-dependencies"].items() if extra != "dev"}
    required = {("", line) for line in project["dependencies"]}
    wanted = required | {(extra, line) for extra, lines in extras.items() for line in lines}
    packages = listed()
    assert {(package.extra, package.name + package.allowed) for package in packages} == wanted
    assert {package.name: package.tested for package in packages} == {one.name: pins[one.name.lower()] for one in packages}


def test_without_a_recipe_the_machine_alone_is_looked_at(capsys):
    assert cli.main(["doctor", "--json"]) == 0
    assert [f["name"] for f in json.loads(capsys.readouterr().out)] == ["python", "packages", "devices", "rewards", "episode"]


def test_the_table_shows_every_finding_and_its_remedy(sound, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert cli.main(["doctor", str(sound), "policy.adapter=/no/adapter"]) == 1
    out = capsys.readouterr().out
    assert "\nadapter -> policy.adapter=FOLDER, such as runs/ANOTHER/best/adapter, or policy.adapter=null\n" in out
    assert "not checked because adapter is red" in out
    assert re.search(r"^\d+ green, 3 yellow, 1 red$", out, re.MULTILINE)


@pytest.mark.parametrize("words", [["nowhere.yaml"], ["RECIPE", "policy.modell=x"], ["RECIPE", "seed=minus"]])
def test_a_recipe_that_cannot_be_read_is_bad_usage(words, sound, capsys):
    words = [str(sound) if word == "RECIPE" else word for word in words]
    assert cli.main(["doctor", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("amemgym-train: ") and "Traceback" not in captured.err


@pytest.mark.parametrize("package, red", [("pydantic", {"recipe"}), ("torch", {"devices"}), ("rich", set())])
def test_a_package_that_cannot_be_imported_is_told_without_a_traceback(package, red, amemgym_train):
    hidden = f"import sys; sys.modules[{package!r}] = None"
    code = f"{hidden}; from amemgym_train import cli; sys.exit(cli.main(['doctor', *sys.argv[1:]]))"
    for words in ([], ["--json"]):
        run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, env=amemgym_train.env)
        assert (run.returncode, "Traceback" in run.stderr) == (1 if red else 0, False), run.stderr
    found = json.loads(run.stdout)
    assert {finding["name"] for finding in found if finding["level"] == "red"} == red
    assert all(f"pip install {package}" == finding["remedy"] for finding in found if finding["level"] == "red")
