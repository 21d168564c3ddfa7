"""A real run of two environments: its figures are those of their users, and evaluating it by hand shows them, too."""

import json
from collections import Counter

import pytest
import yaml

from amemgym_train import cli
from amemgym_train.config.environments import environment_of
from amemgym_train.config.load import load_recipe, recipe_hash
from amemgym_train.evaluation.memory import report
from amemgym_train.evolution.forecast import forecast
from amemgym_train.evolution.plan import plan
from amemgym_train.evolution.plays import load_folder
from amemgym_train.report.origin import data_hashes
from amemgym_train.report.record import read_run


@pytest.fixture(scope="module")
def recipe(write_recipe, tmp_path_factory):
    """The tiny recipe, its users twice: ``long`` has a period more, and plays twice as often."""
    path = write_recipe(tmp_path_factory.mktemp("environments"))
    sections = yaml.safe_load(path.read_text())
    short = sections.pop("scenarios")
    long = {role: users | {"num_periods": 2, "num_users": 3} for role, users in short.items()}
    sections["environments"] = {"short": short | {"weight": 1}, "long": long | {"weight": 2, "gate": {"min_delta": -2.0}}}
    sections["rollout"], sections["evolution"] = {"users": 3, "group_size": 4}, {"iterations": 1}
    path.write_text(yaml.safe_dump(sections))
    return path


@pytest.fixture(scope="module")
def run(recipe, in_process):
    result = in_process("evolve", recipe)
    assert result.returncode == 0, result.stderr
    assert "memory score by environment" in result.stdout
    return load_recipe(recipe).run_dir


def test_the_figures_of_an_environment_are_those_of_its_users(recipe, run):
    here = run / "iterations" / "001"
    told, users = (json.loads((here / name).read_text()) for name in ("eval.json", "eval_users.json"))
    episodes = load_folder(here / "eval_episodes")
    assert report(episodes).to_dict() == told["agent"]
    assert Counter(environment_of(load_recipe(recipe), user) for user in users) == {"short": 2, "long": 3}
    for name in ("short", "long"):
        own = report([episode for episode in episodes if episode.task.startswith(f"{name}.")]).to_dict()
        assert told["environments"][name] == own and len(own["per_period"]["period"]) == {"short": 2, "long": 3}[name]
        gate = json.loads((here / "gate.json").read_text())["environments"][name]
        old = json.loads((run / "iterations" / "000" / "eval_users.json").read_text())
        changes = [score - old[user] for user, score in users.items() if user.startswith(f"{name}.")]
        assert gate["difference"] == pytest.approx(sum(changes) / len(changes), abs=1e-6) and gate["users"] == len(changes)


def test_training_plays_the_shares_and_the_plan_says_so(recipe, run):
    played = load_folder(run / "iterations" / "001" / "episodes")
    loaded = load_recipe(recipe)
    assert Counter(environment_of(loaded, episode.task) for episode in played) == {"short": 4, "long": 8}
    whole = plan(loaded)
    assert whole["users"] == {"train": 3, "validation": 5, "test": 5} and whole["batch"]["episodes"] == 12
    trained = Counter()
    for episode in played:
        trained[episode.id] += sum(turn.operation in loaded.training.operations for turn in episode.turns)
    assert max(trained.values()) == whole["batch"]["calls"]  # of the longer environment
    asked = {stage.name: stage.episodes for stage in forecast(loaded, 0)}
    assert (asked["rollout"], asked["evaluate"], asked["test after"]) == (12, 5, 5)


def test_the_summary_and_the_metrics_have_every_environment(run):
    summary = json.loads((run / "summary.json").read_text())
    assert set(summary["test"]["environments"]) == {"short", "long"} and "environments" not in summary["test"]["controls"]
    after = {name: figures["after"]["memory_score"] for name, figures in summary["test"]["environments"].items()}
    whole = json.loads((run / "test" / "after.json").read_text())["agent"]["memory_score"]
    assert (2 * after["short"] + 3 * after["long"]) / 5 == pytest.approx(whole)
    assert set(summary["iterations"][0]["gate"]["environments"]) == {"short", "long"}
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    shown = [line for line in lines if line["stage"] == "test_after"]
    assert any(line.get("long/memory_score") == pytest.approx(after["long"]) for line in shown)


def test_its_report_tells_of_every_environment_and_its_recipe_makes_it_again(recipe, run, tmp_path, capsys):
    assert cli.main(["report", str(run), "--out", str(tmp_path)]) == 0
    text, summary = (tmp_path / "report.md").read_text(), json.loads((run / "summary.json").read_text())
    capsys.readouterr()
    for name, figures in summary["test"]["environments"].items():
        assert f"| test, {name} | {({'short': 2, 'long': 3}[name])} | {figures['before']['memory_score']:.3f} [" in text
    assert "| environments |" not in text
    again = load_recipe(tmp_path / "recipe.yaml", [f"policy.model={load_recipe(recipe).policy.model}"])
    assert recipe_hash(again) == summary["recipe"]
    before = data_hashes(read_run(str(run)))
    changed = read_run(str(run))
    changed.config["environments"]["long"]["test"]["num_users"] += 1
    assert {role for role, found in data_hashes(changed).items() if found != before[role]} == {"test", "all"}


def test_an_evaluation_by_hand_shows_every_environment(recipe, run, in_process, tmp_path):
    best = run / "iterations" / f"{json.loads((run / 'summary.json').read_text())['best_iteration']:03d}" / "adapter"
    given = ["--adapter", best] if best.is_dir() else []
    result = in_process("evaluate", recipe, *given, "--out", tmp_path / "out", "--agents", "awi")
    assert result.returncode == 0, result.stderr
    assert "On the users of short" in result.stdout
    told = json.loads((tmp_path / "out" / "report.json").read_text())["environments"]
    figures = json.loads((run / "test" / "after.json").read_text())["environments"]
    for name, users in (("short", 2), ("long", 3)):
        shown = told[name]["awi"]["memory_score"]
        assert shown["mean"] == pytest.approx(figures[name]["memory_score"]) and shown["users"] == users
