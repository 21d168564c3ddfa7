"""``launcher: accelerate``: every stage a real launch, on one machine and on two, and what becomes of it when something dies."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from amemgym_train.config.load import load_recipe
from amemgym_train.evolution.launcher import command
from amemgym_train.evolution.manifest import entries_of

FILES = Path(__file__).resolve().parents[2] / "accelerate_configs"
SHORT = ["evolution.iterations=1", "evaluation.controls=[]"]
STAGES = ["evaluate", "rollout", "diagnose", "train", "gate"]


def launched(config):
    return ["evolution.launcher=accelerate", f"evolution.launch.file={FILES / config}.yaml"]


@pytest.fixture
def started(tmp_path, write_recipe, amemgym_train):
    """Starts the tiny recipe by a launch of each stage; its output goes to a file beside it."""
    processes = []

    def start(config, *words, name="log"):
        recipe = write_recipe(tmp_path)
        with (tmp_path / name).open("w") as log:
            words = amemgym_train.command("evolve", recipe, *launched(config), *SHORT, *words)
            processes.append(subprocess.Popen(words, env=amemgym_train.env, stdout=log, stderr=subprocess.STDOUT))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()


def ranks_of(process, count):
    """The ranks of the launch at work, by their number, once there are so many."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None
        found = {}
        for child in psutil.Process(process.pid).children(recursive=True):
            try:
                environment = child.environ()
                if "RANK" in environment and "TORCHELASTIC_RUN_ID" in environment:
                    found[int(environment["RANK"])] = child
            except psutil.Error:
                continue
        if len(found) == count:
            return found
        time.sleep(0.1)
    pytest.fail(f"never {count} ranks")


def alive(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it may end between two looks
        return False


def gone(processes):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not any(map(alive, processes)):
            return True
        time.sleep(0.1)
    return False


def made(run, folder):
    """What the stages of a folder were given, made and found, but for their seconds."""
    books = entries_of(run / folder / "manifest.json")
    results = {name: {key: value for key, value in book["result"].items() if key != "seconds"} for name, book in books.items()}
    return {name: (book["inputs"], book["outputs"], results[name]) for name, book in books.items()}


def test_launched_stages_make_what_stages_in_one_process_make(tmp_path, write_recipe, amemgym_train, undisturbed):
    result = amemgym_train("evolve", write_recipe(tmp_path), *launched("cpu_single"), *SHORT)
    assert result.returncode == 0, result.stderr
    run = tmp_path / "runs" / "tiny"
    for folder in ("iterations/000", "iterations/001"):
        assert made(run, folder).keys() == made(undisturbed, folder).keys()
        for stage, found in made(run, folder).items():
            # the recipe's hash differs by evaluation.controls
            theirs = made(undisturbed, folder)[stage]
            assert {**found[0], "recipe": 0} == {**theirs[0], "recipe": 0} and found[1:] == theirs[1:], (folder, stage)
    logs = sorted(path.name for path in (run / "logs").iterdir())
    launches = ["000-evaluate", "001-evaluate", "001-rollout", "001-train", "test-after", "test-before"]
    assert logs == [f"{name}.log" for name in launches]
    assert "iteration 1 of 1: train (log: " in result.stdout
    assert "accelerate.commands.launch" in (run / "logs" / "001-train.log").read_text()
    assert json.loads((run / "summary.json").read_text())["iterations"][0]["validation"] == (
        json.loads((undisturbed / "summary.json").read_text())["iterations"][0]["validation"]
    )


@pytest.mark.parametrize("config, rank", [("cpu_ddp", 1), ("cpu_zero2", 0)])
def test_a_killed_rank_ends_the_run_with_its_name(tmp_path, started, config, rank):
    if "zero" in config:
        pytest.importorskip("deepspeed")
    process = started(config)
    ranks = ranks_of(process, 2)
    ranks[rank].kill()
    since = time.monotonic()
    assert process.wait(60) == 2 and time.monotonic() - since < 60
    told = (tmp_path / "log").read_text()
    assert "Traceback" not in told.partition("amemgym-train: ")[0] and gone(ranks.values())
    message = told[told.index("amemgym-train: ") :]
    who = f"Rank {rank} (pid {ranks[rank].pid})"
    assert message.startswith(f"amemgym-train: test: stage before failed. {who} was killed by SIGKILL")
    assert "test-before.log:\n  | " in message and "run the same command again" in message


def test_what_a_user_can_mend_is_one_line(tmp_path, write_recipe, amemgym_train, model_folder):
    broken = Path(shutil.copytree(model_folder, tmp_path / "broken"))
    (broken / "model.safetensors").write_bytes((broken / "model.safetensors").read_bytes()[:100])
    recipe = write_recipe(tmp_path)
    result = amemgym_train("evolve", recipe, *launched("cpu_ddp"), *SHORT, f"policy.model={broken}")
    assert result.returncode == 2
    assert result.stderr.startswith("amemgym-train: test: stage before failed. policy.model: cannot load ")
    assert "Traceback" not in result.stderr and len(result.stderr.splitlines()) == 2 and "Log: " in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_passed_on(tmp_path, started, number):
    process = started("cpu_ddp")
    ranks = ranks_of(process, 2)
    process.send_signal(number)
    assert process.wait(60) == 130 and gone(ranks.values())
    told = (tmp_path / "log").read_text()
    assert "interrupted; finished stages are kept" in told and "Traceback" not in told


def test_launched_processes_do_not_outlive_the_one_that_was_killed(tmp_path, started):
    first = started("cpu_ddp")
    ranks = ranks_of(first, 2)
    second = started("cpu_ddp", name="second")
    assert second.wait(60) == 2
    assert f"process {first.pid} on {socket.gethostname()} (since " in (tmp_path / "second").read_text()
    first.kill()
    first.wait()
    third = started("cpu_ddp", name="third")  # at once: it waits for what is left of the first
    assert gone(ranks.values())
    ranks_of(third, 2)
    third.send_signal(signal.SIGTERM)
    assert third.wait(60) == 130, (tmp_path / "third").read_text()


def test_two_machines_work_on_one_run(tmp_path, started, undisturbed):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    meet = "evolution.launch.arguments=[--num_machines, '2', --num_processes, '2', --main_process_ip, 127.0.0.1]"
    words = [meet, f"evolution.launch.port={port}"]
    machines = [started("cpu_ddp", *words, "--machine-rank", str(number), name=f"machine-{number}") for number in (0, 1)]
    codes = [process.wait(200) for process in machines]
    assert codes == [0, 0], [(tmp_path / f"machine-{number}").read_text()[-3000:] for number in (0, 1)]
    run = tmp_path / "runs" / "tiny"
    shards = [path.name for path in sorted((run / "iterations/001/episodes").iterdir())]
    assert shards == ["part-000.parquet", "part-001.parquet"]
    rows = [json.loads((one / "iterations/001/rows.json").read_text()) for one in (run, undisturbed)]
    assert rows[0] == rows[1] and list(entries_of(run / "iterations/001/manifest.json")) == STAGES[1:4] + ["evaluate", "gate"]
    logs = {path.name for path in (run / "logs").iterdir()}
    assert {"001-train.log", "001-train.machine-1.log"} <= logs and "001-gate.log" not in logs


def test_the_launch_file_says_where_and_the_recipe_how_many(tmp_path, write_recipe):
    path = write_recipe(tmp_path)
    recipe = load_recipe(path, [*launched("zero3"), "evolution.launch.arguments=[--num_processes, '4']"])
    words = command(recipe, 0, "run", "folder", "train")
    assert words[1:] == [
        *("-m", "accelerate.commands.launch", "--config_file", str(FILES / "zero3.yaml"), "--main_process_port", "0"),
        *("--num_processes", "4", "--module", "amemgym_train.evolution.stage", "run", "folder", "train"),
    ]
    assert "--machine_rank" in command(recipe, 3, "train") and os.path.isabs(words[0])
