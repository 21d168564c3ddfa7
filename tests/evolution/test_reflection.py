"""Prompts that evolve: with a model that hears a server's rules, with the tiny model beside its weights, and after a kill."""

import json
import re
import signal

import pytest
import yaml

from amemgym_train import cli
from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.load import load_recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution.manifest import entries_of
from amemgym_train.evolution.plays import load_folder

KEY = "word for word"  # the model below writes notes only where its prompt says this; the scripted reflector comes to say it
USERS = {"num_variables": 4, "num_questions": 3, "num_periods": 1, "num_changes_per_period": 1}
NAMES = {prompt.instruction.split(".")[0]: name for name, prompt in load_prompts("default").items()}


def model(messages):
    """An agent that is honest and lazy: it notes what was said if told to do so well, and answers by what it has noted."""
    system, body = messages[0]["content"], messages[-1]["content"]
    operation = NAMES.get(system.split(".")[0])
    if operation == "write":
        said = re.findall(r"^User: (?:\[.*\]\n)?(.+)$", body, re.MULTILINE)
        return {f"told {abs(hash(text))}": text for text in said} if KEY in system else {}
    told, _, asked = body.rpartition("\n\n")
    if operation == "answer":
        choices = re.findall(r"^\d+\. (.+)$", asked, re.MULTILINE)
        known = [sum(word in told.lower() for word in set(choice.lower().split()) if len(word) > 3) for choice in choices]
        return {"answer": 1 + max(range(len(choices)), key=known.__getitem__)}
    if operation == "read":
        schema = json.loads(asked.partition("\n")[2])
        return {name: next((value for value in values if value in told), values[0]) for name, values in schema.items()}
    return "I see."


@pytest.fixture
def write(tmp_path, chat_server):
    """Writes the recipe of an evolution of prompts alone, of ``model`` on a server; ``changes`` to the section reflection."""
    server = chat_server(model)

    def recipe(**changes):
        reflection = {
            "prompts": {"cadence": "iteration", "proposals": 4, "users": 3, "targets": ["write"]},
            "reflector": {"kind": "scripted"},
        }
        counts = {"train": 3, "validation": 6, "test": 4}
        sections = {
            "name": "worded",
            "output": str(tmp_path / "runs"),
            "policy": {"chat": {"base_url": server.url, "model": "lazy", "retries": 0}},
            "agent": {"local_length": 0, "flush": "period", "respond": "fixed", "max_entry_chars": 400},
            "scenarios": {role: USERS | {"num_users": number} for role, number in counts.items()},
            "training": {"method": "none"},
            "evaluation": {"controls": []},
            "evolution": {"iterations": 2},
            "reflection": reflection | changes,
        }
        path = tmp_path / "worded.yaml"
        path.write_text(yaml.safe_dump(sections))
        return path

    recipe.server, recipe.run = server, tmp_path / "runs" / "worded"
    return recipe


def reflection_of(run, iteration):
    return json.loads((run / f"iterations/{iteration:03d}" / "reflection.json").read_text())


def test_a_prompt_that_helps_is_found_tested_and_kept(write, capsys):
    assert cli.main(["evolve", str(write())]) == 0
    run, summary = write.run, json.loads((write.run / "summary.json").read_text())
    first = reflection_of(run, 1)
    best = first["candidates"][first["best"]]
    assert best["verdict"] == "accepted" and best["target"] == "write" and best["test"]["p"] <= 0.05
    assert any(KEY in line for line in best["diff"]) and best["test"]["difference"] > 0
    worded = load_prompts(str(run / "iterations/001/prompts"))
    assert KEY in worded["write"].instruction and worded["answer"] == load_prompts()["answer"]
    assert summary["test"]["gain"] > 0.3 and summary["best_iteration"] == 2
    scores = [entry["validation"] for entry in summary["iterations"]]
    before = json.loads((run / "iterations/000/eval.json").read_text())["agent"]["memory_score"]
    assert before < scores[0] <= scores[1]
    kept = [load_prompts(str(run / f"iterations/001/candidates/{number:02d}")) for number in first["kept"]]
    second = reflection_of(run, 2)  # goes on from what was kept
    assert [one["verdict"] for one in second["candidates"]].count("kept") == len([one for one in kept if one != worded])
    assert "best prompts: " in capsys.readouterr().out
    assert not list(run.rglob("plays")) and not list(run.rglob("adapter"))


def test_a_finished_run_and_one_whose_trials_are_kept_ask_nothing_twice(write):
    path = write()
    assert cli.main(["evolve", str(path)]) == 0
    asked = len(write.server.requests)
    assert cli.main(["evolve", str(path)]) == 0 and len(write.server.requests) == asked
    before = reflection_of(write.run, 1)
    (write.run / "iterations/001/reflection.json").unlink()  # as if the stage had been killed before it was published
    assert cli.main(["evolve", str(path)]) == 0
    assert reflection_of(write.run, 1) == before and len(write.server.requests) == asked
    damaged = next((write.run / "trials").iterdir())
    damaged.write_text("{")
    (write.run / "iterations/001/reflection.json").unlink()
    assert cli.main(["evolve", str(path)]) == 0 and reflection_of(write.run, 1) == before


@pytest.mark.parametrize("said", ["Let me think about that.", "x" * 100_000, '{"new_prompt": "Remember everything."}'])
def test_a_reflector_that_returns_nonsense_changes_nothing_and_is_counted(write, chat_server, said):
    reflector = chat_server(lambda messages: said)
    chat = {"base_url": reflector.url, "model": "poet", "retries": 0}
    assert cli.main(["evolve", str(write(reflector={"kind": "chat", "chat": chat})), "evolution.iterations=1"]) == 0
    counts = reflection_of(write.run, 1)["counts"]
    assert counts["proposals"] == 4 == sum(counts[key] for key in counts if key.startswith("refused")) and counts["accepted"] == 0
    assert load_prompts(str(write.run / "iterations/001/prompts")) == load_prompts()
    assert len(reflector.requests) == 4
    asked = reflector.requests[0]["messages"][-1]["content"]
    assert "{conversation}" in asked and "write failure" in asked


def test_a_model_may_rewrite_the_prompts_that_it_plays_with(write, tmp_path):
    def both(messages):
        if not messages[0]["content"].startswith("You improve"):
            return model(messages)
        prompt = load_prompts()["write"]
        return {"new_prompt": prompt.text.replace("few words", f"few words, {KEY}"), "changes": ["copies"]}

    write.server.model = both
    assert cli.main(["evolve", str(write(reflector={"kind": "policy"})), "evolution.iterations=1"]) == 0
    found = reflection_of(write.run, 1)
    assert found["candidates"][found["best"]]["changes"] == ["copies"]
    assert found["counts"]["accepted"] == 1 and found["counts"]["proposals"] == 4


def test_a_reflector_that_cannot_be_reached_ends_the_run_and_what_was_tried_is_kept(write, chat_server, capsys):
    reflector = chat_server(lambda messages: "never said")
    chat = {"base_url": reflector.url, "model": "gone", "retries": 0}
    path = write(reflector={"kind": "chat", "chat": chat})
    reflector.close()
    assert cli.main(["evolve", str(path)]) == 2
    told = capsys.readouterr().err
    assert "reflection.reflector.chat" in told and "run the same command again" in told and "Traceback" not in told
    assert list((write.run / "trials").iterdir()) and not (write.run / "iterations/001/prompts").exists()


def test_a_public_evolving_agent_is_evaluated_as_it_is_described(write, tmp_path, report_of):
    def evolving(messages):
        if messages[0]["content"].startswith("You improve"):
            return {"new_types": f"- everything, {KEY}"} if "\n- who the user is" in messages[-1]["content"] else "nothing more"
        return model(messages)

    write.server.model = evolving
    files = {}
    for cadence in ("period", "no_evolution"):
        evolution = {"cadence": cadence, "feedback_types": ["question_only", "with_answer"], "init_prompt_type": "info_type"}
        files[cadence] = tmp_path / f"{cadence}.json"
        described = {"type": "awi-evolve", "name": cadence, "agent_config": {"update_bsz": 2, "local_length": 0}}
        files[cadence].write_text(json.dumps(described | {"evolution_config": evolution}))
    out, recipe = tmp_path / "kept", write(prompts={}, reflector={})
    path = tmp_path / "played.yaml"
    path.write_text(recipe.read_text().replace("method: none", "method: rft"))
    users = "scenarios.test.num_periods=2"
    assert cli.main(["evaluate", str(path), users, "--out", str(out), "--agents", *map(str, files.values())]) == 0
    report = report_of(out)
    notes = " ".join(report["notes"])
    assert "period: it tried to rewrite its prompts 8 times after a period: refused_unreadable 4, rewritten 4" in notes
    failures = {name: standing["figures"]["write"]["mean"] for name, standing in report["agents"].items()}
    assert failures["period"] < failures["no_evolution"]


@pytest.mark.parametrize(
    "overrides, problem",
    [
        (["reflection.prompts.cadence=none"], "none trains nothing"),
        (["reflection.prompts.cadence=period"], "score it with amemgym-train evaluate"),
        (["agent.name=mem0"], "mem0 words its prompts itself"),
        (["agent.name=rag"], "rag agent has no memory-update prompt"),
        (["reflection.prompts.targets=[types]"], "set agent.start to info_type"),
        (["reflection.prompts.targets=[write,write]"], "names one twice"),
        (["reflection.reflector.kind=chat"], "kind is chat, so it must be given"),
        (["reflection.reflector.model=smollm2"], "does not look at it"),
        (["training.method=rft", "reflection.retry.episodes=1", "reflection.prompts.cadence=period"], "set 0"),
        (["agent.start=clever"], "agent.start"),
        (["evaluation.upper=model"], "a model's own upper bound changes"),
        (["scenarios.validation.num_users=4"], "4 validation users can show p = 0.062 at best"),
    ],
)
def test_reflections_that_could_not_be_made_are_refused(write, overrides, problem):
    with pytest.raises(UserError, match=problem):
        load_recipe(write(), overrides)


REFLECTING = {
    "reflection": {
        "prompts": {"cadence": "iteration", "proposals": 2, "users": 2, "alpha": 1.0, "targets": ["write", "answer"]},
        "reflector": {"kind": "scripted"},
    },
    "evaluation": {"controls": []},
}


@pytest.fixture
def reflecting(write_recipe):
    def write(folder):
        path = write_recipe(folder)
        path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | REFLECTING))
        return path

    return write


def test_prompts_and_adapters_are_versioned_together_and_survive_a_kill(tmp_path, reflecting, halting, in_process, outcome):
    runs = {}
    for name in ("killed", "whole"):
        (tmp_path / name).mkdir()
        recipe = reflecting(tmp_path / name)
        runs[name] = tmp_path / name / "runs" / "tiny"
        for events in ("open os.mkdir", "os.rename") if name == "killed" else ():
            process = halting(recipe, "iterations/001/.reflect.partial/", events)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL and not (runs[name] / "iterations/001/prompts").exists()
        result = in_process("evolve", recipe)
        assert result.returncode == 0, result.stderr
    assert outcome(runs["killed"]) == outcome(runs["whole"])
    run = runs["whole"]
    for iteration in (1, 2):
        here, other = (one / f"iterations/{iteration:03d}" for one in (run, runs["killed"]))
        book = entries_of(here / "manifest.json")
        assert list(book) == ["reflect", "rollout", "diagnose", "train", "evaluate", "gate"]
        assert load_prompts(str(here / "prompts")) == load_prompts(str(other / "prompts"))
        made = book["reflect"]["outputs"]["prompts"]
        assert book["rollout"]["inputs"]["prompts"] == book["evaluate"]["inputs"]["prompts"] == made
    episodes = load_folder(run / "iterations/001/episodes")
    assert episodes and all(episode.error is None for episode in episodes)
    assert json.loads((run / "summary.json").read_text())["iterations"][0]["reflection"]["proposals"] == 2
    stages = [json.loads(line)["stage"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert stages.count("reflect") == 2
