"""The card of the best adapter, as the hub reads it."""

import json

import pytest
from huggingface_hub import ModelCard


def test_the_hub_reads_the_card(run, report, model_folder):
    assert report(run)[0] == 0
    summary = json.loads((run / "summary.json").read_text())
    text = (run / "report" / "model_card.md").read_text()
    found = ModelCard(text).data
    assert found.base_model == model_folder.name and found.library_name == "peft" and "amemgym" in found.tags
    [result] = found.eval_results
    assert result.metric_value == pytest.approx(summary["test"]["after"]["memory_score"], abs=1e-4)
    assert result.metric_args["users"] == 2 and result.metric_args["low"] <= result.metric_value <= result.metric_args["high"]
    assert f"`{summary['recipe']}`" in text and json.loads((run / "versions.json").read_text())["commit"] in text


def test_an_unfinished_run_has_a_card_of_validation_users(run, report):
    path = run / "test" / "manifest.json"
    path.write_text(json.dumps({name: entry for name, entry in json.loads(path.read_text()).items() if name != "after"}))
    report(run)
    card = ModelCard((run / "report" / "model_card.md").read_text())
    assert "**not finished**" in card.text and card.data.eval_results[0].dataset_split == "validation"


def test_no_adapter_no_card(run, report):
    for number in (1, 2):
        path = run / "iterations" / f"00{number}" / "manifest.json"
        entries = json.loads(path.read_text())
        entries["gate"]["result"] |= {"passed": False, "decision": "reject"}
        path.write_text(json.dumps(entries))
    _, _, text = report(run)
    assert not (run / "report" / "model_card.md").exists() and "Load the adapter" not in text
