"""A new run that begins with what another has done: what it takes over and refuses, and that the other stays as it is."""

import json
import shutil

import pytest

from amemgym_train.config.load import load_recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution.fork import fork
from amemgym_train.evolution.manifest import entries_of


@pytest.fixture
def source(undisturbed, tmp_path):
    """A copy of a finished run of two iterations: (its recipe's path, overrides that name the copy)."""
    shutil.copytree(undisturbed, tmp_path / "runs" / "tiny", symlinks=True)
    return undisturbed.parents[1] / "tiny.yaml", [f"output={tmp_path / 'runs'}"]


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


def test_a_fork_of_all_that_is_done_ends_where_the_run_ended(source, in_process, tmp_path, outcome):
    path, words = source
    before = contents(tmp_path / "runs" / "tiny")
    result = in_process("evolve", path, *words, "--fork", "same")
    assert result.returncode == 0, result.stderr
    assert "\niteration " not in result.stdout and "\ntest: after" in result.stdout  # the last test of a run is its own
    whole, again = (json.loads((tmp_path / "runs" / name / "summary.json").read_text()) for name in ("tiny", "same"))
    for key in ("test", "best_iteration", "iterations"):
        assert again[key] == whole[key]
    assert contents(tmp_path / "runs" / "tiny") == before
    done = contents(tmp_path / "runs" / "same")
    result = in_process("evolve", path, *words, "--fork", "same")  # the same command again goes on with it
    assert result.returncode == 0 and "iteration" not in result.stdout.partition("\n")[2].partition("test users before")[0]
    assert {name: text for name, text in done.items() if "iterations" in name.parts} == {
        name: text for name, text in contents(tmp_path / "runs" / "same").items() if "iterations" in name.parts
    }


def test_another_way_of_training_begins_after_the_iteration_that_is_named(source, in_process, tmp_path):
    path, words = source
    changed = [*words, "training.learning_rate=5e-4", "--fork", "slower", "--from", "1"]
    result = in_process("evolve", path, *changed)
    assert result.returncode == 0, result.stderr
    old, new = (tmp_path / "runs" / name / "iterations" for name in ("tiny", "slower"))
    for number in ("000", "001"):
        assert contents(new / number) == contents(old / number)
    inputs = [entries_of(one / "002" / "manifest.json")["train"]["inputs"]["recipe"] for one in (old, new)]
    assert inputs[0] != inputs[1] and "iteration 1 of" not in result.stdout
    assert (new / "002" / "adapter" / "adapter_model.safetensors").read_bytes() != (
        old / "002" / "adapter" / "adapter_model.safetensors"
    ).read_bytes()


@pytest.mark.parametrize(
    "changed",
    ["seed=3", "scenarios.test.num_users=3", "agent.max_new_tokens.read=9", "evaluation.upper=model", "policy.dtype=bfloat16"],
)
def test_what_decided_the_scores_cannot_change(source, changed, tmp_path):
    path, words = source
    with pytest.raises(UserError, match=rf"--fork: {changed.partition('=')[0]} decided how .* name=\.\.\. policy\.adapter="):
        fork(load_recipe(path, [*words, changed]), "other")
    assert sorted(one.name for one in (tmp_path / "runs").iterdir()) == ["tiny"]


def test_a_fork_needs_something_to_begin_with_and_a_name_of_its_own(source, tmp_path):
    path, words = source
    recipe = load_recipe(path, words)
    with pytest.raises(UserError, match="cannot be forked from iteration 3, iterations 0 to 2 are finished"):
        fork(recipe, "other", 3)
    with pytest.raises(UserError, match="no iteration of it is finished"):
        fork(load_recipe(path, [*words, "name=nothing"]), "other")
    with pytest.raises(UserError, match="no name for a run"):
        fork(recipe, "../other")
    (tmp_path / "runs" / "taken").mkdir()
    with pytest.raises(UserError, match="exists and is no fork of"):
        fork(recipe, "taken")
    fork(recipe, "one", 1)
    with pytest.raises(UserError, match="is a fork already, of iteration 1"):
        fork(recipe, "one", 2)


def test_a_best_that_was_removed_cannot_be_gone_on_from(source, tmp_path):
    path, words = source
    recipe = load_recipe(path, words)
    best = json.loads((tmp_path / "runs" / "tiny" / "summary.json").read_text())["best_iteration"]
    here = tmp_path / "runs" / "tiny" / "iterations" / f"{best:03d}" / "manifest.json"
    written = json.loads(here.read_text())
    written["evaluate"]["pruned"] = ["eval_episodes"]
    here.write_text(json.dumps(written))
    with pytest.raises(UserError, match="evolution.keep_last has removed it; fork from a later one"):
        fork(recipe, "other")


def test_the_iteration_goes_with_a_fork(source, in_process):
    path, words = source
    result = in_process("evolve", path, *words, "--from", "1")
    assert result.returncode == 2 and "--from goes with --fork NAME" in result.stderr and "Traceback" not in result.stderr
