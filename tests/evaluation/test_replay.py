"""The real recordings of the public code, replayed: what comes out has its layout, and gives the same figures again."""

import gzip
import json
import re
from pathlib import Path

import pytest
import yaml

from amemgym_train import cli
from amemgym_train.evaluation.public import rescore

REAL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "amemgym_real"
PERIODS = 2  # of each user, for a test of seconds
FILES = ("overall_results", "overall_metrics", "diagnosis_results", "diagnosis_metrics", "interactions")


@pytest.fixture
def data(tmp_path):
    """The three real users, as far as their first periods."""
    if not REAL.is_dir():
        pytest.skip("shared/data/amemgym_real is not beside the repository")
    items = json.loads((REAL / "data.json").read_text(encoding="utf-8"))
    path = tmp_path / "data.json"
    path.write_text(json.dumps([item | {"periods": item["periods"][:PERIODS]} for item in items]))
    return path


def model(messages):
    """Reads and answers something that depends on the prompt; now and then nothing that can be read."""
    asked = messages[-1]["content"].rpartition("\n\n")[2]
    number = sum(map(len, (message["content"] for message in messages)))
    choices = re.findall(r"^\d+\. .+$", asked, re.MULTILINE)
    if choices:
        return {"answer": number % (len(choices) + 1)}
    if asked.startswith("Keys"):
        schema = json.loads(asked.partition("\n")[2])
        return {name: values[number % len(values)] for name, values in schema.items() if number % 5}
    return {f"note {number % 7}": f"about {number % 5}"}


def public(path):
    return json.loads(gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes()))


@pytest.mark.parametrize("agent", ["awi", "native"])
def test_all_users_are_replayed_and_the_results_are_in_the_public_layout(data, chat_server, tmp_path, agent):
    server, recipe, out = chat_server(model), tmp_path / "r.yaml", tmp_path / "out"
    sections = {
        "name": "replayed",
        "policy": {"chat": {"base_url": server.url, "model": "strong", "retries": 0}},
        "scenarios": {"test": {"data": str(data)}},
        "evaluation": {"upper": "model", "controls": []},
    }
    recipe.write_text(yaml.safe_dump(sections))
    peer = REAL / "peer_results" / agent
    assert cli.main(["evaluate", str(recipe), "--out", str(out), "--replay", str(peer), "--agents", "awi", "native"]) == 0
    report = json.loads((out / "report.json").read_text())
    assert len(report["users"]) == 3 and report["broken"] == []
    said = {body["messages"][0]["content"] for body in server.requests}
    assert not [text for text in said if "reply to the user" in text.lower()] and len(said) == 3  # write, read, answer

    rows = rescore(data, out / "results")
    assert len(rows) == 6
    for row in rows:
        ours = report["agents"][row.agent]["per_user"][row.user]
        for figure in ("overall", "upper", "random", "write", "read", "utilisation"):
            assert ours[figure] == pytest.approx(getattr(row, figure), abs=1e-9), figure
        memory = row.memory_score
        assert ours["memory_score"] == (None if memory is None else pytest.approx(memory, abs=1e-9))
        folder, theirs = out / "results" / row.agent / row.user, peer / row.user
        assert {path.name for path in folder.iterdir()} == {f"{name}.json" for name in FILES}
        written = {name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in FILES}
        assert written["interactions"] == public(theirs / "interactions.json")[:PERIODS]
        for name in ("overall_metrics", "diagnosis_metrics"):
            assert list(written[name]) == list(public(theirs / f"{name}.json"))
            assert all([len(line) for line in table] == [10] * PERIODS for table in written[name].values())
        fixed = ("query", "answer", "answer_state", "answer_choice")
        assert_same_items(written["overall_results"], public(theirs / "overall_results.json")[:PERIODS], fixed)
        assert_same_items(written["diagnosis_results"], public(theirs / "diagnosis_results.json")[:PERIODS], ())


def assert_same_items(ours, theirs, fixed):
    """The same keys in the same order, and at ``fixed`` the same values; so do the states that a probe asked for."""
    for mine, other in zip((item for row in ours for item in row), (item for row in theirs for item in row), strict=True):
        assert list(mine) == list(other)
        assert {key: mine[key] for key in fixed} == {key: other[key] for key in fixed}
        for state, public_state in zip(mine.get("results", []), other.get("results", []), strict=True):
            assert list(state) == list(public_state)
            for key in ("info_type", "answer_state", "write_pos", "read_pos"):
                assert state[key] == public_state[key], key


def test_the_upper_bound_is_in_the_public_layout(data, tmp_path):
    from amemgym_envs.amemgym.scenario import load_scenarios
    from amemgym_train.evaluation.written import write_upper

    for scenario in load_scenarios(data):
        replies = [[json.dumps({"answer": c + 1}) for c in range(len(q.answer_choices))] for q in scenario.questions]
        write_upper(tmp_path / "upper.json", scenario, replies)
        ours = json.loads((tmp_path / "upper.json").read_text(encoding="utf-8"))
        theirs = public(REAL / "peer_results" / "upperbound" / f"{scenario.id}.json")
        assert_same_items(ours, theirs, ("query", "answer", "answer_state", "answer_choice"))
        assert {item["scores"]["accuracy"] for row in ours for item in row} == {1.0}
