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
import sys
from amemgym_train.config.tracking import TrackingConfig
from amemgym_train.tracking.tracker import Tracker

with Tracker(sys.argv[1], TrackingConfig(wandb="offline"), {"seed": 0}) as tracker:
    for step in range(int(sys.argv[2]), int(sys.argv[3])):
        tracker.log({"loss": step / 8}, step, "train")
"""


class Recorder:
    """Stands where the W&B run does and keeps what it is sent."""

    id = "abc"

    def __init__(self):
        self.points = []
        self.exit_code = None

    def define_metric(self, name, step_metric=None):
        pass

    def log(self, values):
        self.points.append(values)

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


def test_two_processes_are_one_offline_run(tmp_path):
    pytest.importorskip("wandb")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry), "WANDB_SILENT": "true"}
    for first, last in [(0, 3), (1, 5)]:
        subprocess.run([sys.executable, "-c", PROCESS, str(tmp_path), str(first), str(last)], check=True, env=env)
    assert [line["step"] for line in read_metrics(tmp_path / "metrics.jsonl")] == [0, 1, 2, 3, 4]
    identity = json.loads((tmp_path / "wandb_run.json").read_text())["id"]
    stored = list((tmp_path / "wandb").glob("offline-run-*/run-*.wandb"))
    assert len(stored) == 2
    assert {path.stem for path in stored} == {f"run-{identity}"}


def test_wandb_gets_every_point_once_on_the_stages_own_axis(tmp_path, runs):
    for steps in [(0, 1, 2), (1, 2, 3)]:
        with Tracker(tmp_path, TrackingConfig(wandb="offline")) as tracker:
            for step in steps:
                tracker.log({"loss": step}, step, "train")
    (first, run), (second, resumed) = runs
    assert (first["resume"], first["mode"]) == ("allow", "offline")
    assert second["id"] == run.id
    assert run.points == [{"train/loss": step, "train/step": step} for step in (0, 1, 2)]
    assert resumed.points == [{"train/loss": 3, "train/step": 3}]
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


def test_a_refused_login_is_told_and_leaves_no_run(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")

    def init(**arguments):
        raise wandb.errors.UsageError("No API key configured")

    monkeypatch.setattr(wandb, "init", init)
    refused = pytest.raises(UserError, match="No API key configured\nLog in with: wandb login")
    with refused, Tracker(tmp_path, TrackingConfig(wandb="online")):
        pass
    assert not (tmp_path / "wandb_run.json").exists()


def test_a_broken_run_id_is_told(tmp_path, runs):
    (tmp_path / "wandb_run.json").write_text("{")
    with pytest.raises(UserError, match="wandb_run.json"), Tracker(tmp_path, TrackingConfig(wandb="offline")):
        pass
    assert runs == []
