"""The real command line, killed in each of its stages and started again."""

import signal

import yaml

from amemgym_train.evolution.plays import load_folder

BEGINS, PUBLISHES = "open os.mkdir", "os.rename"
PLACES = [
    ("test/.before.partial/", BEGINS),
    ("iterations/000/.evaluate.partial/", PUBLISHES),
    ("iterations/001/.rollout.partial/", BEGINS),
    ("iterations/001/.diagnose.partial/", BEGINS),
    ("iterations/001/.train.partial/", BEGINS),
    ("iterations/001/.evaluate.partial/", BEGINS),
    ("iterations/001/.gate.partial/", PUBLISHES),
    ("iterations/002/.train.partial/", PUBLISHES),
    ("test/.after.partial/", BEGINS),
]


def test_a_run_killed_in_its_second_tries_plays_them_again_to_the_token(tmp_path, write_recipe, halting, in_process, outcome):
    runs = {}
    for name in ("killed", "whole"):
        (tmp_path / name).mkdir()
        recipe = write_recipe(tmp_path / name)
        short = {"evolution": {"iterations": 1}, "evaluation": {"controls": []}, "reflection": {"retry": {"episodes": 2}}}
        recipe.write_text(yaml.safe_dump(yaml.safe_load(recipe.read_text()) | short))
        runs[name] = tmp_path / name / "runs" / "tiny"
        for events in (BEGINS, PUBLISHES) if name == "killed" else ():
            process = halting(recipe, "iterations/001/.retry.partial/", events)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL and not (runs[name] / "iterations/001/retries").exists()
        result = in_process("evolve", recipe)
        assert result.returncode == 0, result.stderr
        assert result.stdout.count(": rollout\n") == (name == "whole")
    assert outcome(runs["killed"]) == outcome(runs["whole"])
    killed, whole = (load_folder(run / "iterations/001/retries") for run in runs.values())
    assert killed == whole and killed


def test_a_run_killed_in_every_stage_ends_like_one_that_was_never_disturbed(
    tmp_path, write_recipe, halting, amemgym_train, undisturbed, outcome
):
    recipe, run = write_recipe(tmp_path), tmp_path / "runs" / "tiny"
    for place, events in PLACES:
        process = halting(recipe, place, events)
        assert (run / place).is_dir()
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (run / "summary.json").exists()
    result = amemgym_train("evolve", recipe)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count(": rollout\n") == 0 and result.stdout.count("test: after\n") == 1
    assert outcome(run) == outcome(undisturbed)
    assert not list(run.rglob(".*.partial"))


def test_a_finished_run_started_again_does_nothing_anew(tmp_path, amemgym_train, undisturbed, outcome):
    before, recipe = outcome(undisturbed), undisturbed.parents[1] / "tiny.yaml"
    result = amemgym_train("evolve", recipe)
    assert result.returncode == 0, result.stderr
    assert "before and after" in result.stdout and "iteration 1 of 2" not in result.stdout and "\ntest: " not in result.stdout
    assert outcome(undisturbed) == before
