import builtins
import json
import os
import subprocess
import sys

import pytest

from amemgym_train.config.tracking import TrackingConfig
from amemgym_train.errors import UserError
from amemgym_train.tracking.metrics import read_metrics
from amemgym_train.tracking.tracker import Tracker

PROCESS = """
import os, signal, sys
from amemgym_train.config.tracking import TrackingConfig
from amemgym_train.tracking.tracker import Tracker

with Tracker(sys.argv[1], TrackingConfig(wandb="offline"), {"seed": 0}) as tracker:
    for step in range(int(sys.argv[2]), int(sys.argv[3])):
        tracker.log({"loss": step / 8}, step, "train")
    if sys.argv[4]:
        os.kill(os.getpid(), signal.SIGKILL)
"""


class Recorder:
    """Stands where the W&B run does and keeps what it is sent."""

    dir = "wandb/offline-run-1/files"

    def __init__(self):
        self.points, self.rows = [], []
        self.exit_code = None

    def define_metric(self, name, step_metric=None):
        pass

    def log(self, values, step):
        self.points.append(values)
        self.rows.append(step)

    def finish(self, exit_code):
        self.exit_code = exit_code


@pytest.fixture
def runs(monkeypatch):
    """The runs that wandb.init was asked for: its arguments, and the run it gave."""
    wandb = pytest.importorskip("wandb")
    given = []

    def init(**arguments):
        given.append((arguments, Recorder()))
        return given[-1][1]

    monkeypatch.setattr(wandb, "init", init)
    return given


def test_metrics_are_local_without_wandb(tmp_path):
    with Tracker(tmp_path / "runs" / "a", TrackingConfig()) as tracker:
        tracker.log({"loss": 1.0}, 3, "train")
    (line,) = read_metrics(tmp_path / "runs" / "a" / "metrics.jsonl")
    assert (line["stage"], line["step"], line["loss"]) == ("train", 3, 1.0)
    assert not (tmp_path / "runs" / "a" / "wandb_run.json").exists()


def test_a_killed_process_and_the_next_are_one_offline_run(tmp_path, stored):
    """No step is there twice or lost, though W&B had not yet written what the killed process had sent."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry), "WANDB_SILENT": "true"}
    first = subprocess.run([sys.executable, "-c", PROCESS, str(tmp_path), "0", "3", "kill"], env=env)
    assert first.returncode == -9
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"stage": "tra')  # the kill came in the middle of a line
    subprocess.run([sys.executable, "-c", PROCESS, str(tmp_path), "0", "5", ""], check=True, env=env)
    lines = read_metrics(tmp_path / "metrics.jsonl")
    assert [(line["step"], line["loss"]) for line in lines] == [(step, step / 8) for step in range(5)]
    identity = json.loads((tmp_path / "wandb_run.json").read_text())["id"]
    assert len(list((tmp_path / "wandb").glob("killed-run-*"))) == 1
    subprocess.run([sys.executable, "-c", PROCESS, str(tmp_path), "4", "7", ""], check=True, env=env)
    processes = stored(tmp_path)
    assert len(processes) == 2  # both of one id, which wandb sync puts together
    assert {record.run.run_id for process in processes for record in process if record.HasField("run")} == {identity}
    rows = [
        {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        for process in processes
        for record in process
        if record.HasField("history")
    ]
    sent = [(row["train/step"], row["train/loss"], row["_step"]) for row in rows]
    assert sent == [(step, step / 8, step + 1) for step in range(7)]
    defined = {record.metric.name or record.metric.glob_name for record in processes[1] if record.HasField("metric")}
    assert {"train/step", "train/*"} <= defined


def test_wandb_gets_every_point_once_on_the_stages_own_axis(tmp_path, runs):
    for steps in [(0, 1, 2), (1, 2, 3)]:
        with Tracker(tmp_path, TrackingConfig(wandb="offline")) as tracker:
            for step in steps:
                tracker.log({"loss": step}, step, "train")
    (first, run), (second, resumed) = runs
    assert (first["resume"], first["mode"]) == ("allow", "offline")
    assert second["id"] == first["id"]
    assert run.points == [{"train/loss": step, "train/step": step} for step in (0, 1, 2)]
    assert resumed.points == [{"train/loss": 3, "train/step": 3}]
    assert run.rows + resumed.rows == [1, 2, 3, 4]
    assert resumed.exit_code == 0


def test_points_from_before_wandb_was_asked_for_are_sent_when_logged_again(tmp_path, runs):
    for wandb in ("off", "offline"):
        with Tracker(tmp_path, TrackingConfig(wandb=wandb)) as tracker:
            tracker.log({"loss": 1.0}, 0, "train")
    assert [run.points for _, run in runs] == [[{"train/loss": 1.0, "train/step": 0}]]


def test_a_failed_run_is_marked(tmp_path, runs):
    with pytest.raises(RuntimeError), Tracker(tmp_path, TrackingConfig(wandb="offline")):
        raise RuntimeError("training broke")
    assert runs[0][1].exit_code == 1


def test_wandb_that_is_not_installed_is_told(tmp_path, monkeypatch):
    real = builtins.__import__

    def without_wandb(name, *rest):
        if name == "wandb":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_wandb)
    refused = pytest.raises(UserError, match=r"pip install 'amemgym-train\[wandb\]'")
    with refused, Tracker(tmp_path, TrackingConfig(wandb="offline")):
        pass


def test_nobody_logged_in_is_told_before_any_work(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    refused = pytest.raises(UserError, match="nobody is logged in to W&B. Nothing was started.\nLog in with: wandb login; ")
    with refused, Tracker(tmp_path / "run", TrackingConfig(wandb="online")):
        pass
    assert not (tmp_path / "run" / "wandb_run.json").exists()


def test_a_run_that_wandb_refuses_is_told_and_leaves_no_run(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")

    def init(**arguments):
        raise wandb.errors.CommError("no such project")

    monkeypatch.setattr(wandb, "init", init)
    refused = pytest.raises(UserError, match="W&B refused a run of project amemgym-train: no such project\nLog in with")
    with refused, Tracker(tmp_path, TrackingConfig(wandb="offline")):
        pass
    assert not (tmp_path / "wandb_run.json").exists()


@pytest.mark.parametrize("content", ["{", "3", '{"id": 3}', '{"id": "a", "sent": {"train": "x"}}'])
def test_a_broken_ledger_is_told(tmp_path, runs, content):
    (tmp_path / "wandb_run.json").write_text(content)
    with pytest.raises(UserError, match="wandb_run.json"), Tracker(tmp_path, TrackingConfig(wandb="offline")):
        pass
    assert runs == []


def scalars(folder):
    """{tag: [(step, value)]} of all event files in the order they were written."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder)).Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_gets_every_point_once(tmp_path):
    pytest.importorskip("tensorboard")
    for steps in [(0, 1, 2), (1, 2, 3)]:
        with Tracker(tmp_path, TrackingConfig(report_to=["tensorboard"])) as tracker:
            for step in steps:
                tracker.log({"loss": step / 8, "name": "text", "broken": float("nan")}, step, "train")
    assert scalars(tmp_path / "tensorboard") == {"train/loss": [(step, step / 8) for step in range(4)]}


def test_trackio_is_passed_the_same(tmp_path, monkeypatch):
    import types

    points, begun = [], []

    class Run:
        def log(self, metrics, step):
            points.append((metrics, step))

        def finish(self):
            points.append("finished")

    monkeypatch.setitem(sys.modules, "trackio", types.SimpleNamespace(init=lambda **given: begun.append(given) or Run()))
    for _ in range(2):
        with Tracker(tmp_path, TrackingConfig(report_to=["trackio"])) as tracker:
            tracker.log({"loss": 0.5}, 1, "train")
    assert points == [({"train/loss": 0.5}, 1), "finished", "finished"]
    assert begun[0] == begun[1] and begun[0]["resume"] == "allow"


@pytest.mark.parametrize("name, module", [("tensorboard", "torch.utils.tensorboard"), ("trackio", "trackio")])
def test_a_board_that_is_not_installed_is_told(tmp_path, monkeypatch, name, module):
    monkeypatch.setitem(sys.modules, module, None)
    refused = pytest.raises(UserError, match=f"tracking.report_to names {name}, which is not installed .*pip install {name}")
    with refused, Tracker(tmp_path, TrackingConfig(report_to=[name])):
        pass
