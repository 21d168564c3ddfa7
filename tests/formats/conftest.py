import json

import pytest

from amemgym_train.rollout.records import Episode, Turn


@pytest.fixture
def saved(tmp_path):
    """Writes a value as JSON, or a text as it is; returns the path."""

    def save(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return save


@pytest.fixture
def conversation():
    return [
        {"from": "human", "loss": None, "value": "Find things."},
        {"from": "gpt", "loss": False, "value": "OK."},
        {"from": "human", "loss": None, "value": "You see a lamp. 灯"},
        {"from": "gpt", "loss": True, "value": "Thought: ...\n\nAction:\ntake lamp"},
        {"from": "human", "loss": None, "value": "Done."},
    ]


@pytest.fixture
def episode():
    def make(task="train-3", environment="SearchQA-v0", error=None, **changes):
        turns = [
            Turn([1], [2], [-0.5], f"reply {step}", "stop", "act", f"act/{step}", {"observation": f"seen {step}"})
            for step in range(2)
        ]
        turns[0].meta["instruction"] = "Do it."
        record = {"turns": turns, "rewards": [0.0, 1.0], "score": 1.0, "success": True, "error": error} | changes
        return Episode(environment, task, 7, "group", **record)

    return make
