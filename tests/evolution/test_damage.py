"""A run whose folder was damaged: what can be made again is, and ends like the undisturbed run; the rest is refused in a line."""

import os
import shutil
import subprocess

import pytest

REPAIRED = {
    "a truncated adapter": ("001/adapter/adapter_model.safetensors", lambda content: content[: len(content) // 2], "train"),
    "a corrupted shard": ("001/episodes/part-000.parquet", lambda content: content[:200] + bytes(64) + content[264:], "rollout"),
    "an emptied shard": ("002/eval_episodes/part-000.parquet", lambda content: b"", "evaluate"),
    "an edited log": ("002/training.json", lambda content: content.replace(b"0.", b"1.", 1), "train"),
}
REFUSED = {
    "a manifest of another version": ("manifest.json", '{"format": 99, "train": {}}', "(format 99, this version has "),
    "a manifest cut off": ("manifest.json", '{"format"', "is damaged ("),
}


@pytest.fixture
def copied(tmp_path, write_recipe, undisturbed):
    """A recipe and its finished run."""
    run = tmp_path / "runs" / "tiny"
    shutil.copytree(undisturbed, run, symlinks=True)
    return write_recipe(tmp_path), run


def made(run):
    return {path: path.read_bytes() for path in (run / "iterations").rglob("*") if path.is_file()}


@pytest.mark.parametrize("damage", REPAIRED)
def test_what_can_be_made_again_is(copied, in_process, undisturbed, outcome, damage):
    (recipe, run), (file, change, stage) = copied, REPAIRED[damage]
    path = run / "iterations" / file
    whole = path.read_bytes()
    path.write_bytes(change(whole))
    assert path.read_bytes() != whole
    result = in_process("evolve", recipe)
    assert result.returncode == 0, result.stderr
    told = [line for line in result.stdout.splitlines() if "is done again, as" in line]
    assert len(told) == 1 and f": {stage} is done again, as {run}" in told[0] and "is not what it had saved" in told[0]
    assert outcome(run) == outcome(undisturbed) and path.read_bytes() == whole


@pytest.mark.parametrize("damage", REFUSED)
def test_what_cannot_be_understood_is_refused_and_left_alone(copied, amemgym_train, damage):
    (recipe, run), (file, content, told) = copied, REFUSED[damage]
    path = run / "iterations" / "002" / file
    path.write_text(content)
    before = made(run)
    result = amemgym_train("evolve", recipe)
    assert (result.returncode, "Traceback" in result.stderr) == (2, False), result.stderr
    assert str(path) in result.stderr and told in result.stderr and made(run) == before


def test_an_adapter_to_begin_with_that_is_cut_off(copied, tmp_path, amemgym_train):
    recipe, run = copied
    adapter = shutil.copytree(run / "iterations" / "002" / "adapter", tmp_path / "adapter")
    weights = adapter / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    result = amemgym_train("evolve", recipe, "name=new", f"policy.adapter={adapter}")
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith(f"amemgym-train: adapter {adapter} cannot be read (")
    assert result.stderr.endswith("save or copy it again\n") and "Traceback" not in result.stderr


def test_a_folder_that_can_only_be_read(copied, tmp_path, amemgym_train):
    """Even by root, who may write where the permissions say no, but not where the mount does."""
    recipe, run = copied
    if os.geteuid() != 0 or subprocess.run(["mount", "--bind", run, run], capture_output=True).returncode:
        pytest.skip("only root can mount a folder, and not everywhere")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", run], check=True)
        result = amemgym_train("evolve", recipe)
        assert result.returncode == 2 and "Traceback" not in result.stderr
        assert result.stderr.splitlines()[-1].startswith(f"amemgym-train: {run / '.lock'}: Read-only file system. Mend that path")
        plan = amemgym_train("evolve", recipe, "--dry-run")
        assert plan.returncode == 0 and "13 stages of it finished" in plan.stdout, plan.stdout + plan.stderr
        report = amemgym_train("report", run, "--out", tmp_path / "report")
        assert report.returncode == 0 and (tmp_path / "report").is_dir(), report.stderr
    finally:
        subprocess.run(["umount", run], check=True)
