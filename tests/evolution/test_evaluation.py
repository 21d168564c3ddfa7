"""An evaluation that is kept: a chat model plays several agents, and everything about them is written down."""

import json
import shutil
import threading
from pathlib import Path

import pytest

from amemgym_train.agents.templates import load_prompts
from amemgym_train.evaluation.public import rescore
from amemgym_train.rollout.store import load_episodes

AGENTS = ("--agents", "awi", "rag", "--seeds", 0, 4)


def test_everything_is_written_and_the_public_files_give_the_same_figures(report_of, whole, capsys):
    report = report_of(whole)
    assert list(report["agents"]) == ["awi", "rag"] and report["seeds"] == [0, 4] and report["broken"] == []
    episodes = {name: load_episodes(whole / "episodes" / name / "seed-4.parquet") for name in report["agents"]}
    assert [episode.task for episode in episodes["rag"]] == report["users"] and len(report["users"]) == 3
    rows = {(row.agent, row.user): row for row in rescore(whole / "data.json", whole / "results")}
    assert {agent for agent, _ in rows} == {f"{name}{seed}" for name in report["agents"] for seed in ("", "-seed4")}
    for name, one in report["agents"].items():
        assert one["results"] == [name, f"{name}-seed4"] and one["episodes"] == 6
        for user, figures in one["per_user"].items():
            own = [rows[label, user] for label in one["results"]]
            for figure in ("overall", "upper", "random", "write", "read", "utilisation"):
                mean = sum(getattr(row, figure) for row in own) / 2
                assert figures[figure] == pytest.approx(mean, abs=1e-9), (name, user, figure)
            scores = [row.memory_score for row in own if row.memory_score is not None]
            assert figures["memory_score"] == (pytest.approx(sum(scores) / len(scores), abs=1e-9) if scores else None)
        of_agent = [row for row in rows.values() if row.agent in one["results"]]
        unread = {kind: sum(row.unparsable[kind] for row in of_agent) for kind in ("answer", "read")}
        assert unread == {kind: one["unread"][kind] for kind in unread} and unread["answer"] > 0
        for figure, found in one["figures"].items():
            values = [own[figure] for own in one["per_user"].values() if own[figure] is not None]
            assert found["mean"] == (pytest.approx(sum(values) / len(values)) if values else None)
            assert found["users"] == len(values)
            assert not values or found["low"] <= found["mean"] + 1e-9 and found["mean"] <= found["high"] + 1e-9
    assert report["controls"]["oracle"]["overall"] == 1.0 and report["controls"]["oracle"]["write"] == 0.0
    assert set(report["controls"]) == {"random", "oracle", "instruction"} | {
        f"{name}, {kind} memory" for name in report["agents"] for kind in ("scrambled", "empty")
    }
    [between] = report["differences"]
    means = {name: one["figures"]["overall"]["mean"] for name, one in report["agents"].items()}
    assert (between["of"], between["minus"]) == ("rag", "awi")
    assert between["figures"]["overall"]["mean"] == pytest.approx(means["rag"] - means["awi"])
    assert not (whole / "unfinished").exists()
    assert "| awi |" in (whole / "report.md").read_text()


def test_a_finished_evaluation_is_printed_and_nothing_is_asked(evaluate, contents, report_of, whole, recipe, server, capsys):
    capsys.readouterr()
    asked, before = len(server.requests), contents(whole)
    assert evaluate(recipe(), "--out", whole, *AGENTS, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert {user for label in shown.pop("seconds").values() for user in label} == set(report_of(whole)["users"])
    assert shown == report_of(whole)
    assert evaluate(recipe(), "--out", whole, *AGENTS) == 0
    assert f"all of it is in {whole}" in "".join(capsys.readouterr().out.splitlines())
    assert len(server.requests) == asked and contents(whole) == before


def test_a_report_that_was_lost_is_made_again_from_what_is_kept(evaluate, contents, whole, recipe, server):
    asked, before = len(server.requests), contents(whole)
    (whole / "report.json").unlink()
    shutil.rmtree(whole / "heatmaps", ignore_errors=True)
    assert evaluate(recipe(), "--out", whole, *AGENTS) == 0
    assert len(server.requests) == asked and contents(whole) == before


def test_without_new_flags_the_figures_are_the_same_and_nothing_is_kept(evaluate, recipe, server, tmp_path, capsys, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = recipe(seed=4)
    assert evaluate(path, "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert evaluate(path, "--json", "--agents", "awi") == 0
    report = json.loads(capsys.readouterr().out)
    assert plain["usage"]["calls"] < report["usage"]["calls"] == len(server.requests)  # of this process
    for figure, found in report["agents"]["awi"]["figures"].items():
        assert found["mean"] == (None if plain["agent"][figure] is None else pytest.approx(plain["agent"][figure], abs=1e-9))
    names = {"scrambled": "awi, scrambled memory", "empty": "awi, empty memory"}
    for control in ("random", "oracle", "scrambled", "empty", "instruction"):
        found = report["controls"][names.get(control, control)]
        assert found == {figure: plain[control][figure] for figure in found}, control
    assert list((tmp_path / "here").iterdir()) == []


CHANGED = {
    "scenarios.test.num_users": (["scenarios.test.num_users=2"], AGENTS),
    "agents.rag": ([], ("--agents", "awi", "--seeds", 0, 4)),
    "agents.rag.config.update_bsz": (["agent.update_bsz=3"], AGENTS),
    "seeds": ([], AGENTS[:3]),
    "policy.chat.model": (["policy.chat.model=other"], AGENTS),
    "evaluation.upper": (["evaluation.upper=oracle"], AGENTS),
    "split": ([], (*AGENTS, "--split", "validation")),
}


@pytest.mark.parametrize("key", CHANGED)
def test_a_folder_of_another_evaluation_is_refused(evaluate, contents, whole, recipe, server, key, capsys):
    overrides, words = CHANGED[key]
    asked, before = len(server.requests), contents(whole)
    assert evaluate(recipe(), *overrides, "--out", whole, *words) == 2
    said = capsys.readouterr().err
    assert f"{whole} holds another evaluation; it differs in " in said and key in said.partition("differs in ")[2]
    assert len(server.requests) == asked and contents(whole) == before


def test_how_it_is_run_may_change(evaluate, whole, recipe, capsys):
    overrides = ["rollout.concurrency=1", "policy.chat.retries=3", "policy.chat.timeout_s=9", "name=other"]
    assert evaluate(recipe(), *overrides, "--out", whole, *AGENTS) == 0


@pytest.mark.parametrize("kept", [(), ("--agents", "awi")])
def test_a_period_is_asked_about_at_once(evaluate, recipe, server, kept):
    """2 questions and 2 probes of the only user, with and without a flag."""
    together, model = threading.Barrier(4), server.model

    def meeting(messages):
        if messages[-1]["content"].count("Question:") + messages[-1]["content"].count("Keys and allowed values:"):
            together.wait(timeout=20)
        return model(messages)

    server.model = meeting
    alone = {"scenarios": {"test": recipe.users | {"num_users": 1}}, "evaluation": {"controls": []}}
    assert evaluate(recipe(**alone), *kept) == 0
    assert not together.broken


def test_all_agents_and_seeds_share_the_places(evaluate, recipe, server, tmp_path):
    """2 agents x 2 seeds x 3 users are in progress at once."""
    together = threading.Barrier(12)

    model = server.model

    def meeting(messages):
        if not together.broken and len(server.requests) <= 12:
            together.wait(timeout=20)
        return model(messages)

    server.model = meeting
    assert evaluate(recipe(rollout={"concurrency": 12}), "--out", tmp_path / "out", *AGENTS) == 0
    assert not together.broken


def test_what_was_said_can_be_replayed_by_another_agent(evaluate, report_of, whole, recipe, server, tmp_path, capsys):
    """Off-policy: another agent hears the conversations of the first one, and writes them down as it heard them."""
    asked = len(server.requests)
    replayed = whole / "results" / "rag-seed4"
    assert evaluate(recipe(), "--out", tmp_path / "off", "--replay", replayed, "--agents", "native", "rag") == 0
    for user in report_of(whole)["users"]:
        said = (replayed / user / "interactions.json").read_bytes()
        assert json.loads(said)[1][0][1]["role"] == "assistant"
        for name in ("native", "rag"):
            assert (tmp_path / "off" / "results" / name / user / "interactions.json").read_bytes() == said
    instruction = load_prompts("default")["respond"].instruction
    assert not [body for body in server.requests[asked:] if body["messages"][0]["content"] == instruction]
    off = report_of(tmp_path / "off")["agents"]["rag"]
    for row in rescore(whole / "data.json", replayed):  # the agent whose words they were answers as it did then
        assert off["per_user"][row.user]["overall"] == pytest.approx(row.overall, abs=1e-9)
    assert evaluate(recipe(), "--out", tmp_path / "off", "--agents", "native", "rag") == 2
    assert "it differs in hashes.replay" in capsys.readouterr().err


def test_a_recording_that_does_not_fit_is_told_before_anything_is_asked(
    evaluate, report_of, whole, recipe, server, tmp_path, capsys
):
    asked, users = len(server.requests), report_of(whole)["users"]
    folder = shutil.copytree(whole / "results" / "awi", tmp_path / "recorded")
    path = folder / users[1] / "interactions.json"
    said = json.loads(path.read_text())
    said[1][0][0]["content"] += " Indeed."
    path.write_text(json.dumps(said))
    assert evaluate(recipe(), "--replay", folder) == 2
    assert f"--replay: {path}: user {users[1]}, period 1, session 0: begins with " in capsys.readouterr().err
    shutil.rmtree(folder / users[1])
    assert evaluate(recipe(), "--replay", folder) == 2
    assert f"no recording of user {users[1]}" in capsys.readouterr().err
    assert len(server.requests) == asked


def test_a_public_config_is_played_under_its_name_and_its_key_goes_nowhere(evaluate, contents, recipe, server, tmp_path, capsys):
    llm = {"llm_model": "gpt-9", "api_key": "sk-secret", "temperature": 0.5, "max_tokens": 99}
    config = {"type": "awi", "name": "awi (4, 2)", "llm_config": llm, "agent_config": {"update_bsz": 4, "local_length": 2}}
    path = tmp_path / "agent.json"
    path.write_text(json.dumps(config))
    assert evaluate(recipe(), "--out", tmp_path / "out", "--agents", "native", path) == 0
    captured = capsys.readouterr()
    said = " ".join(captured.out.split())
    assert "awi (4, 2): llm_model gpt-9 and its base_url are not asked: the recipe's model strong answers" in said
    written = b"".join(contents(tmp_path / "out").values())
    assert b"sk-secret" not in written and "sk-secret" not in captured.out + captured.err + str(server.requests)
    assert (tmp_path / "out" / "results" / "awi (4, 2)").is_dir()
    assert {body["temperature"] for body in server.requests} == {0, 0.5}
    path.write_text(json.dumps(config | {"type": "gpt"}))
    assert evaluate(recipe(), "--out", tmp_path / "other", "--agents", path) == 2
    assert "type is 'gpt', expected one of native, awi" in capsys.readouterr().err


def test_greedy_seeds_that_change_nothing_are_told(evaluate, recipe, tmp_path, capsys):
    """One round in a session leaves the user no words of its own, and the seed of a greedy agent nothing to change."""
    silent = recipe(scenarios={"test": recipe.users | {"rounds_update": 1}})
    assert evaluate(silent, "--out", tmp_path / "out", "--seeds", 0, 1) == 0
    assert "awi: seed 1 gave the answers of seed 0; it is greedy" in " ".join(capsys.readouterr().out.split())


def test_a_seed_named_twice_or_below_zero_is_refused(evaluate, recipe, tmp_path, capsys):
    assert evaluate(recipe(), "--out", tmp_path / "out", "--seeds", 1, 0, 0) == 2
    assert "two results would be called awi-seed0" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        evaluate(recipe(), "--seeds", -1)


def test_the_model_of_this_process_gets_the_same_figures_as_without_a_folder(evaluate, report_of, write_recipe, tmp_path, capsys):
    path = write_recipe(tmp_path)
    assert evaluate(path, "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    out = tmp_path / "out"
    assert evaluate(path, "--out", out) == 0
    found = report_of(out)
    assert found["agents"]["awi"]["figures"]["overall"]["mean"] == pytest.approx(plain["agent"]["overall"], abs=1e-9)
    assert found["agents"]["awi"]["figures"]["memory_score"]["mean"] == pytest.approx(plain["agent"]["memory_score"], abs=1e-9)
    assert found["controls"]["awi, scrambled memory"]["overall"] == plain["scrambled"]["overall"]
    assert min(found["agents"]["awi"]["tokens"]) > 0
    assert all(Path(path).stat().st_size for path in out.glob("heatmaps/*.png"))
