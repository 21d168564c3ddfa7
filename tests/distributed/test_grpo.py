"""On-policy training by ``accelerate launch``: the same trajectory in one process, two, and two that share the model."""

import importlib.util
import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parents[2]
STEPS = 4
# The tiny model writes little that is true: by the outcome part of the blend its calls differ all the same.
GRPO = ["evolution.iterations=1", f"training.grpo.steps={STEPS}", "evaluation.controls=[]", "credit.scheme=blend"]
# Small steps: of a gradient that is all but 0 Adam makes an update of rounding errors, and one other token ends the likeness.
GRPO += ["training.learning_rate=3e-4"]
RETRY = [*GRPO, "training.grpo.steps=2", "training.grpo.epochs=2", "reflection.retry={episodes: 2, weight: 0.5}"]
DISTRIBUTED = {"cpu_ddp": "MULTI_CPU", "cpu_fsdp2": "FSDP", "cpu_zero2": "DEEPSPEED", "cpu_zero3": "DEEPSPEED"}


@pytest.fixture
def launch(amemgym_train):
    """Runs recipes/grpo.py with the named launch file."""

    def run(config, *arguments):
        return subprocess.run(command(config, *arguments), capture_output=True, text=True, env=amemgym_train.env, timeout=500)

    def command(config, *arguments):
        if "zero" in config and importlib.util.find_spec("deepspeed") is None:
            pytest.skip("deepspeed is not installed; pip install amemgym-train[deepspeed]")
        start = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0", "--config_file"]
        words = [ROOT / "accelerate_configs" / f"{config}.yaml", ROOT / "recipes" / "grpo.py", *arguments]
        return [*start, *map(str, words)]

    run.command = command
    return run


def steps_of(run):
    log = json.loads((run / "iterations" / "001" / "training.json").read_text())
    return [entry for entry in log if "tokens_sampled" in entry]


@pytest.fixture(scope="module")
def alone_with(write_recipe, in_process, tmp_path_factory):
    """(keys) -> the run folder of one process, which plays those of each call once."""
    runs = {}

    def run(keys):
        if tuple(keys) not in runs:
            folder = tmp_path_factory.mktemp("alone")
            result = in_process("evolve", write_recipe(folder), *keys, "training.method=grpo")
            assert result.returncode == 0, result.stderr
            runs[tuple(keys)] = folder / "runs" / "tiny"
        return runs[tuple(keys)]

    return run


@pytest.fixture
def alone(alone_with):
    return alone_with(GRPO)


def test_the_steps_of_one_process_are_sound(alone):
    steps = steps_of(alone)
    assert [entry["step"] for entry in steps] == list(range(1, STEPS + 1))
    assert all(entry["episodes"] == 8 and entry["unscorable"] == 0 and entry["rows"] > 0 for entry in steps)
    assert all(entry["sampler_gap/mean"] < 1e-4 for entry in steps)  # one model samples and learns
    assert all(entry["grad_norm"] > 0 and 0 < entry["entropy"] < 10 for entry in steps)
    cells = [sum(entry[f"shares/{name}"] for name in ("correct", "write", "read", "utilisation")) for entry in steps]
    assert cells == pytest.approx([1.0] * STEPS, abs=1e-3)
    logged = [json.loads(line) for line in (alone / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in logged if line["stage"] == "grpo"] == list(range(1, STEPS + 1))


@pytest.fixture
def assert_the_same_steps(alike):
    """Of a run and of one in one process: a sum over two differs from one in its last digits only."""

    def check(run, alone, config):
        manifest = json.loads((run / "iterations" / "001" / "manifest.json").read_text())
        assert manifest["train"]["result"]["distributed"] == DISTRIBUTED[config]
        counts = ("rows", "episodes", "tokens_sampled", "tokens_trained", "reward/write", "reward/answer")
        same = alike(steps_of(run), steps_of(alone), counts, {"grad_norm": 0, "entropy": 0})
        saved = [folder / "iterations" / "001" / "adapter" / "adapter_model.safetensors" for folder in (run, alone)]
        ours, theirs = map(load_file, saved)
        assert ours.keys() == theirs.keys()
        if same:
            assert max((ours[name] - theirs[name]).abs().max().item() for name in ours) < 1e-4

    return check


@pytest.mark.parametrize("config", ["cpu_ddp", "cpu_zero2"])
def test_two_processes_take_the_same_steps(tmp_path, write_recipe, launch, alone, assert_the_same_steps, config):
    """Real episodes, real optimiser steps."""
    result = launch(config, write_recipe(tmp_path), *GRPO)
    assert result.returncode == 0, result.stderr[-3000:]
    assert_the_same_steps(tmp_path / "runs" / "tiny", alone, config)


def test_a_dry_run_counts_the_processes_of_its_launch(tmp_path, write_recipe, launch, alone):
    result = launch("cpu_zero3", write_recipe(tmp_path), *GRPO, "--dry-run", "--json")
    assert result.returncode == 0, result.stderr[-3000:]
    found = json.loads(result.stdout[result.stdout.index("{\n") :])  # one: of the main process; DeepSpeed may speak before it
    assert found["processes"] == {"count": 2, "device": "cpu", "sharing": "DeepSpeed ZeRO-3"}
    step = steps_of(alone)[0]
    assert found["batch"]["episodes"] == 2 * found["batch"]["episodes_per_process"] == step["episodes"]
    assert 2 * found["batch"]["rows"] == step["rows"] + step["rows_dropped"]
    assert found["model"]["bytes_playing"] == 2 * found["model"]["bytes"]
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("config, keys", [("cpu_zero3", RETRY), ("cpu_fsdp2", GRPO)], ids=["cpu_zero3, retry", "cpu_fsdp2"])
def test_two_that_share_the_model_take_them_even_when_they_are_stopped(
    tmp_path, write_recipe, launch, amemgym_train, alone_with, assert_the_same_steps, config, keys
):
    """With second tries, which are imitated in the same steps however many processes play them, and without."""
    recipe, run, alone = write_recipe(tmp_path), tmp_path / "runs" / "tiny", alone_with(keys)
    checkpoint = run / "iterations" / "001" / ".train.kept" / "checkpoints" / "checkpoint-2"
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(launch.command(config, recipe, *keys), env=amemgym_train.env, stdout=log, stderr=log)
    deadline = time.monotonic() + 200
    while not (checkpoint / "whole").exists():
        assert process.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text()[-2000:]
        time.sleep(0.05)
    process.terminate()  # the launcher takes its processes with it
    process.wait()
    kept = max(checkpoint.parent.glob("*/whole")).parent / "trainer_state.json"
    state = json.loads(kept.read_text())
    state["log_history"][0]["mark"] = 1
    kept.write_text(json.dumps(state))
    result = launch(config, recipe, *keys)
    assert result.returncode == 0, result.stderr[-3000:]
    assert steps_of(run)[0]["mark"] == 1  # that step was not taken again
    assert_the_same_steps(run, alone, config)
    for name in ("retry/tries", "retry/rows", "retry/tokens_sampled"):
        assert [step.get(name) for step in steps_of(run)] == [step.get(name) for step in steps_of(alone)], name


def test_second_tries_are_counted(alone_with):
    run = alone_with(RETRY)
    alone = steps_of(run)
    assert len(alone) == 2 and all(step["retry/tries"] == 4 for step in alone)  # two of each of two groups
    assert sum(step["retry/rows"] for step in alone) > 0
    summary = json.loads((run / "summary.json").read_text())["iterations"][0]["training"]
    assert summary["tokens_sampled"] == sum(step["tokens_sampled"] + step["retry/tokens_sampled"] for step in alone)


def test_a_killed_run_goes_on_behind_its_last_whole_step(tmp_path, write_recipe, amemgym_train, alone, outcome):
    recipe, run = write_recipe(tmp_path), tmp_path / "runs" / "tiny"
    command = amemgym_train.command("evolve", recipe, *GRPO, "training.method=grpo")
    checkpoints = run / "iterations" / "001" / ".train.kept" / "checkpoints"
    for torn in (False, True):
        process = subprocess.Popen(command, env=amemgym_train.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        awaited = checkpoints / ("checkpoint-3" if torn else "checkpoint-1/whole")  # the first is killed while it is written
        deadline = time.monotonic() + 200
        while not awaited.exists():
            assert process.poll() is None and time.monotonic() < deadline, process.stderr.read()[-2000:]
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (run / "iterations" / "001" / "training.json").exists()
    kept = {path.parent.name for path in checkpoints.glob("*/whole")}
    assert kept and kept <= {"checkpoint-1", "checkpoint-2", "checkpoint-3"}
    result = amemgym_train("evolve", recipe, *GRPO, "training.method=grpo")
    assert result.returncode == 0, result.stderr
    (_, _, files), (_, _, expected) = outcome(run), outcome(alone)
    assert files == expected  # the adapter's bytes are those of an undisturbed run
    assert [step["step"] for step in steps_of(run)] == list(range(1, STEPS + 1))
    assert math.isfinite(steps_of(run)[-1]["loss"])
