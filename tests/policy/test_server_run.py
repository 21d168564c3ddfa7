"""A whole run whose episodes are answered by a server: the numbers of one that answers itself."""

import json
import shutil

import pytest
from transformers import AutoModelForCausalLM

from amemgym_train import cli

KEYS = [
    "training.method=grpo",
    "credit.scheme=outcome",
    "sampling.temperature=1.2",
    "training.grpo.steps=2",
    "evolution.iterations=1",
    "evaluation.controls=[scrambled]",
]


@pytest.fixture
def server(vllm, model_folder):
    started = vllm(str(model_folder))
    started.model = AutoModelForCausalLM.from_pretrained(model_folder)
    return started


def steps(run):
    log = json.loads((run / "iterations" / "001" / "training.json").read_text())
    return [entry for entry in log if "tokens_sampled" in entry]


def test_training_and_evaluation_through_a_server_are_those_of_one_process(server, write_recipe, tmp_path, capsys):
    recipe = str(write_recipe(tmp_path))
    assert cli.main(["evolve", recipe, *KEYS, "name=here"]) == 0
    assert cli.main(["evolve", recipe, *KEYS, "name=there", f"policy.server.urls=[{server.url}]"]) == 0
    here, there = (tmp_path / "runs" / name for name in ("here", "there"))
    for one, other in zip(steps(here), steps(there), strict=True):
        for name in ("grad_norm", "tokens_sampled", "reward/write", "shares/correct", "rows"):
            assert one[name] == pytest.approx(other[name], rel=1e-3), name
        assert one["rows"] > 0 and other["sampler_gap/mean"] < 1e-4
    tests = [json.loads((run / "summary.json").read_text())["test"] for run in (here, there)]
    assert tests[0] == tests[1]
    loaded = [body["lora_name"] for path, body, _ in server.calls if path == "/v1/load_lora_adapter"]
    assert [name.rpartition("-")[0] for name in loaded if name.startswith("step-")] == ["step-0", "step-1"]
    assert server.adapters == {}
    assert not list(there.rglob("served"))
    capsys.readouterr()
    shutil.rmtree(there / "iterations")
    server.mode = "raw_logprobs"
    assert cli.main(["evolve", recipe, *KEYS, "name=other", f"policy.server.urls=[{server.url}]"]) == 2
    assert "--logprobs-mode processed_logprobs" in capsys.readouterr().err
