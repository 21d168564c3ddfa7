"""The evolution loop by ``accelerate launch``, in two CPU processes."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def launch(amemgym_train):
    """Runs recipes/evolve.py with the named launch file."""

    def run(config, *arguments):
        if "zero" in config and importlib.util.find_spec("deepspeed") is None:
            pytest.skip("deepspeed is not installed; pip install amemgym-train[deepspeed]")
        start = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0", "--config_file"]
        words = [ROOT / "accelerate_configs" / f"{config}.yaml", ROOT / "recipes" / "evolve.py", *arguments]
        return subprocess.run([*start, *map(str, words)], capture_output=True, text=True, env=amemgym_train.env, timeout=200)

    return run


@pytest.mark.parametrize("config, kind", [("cpu_ddp", "MULTI_CPU"), ("cpu_zero3", "DEEPSPEED"), ("cpu_fsdp2", "FSDP")])
def test_two_processes_play_train_and_evaluate_like_one(tmp_path, write_recipe, launch, undisturbed, config, kind):
    recipe, run = write_recipe(tmp_path), tmp_path / "runs" / "tiny"
    result = launch(config, recipe, "evolution.iterations=1", "training.batch_size=2")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("iteration 1 of 1: rollout\n") == 1  # one process speaks
    here, there = run / "iterations" / "001", undisturbed / "iterations" / "001"
    assert [path.name for path in sorted((here / "episodes").iterdir())] == ["part-000.parquet", "part-001.parquet"]
    for name in ("rows.json", "diagnosis.json"):
        assert json.loads((here / name).read_text()) == json.loads((there / name).read_text()), name
    assert (here / "adapter" / "adapter_model.safetensors").stat().st_size == (
        (there / "adapter" / "adapter_model.safetensors").stat().st_size
    )
    ours, theirs = (json.loads((folder / "manifest.json").read_text())["train"]["result"] for folder in (here, there))
    assert (ours["distributed"], theirs["distributed"]) == (kind, "NO")
    assert ours["steps"] == theirs["steps"]  # half the rows per process, twice the processes
    assert ours["loss"] == pytest.approx(theirs["loss"], rel=0.2)
    assert json.loads((run / "summary.json").read_text())["test"]["before"] == (
        json.loads((undisturbed / "summary.json").read_text())["test"]["before"]
    )


@pytest.fixture(scope="module")
def alone(write_recipe, in_process, undisturbed, tmp_path_factory):
    """(keys, run) of one iteration of DPO in one process, from a saved adapter on, as a second iteration would."""
    keys = [
        f"policy.adapter={undisturbed / 'iterations/001/adapter'}",
        *("training.method=dpo", "training.dpo.margin=0.1", "rollout.group_size=6", "sampling.temperature=0.9"),
        "credit.scheme=outcome",  # the tiny model writes little that is true, but its first writes end in other answers
        *("evolution.iterations=1", "evaluation.controls=[]", "reflection.retry.episodes=3"),
    ]
    folder = tmp_path_factory.mktemp("dpo")
    result = in_process("evolve", write_recipe(folder), *keys, "training.batch_size=2")
    assert result.returncode == 0, result.stderr
    return keys, folder / "runs" / "tiny"


@pytest.mark.parametrize("config, kind", [("cpu_zero3", "DEEPSPEED"), ("cpu_fsdp2", "FSDP")])
def test_two_processes_pair_and_train_like_one(tmp_path, write_recipe, launch, alone, config, kind):
    """DPO, whose reference is a second adapter on the same weights, after second tries."""
    keys, run = alone
    result = launch(config, write_recipe(tmp_path), *keys, "training.batch_size=1")
    assert result.returncode == 0, result.stderr
    here, there = (folder / "iterations" / "001" for folder in (tmp_path / "runs" / "tiny", run))
    kept = [json.loads((folder / "rows.json").read_text()) for folder in (here, there)]
    assert kept[0] == kept[1] and {"chosen", "rejected"} <= set(kept[0][0])
    books = [json.loads((folder / "manifest.json").read_text()) for folder in (here, there)]
    assert books[0]["retry"]["result"] == books[1]["retry"]["result"] and books[0]["retry"]["result"]["tries"] > 2
    ours, theirs = (book["train"]["result"] for book in books)
    assert (ours["distributed"], theirs["distributed"]) == (kind, "NO")
    assert ours["steps"] == theirs["steps"] and ours["loss"] == pytest.approx(theirs["loss"], rel=0.02)


@pytest.mark.parametrize("reflector", ["{kind: scripted}", "{kind: policy, max_new_tokens: 16}"])
def test_two_processes_find_the_prompts_that_one_finds(tmp_path, write_recipe, launch, in_process, reflector):
    prompts = "{cadence: iteration, proposals: 2, users: 2, alpha: 1.0, max_chars: 900}"
    keys = [f"reflection={{prompts: {prompts}, reflector: {reflector}}}", "training.method=none", "evaluation.controls=[]"]
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        words = [write_recipe(tmp_path / name), *keys, "evolution.iterations=1"]
        result = launch("cpu_ddp", *words) if name == "two" else in_process("evolve", *words)
        assert result.returncode == 0, result.stderr[-3000:]
        run = tmp_path / name / "runs" / "tiny"
        found.append(json.loads((run / "iterations/001/reflection.json").read_text()))
        assert not (run / "iterations/001/plays").exists() and list((run / "trials").iterdir())
    assert found[0] == found[1] and found[0]["counts"]["proposals"] == 2
    assert (found[0]["counts"]["refused_unreadable"] == 2) == ("policy" in reflector)
