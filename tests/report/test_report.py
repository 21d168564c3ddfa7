"""The report of a run: from its files alone, the same bytes each time, whatever of it is unfinished or damaged."""

import json
import re
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym_train.config.load import load_recipe, recipe_hash
from amemgym_train.evaluation.intervals import spread
from amemgym_train.report import markdown
from amemgym_train.report.origin import base_of, data_hashes, masked
from amemgym_train.report.record import read_run


def rows(text, title):
    """The cells of the table under a heading, without its first two lines."""
    part = text.partition(f"\n## {title}\n\n")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in part.splitlines()[2:]]


def test_the_figures_are_those_of_the_run(run, report):
    code, complaints, text = report(run)
    summary = json.loads((run / "summary.json").read_text())
    assert (code, complaints) == (0, []) and "Not finished" not in text
    scores = {}
    for name in ("before", "after"):
        users = json.loads((run / "test" / f"{name}_users.json").read_text())
        found = spread([users[user] for user in sorted(users) if users[user] is not None])
        assert found["mean"] == pytest.approx(summary["test"][name]["memory_score"])
        scores[name] = f"{found['mean']:.3f} [{found['low']:.3f}, {found['high']:.3f}]"
        assert f"{scores[name]} {name}" in text
    [test, _] = rows(text, "Scores")
    assert test[:4] == ["test", "2", scores["before"], scores["after"]]
    assert test[4].startswith(f"{summary['test']['gain']:+.3f} [")
    gates = [[str(one["iteration"]), one["gate"]["decision"], f"{one['validation']:.3f}"] for one in summary["iterations"]]
    assert [row[:3] for row in rows(text, "Gate")] == gates
    assert {row[0] for row in rows(text, "Controls on test users")} == {"agent", "random", "oracle", "scrambled"}
    failures = rows(text, "Failures of validation users")
    assert [sum(map(float, row[1:])) for row in failures] == pytest.approx([1] * 3, abs=0.002)
    trained = [[f"{one['training'][key]:,}" for key in ("rows", "steps", "tokens")] for one in summary["iterations"]]
    assert [row[1:4] for row in rows(text, "Training")] == trained
    times = {row[0].removeprefix("test "): row[1:] for row in rows(text, "Time and tokens by stage")}
    assert float(times["all"][0]) == pytest.approx(summary["wall_seconds"]["total"], abs=0.2)
    assert times["rollout"][1] == f"{sum(one['rollout']['tokens_sampled'] for one in summary['iterations']):,}"
    assert f"`{summary['recipe']}`" in text and json.loads((run / "versions.json").read_text())["commit"] in text


def test_the_same_run_gives_the_same_bytes_wherever_it_lies(run, report, tmp_path, monkeypatch):
    moved = shutil.copytree(run, tmp_path / "elsewhere", symlinks=True)
    report(run)
    report(moved, "--out", tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    report("tiny", "--out", "named")  # a name below runs/
    names = sorted(path.name for path in (run / "report").iterdir())
    assert {"report.md", "report.png", "recipe.yaml"} <= set(names)
    for folder in (tmp_path / "out", tmp_path / "named"):
        assert sorted(path.name for path in folder.iterdir()) == names
        assert all((folder / name).read_bytes() == (run / "report" / name).read_bytes() for name in names)


def test_nothing_of_the_machine_is_told(run, report, model_folder):
    report(run)
    config = json.loads((run / "config.json").read_text())
    for path in (run / "report").iterdir():
        held = path.read_bytes()
        for secret in (str(model_folder), str(model_folder.parent), config["output"], str(run)):
            assert secret.encode() not in held
    assert base_of(read_run(str(run))).name == model_folder.name


def test_the_recipe_beside_the_report_makes_the_run_again(run, report, model_folder):
    report(run)
    recipe = load_recipe(run / "report" / "recipe.yaml", [f"policy.model={model_folder}"])
    assert recipe_hash(recipe) == json.loads((run / "summary.json").read_text())["recipe"]


def test_the_data_hash_follows_the_users_and_nothing_else(run):
    before, config = data_hashes(read_run(str(run))), json.loads((run / "config.json").read_text())
    config["output"], config["seed"] = "/elsewhere", 7
    (run / "config.json").write_text(json.dumps(config))
    assert data_hashes(read_run(str(run))) == before
    config["scenarios"]["test"]["num_users"] += 1
    (run / "config.json").write_text(json.dumps(config))
    after = data_hashes(read_run(str(run)))
    assert {role for role in after if after[role] != before[role]} == {"test", "all"}


STAGES = [("iterations/000", "evaluate")]
STAGES += [(f"iterations/00{i}", stage) for i in (1, 2) for stage in ("rollout", "diagnose", "train", "evaluate", "gate")]


@pytest.mark.parametrize("done", range(len(STAGES) + 1))
def test_a_run_that_is_cut_short_says_so(run, report, done):
    """After each of its stages in turn."""
    (run / "summary.json").unlink()
    cut = [("test", "after"), *STAGES[done:], *([("test", "before")] if not done else [])]
    for folder, stage in cut:
        path = run / folder / "manifest.json"
        entries = {name: entry for name, entry in json.loads(path.read_text()).items() if name != stage}
        path.write_text(json.dumps(entries))
    code, complaints, text = report(run)
    assert (code, complaints) == (0, []) and "**Not finished**" in text
    gates = [folder for folder, stage in STAGES[:done] if stage == "gate"]
    assert len(rows(text, "Gate")) == len(gates)
    assert not done or f"{len(gates)} of 2 iterations are over" in text
    assert (run / "report" / "report.png").stat().st_size > 10_000


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def retype(path):
    path.write_text("3")


FILES = ["config.json", "versions.json", "test/manifest.json", "test/after_users.json", "iterations/000/eval_users.json"]
FILES += ["iterations/001/manifest.json", "iterations/002/training.json"]


@pytest.fixture(scope="module")
def whole(undisturbed):
    """The text of the report of the run as it was."""
    return markdown.report(read_run(str(undisturbed)), "report.png")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", [truncate, retype], ids=lambda one: one.__name__)
def test_a_damaged_file_is_named_and_the_rest_is_told(run, report, whole, name, damage):
    damage(run / name)
    code, complaints, text = report(run)
    assert code == 1 and len(complaints) == 1 and complaints[0].startswith(f"amemgym-train: {name} ")
    assert name in text.partition("## What could not be read")[2] and str(run) not in text
    kept = set(re.findall("^## .*", whole, re.MULTILINE)) & set(re.findall("^## .*", text, re.MULTILINE))
    assert len(kept) >= 7 and rows(text, "Gate")


@pytest.mark.parametrize("name", ["versions.json", "iterations/001/eval_users.json"])
def test_a_missing_file_is_named(run, report, name):
    (run / name).unlink()
    code, complaints, _ = report(run)
    assert code == 1 and [f"amemgym-train: {name} is missing" in line for line in complaints] == [True]


def test_figures_that_a_stage_did_not_save_are_left_out(run, report):
    (run / "test" / "after_users.json").write_text('{"one": 1.0, "two": 1.0}')
    code, [complaint], text = report(run)
    assert code == 1 and "test/after_users.json is not what its stage saved" in complaint
    assert "1.000 [1.000, 1.000]" not in text


def test_no_run_there(report, tmp_path):
    code, [complaint], _ = report(tmp_path / "nothing")
    assert code == 2 and "no run in" in complaint


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/jane doe/models/llama", "llama"),
        ("~/models/llama", "llama"),
        ("../adapter/", "adapter"),
        ("scenarios.test={data: /data/users.json, user_offset: 3}", "scenarios.test={data: users.json, user_offset: 3}"),
        ("http://10.0.0.7:8000/v1", "(address)"),
        ("hf_abcdefghijklmnopqrstuvwxyz", "(key)"),
        ("owner/model-7b", "owner/model-7b"),
        ("recipes/configs/quickstart.yaml", "recipes/configs/quickstart.yaml"),
        ("3/4 of all", "3/4 of all"),
    ],
)
def test_what_is_masked(text, shown):
    assert masked(text) == shown and masked({"key": [text]}) == {"key": [shown]}


@given(st.lists(st.text("abcdefg_-. ", min_size=1, max_size=8).filter(lambda name: name.strip(". ")), min_size=2, max_size=5))
def test_of_a_path_only_its_last_name_is_left(names):
    path = "/" + "/".join(names)
    assert "/" not in masked(path) and masked(path) == names[-1]
    assert masked(masked(path)) == masked(path)
