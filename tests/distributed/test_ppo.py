"""PPO by ``accelerate launch``: the same updates in one process, two, and two that share the model; killed, it goes on."""

import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors import safe_open

ROOT = Path(__file__).resolve().parents[2]
STEPS, UPDATES = 3, 4
# Small steps: of a gradient that is all but 0 Adam makes an update of rounding errors, and one other token ends the likeness.
# Some updates go further than max_kl, most by far less or more, so that all launches leave out the same ones.
PPO = ["evolution.iterations=1", "evaluation.controls=[]", "credit.scheme=blend", "training.learning_rate=3e-4"]
PPO += [f"training.ppo.steps={STEPS}", "training.ppo.level=token", "training.ppo.max_kl=1.2e-5"]
PPO += ["training.ppo.kl=loss", "training.ppo.kl_coef=0.1", "training.ppo.kl_target=1e-4"]
CRITICS = {"shared": [*PPO, "training.ppo.value_trunk=shared"], "adapter": [*PPO, "training.ppo.value_trunk=adapter"]}
DISTRIBUTED = {"cpu_ddp": "MULTI_CPU", "cpu_zero2": "DEEPSPEED", "cpu_zero3": "DEEPSPEED", "cpu_fsdp2": "FSDP"}


@pytest.fixture
def started(amemgym_train, tmp_path):
    """Starts recipes/ppo.py with the named launch file, or without one; its log goes to a file."""
    processes = []

    def start(config, *arguments):
        if config is None:
            words = amemgym_train.command("evolve", *arguments, "training.method=ppo")
        elif "zero" in config and importlib.util.find_spec("deepspeed") is None:
            pytest.skip("deepspeed is not installed; pip install amemgym-train[deepspeed]")
        else:
            words = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0", "--config_file"]
            words += [ROOT / "accelerate_configs" / f"{config}.yaml", ROOT / "recipes" / "ppo.py", *arguments]
        with (tmp_path / "log").open("w") as log:
            processes.append(subprocess.Popen(list(map(str, words)), env=amemgym_train.env, stdout=log, stderr=log))
        return processes[-1]

    yield start
    for process in processes:
        if process.poll() is None:
            process.terminate()
            process.wait()


def until(process, path, folder):
    """Waits until ``path`` is there; None: until the process has ended well."""
    deadline = time.monotonic() + 400
    while process.poll() is None if path is None else not path.exists():
        running = process.poll() is None
        assert running and time.monotonic() < deadline, (folder / "log").read_text()[-3000:]
        time.sleep(0.05)
    assert path is not None or process.returncode == 0, (folder / "log").read_text()[-3000:]


def steps_of(run):
    log = json.loads((run / "iterations" / "001" / "training.json").read_text())
    return [entry for entry in log if "tokens_sampled" in entry]


def weights_of(run):
    """Of the adapter and of the head beside it, and the state that was saved with the head."""
    weights = {}
    for name in ("adapter_model", "value_head"):
        with safe_open(run / "iterations" / "001" / "adapter" / f"{name}.safetensors", "pt") as file:
            weights |= {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
            state = (file.metadata() or {}).get("state")
    return weights, json.loads(state)


@pytest.fixture(scope="session", params=["shared"])
def keys(request):
    """Those of a run whose critic is a head on the policy, or has an adapter of its own."""
    return CRITICS[request.param]


@pytest.fixture(scope="session")
def alone(keys, write_recipe, in_process, tmp_path_factory):
    """The run folder of one process that nothing disturbed."""
    folder = tmp_path_factory.mktemp("alone_ppo")
    result = in_process("evolve", write_recipe(folder), *keys, "training.method=ppo")
    assert result.returncode == 0, result.stderr
    return folder / "runs" / "tiny"


def test_the_steps_of_one_process_are_sound(alone):
    steps = steps_of(alone)
    assert [entry["step"] for entry in steps] == [UPDATES * number for number in range(1, STEPS + 1)]
    assert all(entry["episodes"] == 8 and entry["unscorable"] == 0 and entry["rows"] > 0 for entry in steps)
    assert all(entry["sampler_gap/mean"] < 1e-4 for entry in steps)  # one model samples and learns
    assert all(entry["value_loss"] > 0 and 0 < entry["entropy"] < 10 and entry["approx_kl"] >= 0 for entry in steps)
    assert {entry["early_stop"] for entry in steps} == {0.0, 1.0}  # both kinds are here
    assert all((entry["updates"] < UPDATES) == (entry["early_stop"] == 1) and entry["updates"] >= 1 for entry in steps)
    assert steps[0]["reference_kl"] == 0 and steps[0]["kl_coef"] == 0.1  # a new adapter is the reference
    assert [entry["kl_coef"] for entry in steps[1:]] != [0.1] * (STEPS - 1)
    assert steps[0]["explained_variance"] == pytest.approx(0, abs=1e-6)  # the critic begins with one value for all
    logged = [json.loads(line) for line in (alone / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in logged if line["stage"] == "ppo"] == list(range(1, STEPS + 1))
    weights, state = weights_of(alone)
    assert weights["weight"].abs().max() > 1e-4 and state["kl_coef"] != 0.1 and state["scale"] > 0.01


@pytest.fixture
def assert_the_same_steps(alike):
    """Of a run and of one in one process: a sum over two differs from one in its last digits only."""

    def check(run, alone, config):
        manifest = json.loads((run / "iterations" / "001" / "manifest.json").read_text())
        assert manifest["train"]["result"]["distributed"] == DISTRIBUTED[config]
        counts = ("rows", "episodes", "tokens_sampled", "tokens_trained", "reward/write", "reward/answer", "updates")
        figures = dict.fromkeys(("grad_norm", "entropy", "value_loss", "returns_mean", "kl_coef"), 1e-6)
        same = alike(steps_of(run), steps_of(alone), counts, figures)
        (ours, our_state), (theirs, their_state) = weights_of(run), weights_of(alone)
        assert ours.keys() == theirs.keys()
        if same:
            assert our_state == pytest.approx(their_state)
            assert max((ours[name] - theirs[name]).abs().max().item() for name in ours) < 2e-5

    return check


@pytest.mark.parametrize("keys, config", [("shared", "cpu_zero2"), ("adapter", "cpu_ddp")], indirect=["keys"])
def test_two_processes_take_the_same_steps(tmp_path, write_recipe, started, alone, assert_the_same_steps, keys, config):
    """Real episodes, real updates, in minibatches."""
    until(started(config, write_recipe(tmp_path), *keys), None, tmp_path)
    assert_the_same_steps(tmp_path / "runs" / "tiny", alone, config)


@pytest.mark.parametrize("keys, config", [("adapter", "cpu_zero3"), ("adapter", "cpu_fsdp2")], indirect=["keys"])
def test_two_that_share_the_model_take_them_even_when_they_are_stopped(
    tmp_path, write_recipe, started, alone, assert_the_same_steps, keys, config
):
    recipe, run = write_recipe(tmp_path), tmp_path / "runs" / "tiny"
    process, checkpoints = started(config, recipe, *keys), run / "iterations" / "001" / ".train.kept" / "checkpoints"
    until(process, checkpoints / f"checkpoint-{UPDATES}" / "whole", tmp_path)
    process.terminate()  # the launcher takes its processes with it
    process.wait()
    kept = max(checkpoints.glob("*/whole")).parent / "trainer_state.json"
    state = json.loads(kept.read_text())
    state["log_history"][0]["mark"] = 1
    kept.write_text(json.dumps(state))
    until(started(config, recipe, *keys), None, tmp_path)
    assert steps_of(run)[0]["mark"] == 1  # that step was not taken again
    assert_the_same_steps(run, alone, config)


@pytest.mark.parametrize("keys", ["adapter"], indirect=True)
def test_a_killed_run_goes_on_behind_its_last_whole_step(tmp_path, write_recipe, started, alone, keys, outcome):
    recipe, run = write_recipe(tmp_path), tmp_path / "runs" / "tiny"
    checkpoints = run / "iterations" / "001" / ".train.kept" / "checkpoints"
    for awaited in ("checkpoint-4/whole", "checkpoint-8"):  # the second time it is killed while it writes
        process = started(None, recipe, *keys)
        until(process, checkpoints / awaited, tmp_path)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not (run / "iterations" / "001" / "training.json").exists()
    kept = {path.parent.name for path in checkpoints.glob("*/whole")}
    assert kept and kept <= {"checkpoint-4", "checkpoint-8"}  # never in the middle of a step's updates
    until(started(None, recipe, *keys), None, tmp_path)
    (_, _, files), (_, _, expected) = outcome(run), outcome(alone)
    assert files == expected and any(name.endswith("value_head.safetensors") for name in files)  # byte for byte
    assert [step["step"] for step in steps_of(run)] == [UPDATES * number for number in range(1, STEPS + 1)]
