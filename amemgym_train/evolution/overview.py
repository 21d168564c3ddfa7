"""The few figures of an iteration that tell how it went, gathered from what its stages saved."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from amemgym_train.evolution.manifest import entries_of

FAILURES = ("write", "read", "utilisation")
STEPS = {  # of a training's steps, the names that trainers have for them
    "entropy": ("entropy",),
    "kl": ("reference_kl", "kl"),
    "clip_fraction": ("clip_ratio/region_mean",),
    "logprob_gap": ("sampler_gap/mean",),
    "truncated": ("truncated",),
    "unscorable": ("unscorable",),
}


def overview(manifest: Path, steps: Path, measure: str = "memory_score") -> dict[str, float]:
    """The overview of the iteration whose stages ``manifest`` lists and whose training's log is ``steps``, if it has one; what
    its method does not measure is left out.

    ``memory_score/`` (or the ``measure`` of tasks) train and validation; ``failures/``: shares of the validation's answers;
    ``reward/`` by operation, entropy and what follows it: means over the training's steps; ``unscorable``: share of training
    episodes; ``tokens_sampled/`` and ``seconds/`` by stage; ``tokens_trained``.
    """
    entries = entries_of(manifest)
    log = json.loads(steps.read_text(encoding="utf-8")) if steps.is_file() else []
    results = {name: entry["result"] for name, entry in entries.items()}
    agent, trained, diagnosed = (results.get(name, {}) for name in ("evaluate", "train", "diagnose"))
    agent = agent.get("agent", {})
    found = {f"{measure}/validation": agent.get(measure), f"{measure}/train": diagnosed.get(measure)}
    found["success/validation"], found["success/train"] = agent.get("success"), diagnosed.get("success")
    found |= {f"failures/{name}": agent.get(name) for name in FAILURES}
    if diagnosed.get("episodes"):
        found["unscorable"] = diagnosed.get("unscorable", 0) / diagnosed["episodes"]
    found |= training(log)
    found |= {f"tokens_sampled/{name}": result.get("tokens_sampled") for name, result in results.items()}
    found["tokens_trained"] = trained.get("tokens") or sum(entry.get("tokens_trained", 0) for entry in log) or None
    found |= {f"seconds/{name}": entry["seconds"] for name, entry in entries.items()}
    return {name: value for name, value in found.items() if isinstance(value, int | float)}


def training(log: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Means over those steps that have the figure."""
    names = {key: key for entry in log for key in entry if key.startswith("reward/")}
    names |= {name: next((key for key in keys if any(key in entry for entry in log)), "") for name, keys in STEPS.items()}
    values = {name: [e[key] for e in log if isinstance(e.get(key), int | float)] for name, key in names.items()}
    return {name: fmean(some) for name, some in values.items() if some}
