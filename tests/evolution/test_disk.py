"""Really running out of room, on a small disk and by a limit on the size of files."""

import os
import re
import resource
import subprocess

import pytest

PAGE = 4096


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own in memory, of two megabytes."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def room(*paths):
    """Bytes that the files of ``paths`` take on a disk of pages."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    return sum(-(-file.stat().st_size // PAGE) * PAGE for file in files)


def test_a_stage_that_would_not_fit_is_not_begun(
    small_disk, tmp_path, write_recipe, amemgym_train, in_process, undisturbed, outcome
):
    recipe, output = write_recipe(tmp_path), f"output={small_disk / 'runs'}"
    done = room(undisturbed / "config.json", undisturbed / "iterations" / "000", *undisturbed.glob("test/before*"))
    disk = os.statvfs(small_disk)
    (small_disk / "filler").write_bytes(bytes(disk.f_bavail * disk.f_bsize - done - 12 * PAGE))
    failed = amemgym_train("evolve", recipe, output)
    assert (failed.returncode, "Traceback" in failed.stderr) == (2, False), failed.stderr
    message = failed.stderr.strip().splitlines()[-1]
    assert re.match(r"amemgym-train: iteration [01] of 2: stage \w+ needs about 66 KB of disk, \d+ KB are free in ", message)
    (small_disk / "filler").unlink()
    finished = in_process("evolve", recipe, output)
    assert finished.returncode == 0, finished.stderr
    assert "test: before\n" not in finished.stdout and "iteration 1 of 2: rollout\n" in finished.stdout
    assert outcome(small_disk / "runs" / "tiny") == outcome(undisturbed)


def test_a_limit_on_the_size_of_files_is_told_too(tmp_path, write_recipe, amemgym_train, in_process, undisturbed, outcome):
    recipe = write_recipe(tmp_path)
    adapter = (undisturbed / "iterations" / "001" / "adapter" / "adapter_model.safetensors").stat().st_size
    others = max(file.stat().st_size for file in undisturbed.rglob("*") if file.is_file() and file.suffix != ".safetensors")
    limit = (adapter + others) // 2
    assert others < limit < adapter
    failed = amemgym_train("evolve", recipe, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert (failed.returncode, "Traceback" in failed.stderr) == (2, False), failed.stderr
    assert "amemgym-train: iteration 1 of 2: no space left, stage train could not be saved in " in failed.stderr
    finished = in_process("evolve", recipe)
    assert finished.returncode == 0, finished.stderr
    assert "iteration 1 of 2: rollout\n" not in finished.stdout and "iteration 1 of 2: train\n" in finished.stdout
    assert outcome(tmp_path / "runs" / "tiny") == outcome(undisturbed)
