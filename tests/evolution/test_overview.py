import json

import pytest

from amemgym_train.evolution.manifest import write_entries
from amemgym_train.evolution.overview import overview
from amemgym_train.tracking.metrics import read_metrics


def entries(**results):
    return {name: {"inputs": {}, "outputs": {}, "result": result, "seconds": 2.0} for name, result in results.items()}


@pytest.fixture
def told(tmp_path):
    def told(log, **results):
        write_entries(tmp_path / "manifest.json", entries(**results))
        (tmp_path / "training.json").write_text(json.dumps(log))
        return overview(tmp_path / "manifest.json", tmp_path / "training.json")

    return told


def test_an_iteration_that_selects(told):
    agent = {"memory_score": 0.5, "write": 0.4, "read": 0.3, "utilisation": 0.2, "correct": 0.1}
    assert told(
        [{"loss": 1.0, "entropy": 0.5}, {"loss": 0.5, "entropy": 0.25}],
        rollout={"tokens_sampled": 100},
        diagnose={"memory_score": 0.25, "episodes": 8, "unscorable": 2},
        train={"tokens": 60, "seconds": 1.0},
        evaluate={"agent": agent},
    ) == {
        **{"memory_score/validation": 0.5, "memory_score/train": 0.25, "unscorable": 0.25, "entropy": 0.375},
        **{"failures/write": 0.4, "failures/read": 0.3, "failures/utilisation": 0.2},
        **{"tokens_sampled/rollout": 100, "tokens_trained": 60},
        **{f"seconds/{stage}": 2.0 for stage in ("rollout", "diagnose", "train", "evaluate")},
    }


@pytest.mark.parametrize("kl", ["kl", "reference_kl"])
def test_means_over_the_steps_of_an_on_policy_iteration(told, kl):
    step = {"reward/write": 0.5, kl: 0.25, "clip_ratio/region_mean": 0.125, "sampler_gap/mean": 0.5, "truncated": 0.0}
    other = {name: value + 0.5 for name, value in step.items()} | {"tokens_trained": 30, "unscorable": 0.5}
    found = told([step | {"tokens_trained": 10}, other, {"loss": 1.0}], train={"tokens_sampled": 70})
    figures = {"reward/write": 0.75, "kl": 0.5, "clip_fraction": 0.375, "logprob_gap": 0.75, "truncated": 0.25, "unscorable": 0.5}
    assert found == figures | {"tokens_sampled/train": 70, "tokens_trained": 40, "seconds/train": 2.0}


def test_every_iteration_of_a_run_has_one(undisturbed):
    metrics = read_metrics(undisturbed / "metrics.jsonl")
    lines = [line for line in metrics if line["stage"] == "overview"]
    scores = {line["step"]: line["memory_score"] for line in metrics if line["stage"] == "validation"}
    assert {line["step"]: line["memory_score/validation"] for line in lines} == {1: scores[1], 2: scores[2]}
    measured = {"memory_score/train", "failures/write", "unscorable", "tokens_sampled/rollout", "tokens_trained", "seconds/train"}
    assert all(measured <= set(line) for line in lines)
