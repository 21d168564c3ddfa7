"""Tables of episodes and artifacts, read back from what W&B keeps on disk, of a whole run whose stages need no model."""

import json
import os

import pytest

from amemgym_train.config.recipe import Recipe
from amemgym_train.config.tracking import TrackingConfig
from amemgym_train.evolution import stages
from amemgym_train.evolution.manifest import digest
from amemgym_train.evolution.run import evolve
from amemgym_train.evolution.shown import COLUMNS, rows
from amemgym_train.rollout.records import Answer, Episode, Memory, Probe
from amemgym_train.rollout.store import save_episodes
from amemgym_train.tracking.tracker import Tracker

SCORES = {"base": 0.2, "iteration-001": 0.5, "iteration-002": 0.4, "iteration-003": 0.6}


def episode(user):
    """Two periods of one question: a right answer; then the new city is not noted, and a wrong answer."""
    answers = [Answer(0, 0, 3, 1, 1, None), Answer(1, 0, 3, 2, 1, None)]
    probes = [
        Probe(0, 0, {"city": "Rome"}, {"city": "Rome"}, {"city": 0}, None),
        Probe(1, 0, {"city": "Oslo"}, {"city": "Rome"}, {"city": 1}, None),
    ]
    note = {"label": "city", "value": "Rome", "timestamp": "t"}
    memories = [Memory(None, 0, [note]), Memory(None, 1, [note, {"label": "pet", "value": "cat", "timestamp": "t"}])]
    return Episode("AMemGym-v0", user, 0, user, answers=answers, probes=probes, memories=memories)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs three iterations with W&B offline, the second of which the gate rejects; returns the run's folder."""

    wandb = pytest.importorskip("wandb")

    def evaluate(recipe, role, adapter, version, out, name, controls=()):
        (out / f"{name}.json").write_text(version)
        (out / f"{name}_users.json").write_text(json.dumps({"a": SCORES[version], "b": SCORES[version]}))
        save_episodes(out / f"{name}_episodes" / "part-000.parquet", [episode(user) for user in "abc"])
        counts = {"episodes": 3, "unscorable": 0, "diagnosed": 3, "answers": 6, "undefined_periods": 0, "parse_failures": {}}
        shares = {"overall": 0.5, "random": 0.25, "upper": 1.0, "write": 0.5, "read": 0.0, "utilisation": 0.0, "correct": 0.5}
        figures = {"memory_score": SCORES[version]} | counts | shares
        return {"agent": figures, **{control: figures for control in controls}}

    def roll_out(recipe, iteration, adapter, version, out):
        (out / "episodes").mkdir()
        return {"episodes": 8}

    def train(recipe, iteration, episodes, adapter, out):
        (out / "adapter").mkdir()
        (out / "adapter" / "weights").write_text(str(iteration))
        return {"loss": 1.0}

    for name, stage in {"evaluate": evaluate, "roll_out": roll_out, "train": train}.items():
        monkeypatch.setattr(stages, name, stage)
    monkeypatch.setattr(stages, "diagnose_rollout", lambda recipe, folder, out: {"write": 0.5})
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "staged"))

    def go(**tracking):
        sections = {"name": "x", "output": str(tmp_path), "agent": {"local_length": 0}, "evolution": {"iterations": 3}}
        evolve(Recipe.model_validate(sections | {"tracking": {"wandb": "offline"} | tracking}))
        return tmp_path / "x"

    yield go
    wandb.teardown()
    os.environ.pop("WANDB_SERVICE", None)  # processes of other tests would look for this one's service


def kept(processes):
    """(metadata, aliases, files) of the adapters that were sent, by name."""
    sent = [record.artifact for process in processes for record in process if record.HasField("artifact")]
    adapters = [one for one in sent if one.type == "adapter"]
    return [
        (one.name, json.loads(one.metadata), set(one.aliases), [file.path for file in one.manifest.contents]) for one in adapters
    ]


def tables(folder):
    files = folder.glob("wandb/offline-run-*/files/media/table/episodes/*.json")
    return [json.loads(path.read_text()) for path in files]


def test_every_iteration_leaves_a_table_and_an_adapter_once(run, stored):
    folder = run(episodes=2)
    run(episodes=2)  # there is nothing left to do
    name = f"adapter-{json.loads((folder / 'wandb_run.json').read_text())['id']}"
    digests = {at: digest(folder / "iterations" / f"{at:03d}" / "adapter") for at in (1, 2, 3)}
    about = [{"iteration": at, "score": SCORES[f"iteration-{at:03d}"], "digest": digests[at]} for at in digests]
    came_from = {"previous": f"{name}:iteration-001"}
    assert kept(stored(folder)) == [
        (name, about[0], {"latest", "best", "iteration-001"}, ["weights"]),
        (name, about[1] | came_from, {"latest", "iteration-002"}, ["weights"]),
        (name, about[2] | came_from, {"latest", "best", "iteration-003"}, ["weights"]),
    ]
    found = tables(folder)
    assert len(found) == 3 and all(table["columns"] == list(COLUMNS) for table in found)
    assert found[0]["data"] == rows([episode("a"), episode("b")])  # of three


def test_tables_and_artifacts_can_be_left_out(run, stored):
    folder = run(episodes=0, artifacts=False)
    assert kept(stored(folder)) == [] and tables(folder) == []


def test_a_row_tells_what_was_asked_answered_and_remembered():
    bad = Episode("AMemGym-v0", "b", 0, "b", error="Timeout: none")
    assert rows([episode("a"), bad]) == [
        ["a", 0, 0, 1, 1, True, "correct", "city: Rome"],
        ["a", 1, 0, 2, 1, False, "write", "city: Rome\npet: cat"],
        ["b", None, None, None, None, None, "unscorable: Timeout: none", ""],
    ]


def test_online_the_run_uses_the_version_before_and_goes_on_where_there_is_none(tmp_path, monkeypatch, capsys):
    wandb = pytest.importorskip("wandb")
    done = []

    class Run:
        dir = "wandb/run-1/files"

        def use_artifact(self, name):
            done.append(name)
            raise wandb.errors.CommError("no such artifact")

        def log_artifact(self, artifact, aliases):
            done.append((artifact.name, artifact.metadata))
            return self

        def wait(self):
            done.append("waited")

        def finish(self, exit_code):
            pass

    monkeypatch.setattr(wandb, "init", lambda **_: Run())
    monkeypatch.setattr(wandb, "login", lambda prompt: True)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "staged"))
    (tmp_path / "adapter").mkdir()
    with Tracker(tmp_path / "run", TrackingConfig(wandb="online")) as tracker:
        name = f"adapter-{tracker.boards[0].ledger.id}"
        tracker.keep("adapter", 1, tmp_path / "adapter", ["best"], None, {})
        tracker.keep("adapter", 2, tmp_path / "adapter", ["best"], "iteration-001", {})
    before = f"{name}:iteration-001"
    assert done == [(name, {}), "waited", before, (name, {"previous": before})]
    assert f"W&B does not find {before}" in capsys.readouterr().out
