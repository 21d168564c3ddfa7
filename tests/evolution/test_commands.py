"""The commands on the tiny model, and their one clear message for what a user can mend."""

import json
import multiprocessing
import socket

import pytest

from amemgym_train import cli
from amemgym_train.evolution.folder import claimed
from amemgym_train.rollout.store import load_episodes


@pytest.fixture
def recipe(tmp_path, write_recipe):
    return str(write_recipe(tmp_path))


@pytest.fixture
def adapter(undisturbed):
    return undisturbed / "iterations" / "001" / "adapter"


@pytest.fixture
def stops(capsys):
    """Runs a command that must stop with one message, which it returns."""

    def run(*arguments):
        capsys.readouterr()
        assert cli.main([str(argument) for argument in arguments]) == 2
        before, *told = capsys.readouterr().err.split("amemgym-train: ")
        assert len(told) == 1 and "Error" not in before
        return told[0]

    return run


def test_evaluate_scores_the_model_the_adapter_and_the_controls(recipe, adapter, undisturbed, capsys):
    summary = json.loads((undisturbed / "summary.json").read_text())
    assert cli.main(["evaluate", recipe, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert set(shown) == {"agent", "random", "oracle", "scrambled"}
    assert shown["agent"] == summary["test"]["before"] and shown["oracle"]["memory_score"] == 1.0
    assert cli.main(["evaluate", recipe, "--json", "--split", "validation", "--adapter", str(adapter)]) == 0
    scored = json.loads(capsys.readouterr().out)["agent"]
    assert scored["memory_score"] == summary["iterations"][0]["validation"]
    assert cli.main(["evaluate", recipe, "--json", "--split", "validation", f"policy.adapter={adapter}"]) == 0
    assert json.loads(capsys.readouterr().out)["agent"] == scored


def test_rollout_keeps_its_episodes_and_overwrites_none(recipe, tmp_path, stops, capsys):
    out = tmp_path / "episodes"
    assert cli.main(["rollout", recipe, "--out", str(out), "rollout.group_size=3"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(out)
    (shard,) = out.iterdir()
    episodes = load_episodes(shard)
    assert len(episodes) == 6 and len({episode.group for episode in episodes}) == 2
    assert all(episode.error is None and episode.turns for episode in episodes)
    assert f"{out} holds episodes already" in stops("rollout", recipe, "--out", out)
    assert load_episodes(shard) == episodes


@pytest.mark.parametrize("command", [["evaluate"], ["rollout", "--out", "episodes"], ["evolve"]], ids=lambda words: words[0])
def test_a_wrong_model_is_told(recipe, command, tmp_path, stops, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    cases = {"./none": "no folder ./none", "nobody": "no folder, no hub id", str(tmp_path / "empty"): "no config.json"}
    for model, message in cases.items():
        assert message in stops(command[0], recipe, *command[1:], f"policy.model={model}", f"name=other{len(model)}")


@pytest.mark.parametrize("command", [["evaluate"], ["rollout", "--out", "episodes"]], ids=lambda words: words[0])
def test_an_adapter_that_is_absent_or_of_another_model_is_told(
    recipe, adapter, command, tmp_path, stops, make_llama, tokenizer, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    make_llama(hidden_size=64).save_pretrained(tmp_path / "other")
    tokenizer.save_pretrained(tmp_path / "other")
    words = [command[0], recipe, *command[1:]]
    assert "adapter nowhere: no file adapter_config.json" in stops(*words, "--adapter", "nowhere")
    message = stops(*words, "--adapter", adapter, "policy.model=./other")
    assert f"adapter {adapter} does not load onto this model (" in message and "size mismatch" in message


def test_a_model_without_an_upper_bound_is_told(recipe, tmp_path, stops, make_llama, tokenizer):
    """A random model answers nothing even when it is told the states."""
    make_llama().save_pretrained(tmp_path / "random")
    tokenizer.save_pretrained(tmp_path / "random")
    words = [f"policy.model={tmp_path / 'random'}", "evaluation.upper=model"]
    assert "test users: no memory score" in stops("evaluate", recipe, *words)
    assert "earned being kept" in stops("evolve", recipe, words[0])


def test_prompts_are_checked_before_anything_is_started(recipe, tmp_path, stops):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "write.txt").write_text("Note it, without a body.")
    cli_words = ["evolve", recipe, f"agent.prompts={tmp_path / 'prompts'}"]
    assert "1 problem, nothing was started" in stops(*cli_words)
    assert not (tmp_path / "runs").exists()


def hold(folder, ready, over):
    with claimed(folder):
        ready.set()
        over.wait(60)


def test_a_second_process_on_a_run_is_told(recipe, tmp_path, stops):
    process_kind = multiprocessing.get_context("spawn")
    ready, over = process_kind.Event(), process_kind.Event()
    holder = process_kind.Process(target=hold, args=(tmp_path / "runs" / "tiny", ready, over))
    holder.start()
    assert ready.wait(60)
    assert f"process {holder.pid} on {socket.gethostname()}" in stops("evolve", recipe)
    over.set()
    holder.join()


def test_a_damaged_run_is_told(recipe, tmp_path, stops, undisturbed):
    run = tmp_path / "runs" / "tiny"
    (run / "test").mkdir(parents=True)
    (run / "test" / "manifest.json").write_text("[]")
    (run / "config.json").write_text("{")
    assert f"{run / 'config.json'} is damaged" in stops("evolve", recipe)
    (run / "config.json").write_bytes((undisturbed / "config.json").read_bytes())
    assert "holds a run of another recipe; it differs in seed." in stops("evolve", recipe, "seed=5")
    assert f"{run / 'test' / 'manifest.json'} is damaged" in stops("evolve", recipe)
