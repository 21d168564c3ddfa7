"""The order of the loop's stages and its gate, with stages that need no model."""

import json
import os
import shutil

import pytest

from amemgym_envs.amemgym.languages import FOLDER
from amemgym_train.agents.templates import load_prompts, write_prompts
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution import stages
from amemgym_train.evolution.folder import adopt, claimed, differing
from amemgym_train.evolution.inputs import named_files
from amemgym_train.evolution.run import evolve

SCORES = {"base": 0.2, "iteration-001": 0.5, "iteration-002": 0.4, "iteration-003": 0.5, "iteration-004": 0.9}
FIGURES = {"overall": 0.5, "random": 0.25, "upper": 1.0, "write": 0.3, "read": 0.2, "utilisation": 0.1, "correct": 0.4}
COUNTS = {"episodes": 2, "unscorable": 0, "diagnosed": 2, "answers": 12, "undefined_periods": 0, "parse_failures": {}}


@pytest.fixture
def log(monkeypatch):
    """Every stage as it is done: its name, and whose adapter it works with."""
    done = []

    def evaluate(recipe, role, adapter, version, out, name, controls=()):
        done.append((role if role == "validation" else name, version, *controls))
        assert (adapter is None) == (version == "base") and (adapter is None or (adapter / "weights").is_file())
        (out / f"{name}.json").write_text(version)
        (out / f"{name}_users.json").write_text(json.dumps({"a": SCORES[version] - 0.1, "b": SCORES[version] + 0.1}))
        figures = {**FIGURES, **COUNTS, "memory_score": SCORES[version]}
        return {"agent": figures, **{control: figures for control in controls}}

    def roll_out(recipe, iteration, adapter, version, out):
        done.append(("rollout", version))
        (out / "episodes").mkdir()
        return {"episodes": 8, "turns": 80}

    def train(recipe, iteration, episodes, adapter, out):
        done.append(("train", adapter.parent.name if adapter else "base"))
        (out / "adapter").mkdir()
        (out / "adapter" / "weights").write_text(str(iteration))
        return {"loss": 1.0 / iteration, "seconds": 1.0}

    for name, stage in {"evaluate": evaluate, "roll_out": roll_out, "train": train}.items():
        monkeypatch.setattr(stages, name, stage)
    monkeypatch.setattr(stages, "diagnose_rollout", lambda recipe, folder, out: {"write": 0.5})
    return done


def recipe(folder, **evolution):
    sections = {"name": "x", "output": str(folder), "agent": {"local_length": 0}, "evolution": {"iterations": 4} | evolution}
    return Recipe.model_validate(sections)


def test_the_best_adapter_plays_and_is_trained_on_and_test_users_come_first_and_last(tmp_path, log):
    summary = evolve(recipe(tmp_path))
    base, one, two, three, four = SCORES
    assert log == [
        *[("before", base), ("validation", base)],
        *[("rollout", base), ("train", base), ("validation", one)],
        *[("rollout", one), ("train", "001"), ("validation", two)],  # worse: the first one stands
        *[("rollout", one), ("train", "001"), ("validation", three)],  # as good: it passes
        *[("rollout", three), ("train", "003"), ("validation", four)],
        ("after", four, "random", "oracle"),
    ]
    assert summary["best_iteration"] == 4 and summary["test"]["gain"] == pytest.approx(0.7)
    assert [entry["passed"] for entry in summary["iterations"]] == [True, False, True, True]
    assert set(summary["test"]["controls"]) == {"random", "oracle"}
    assert summary["episodes"] == {"rollout": 32, "test": 2}
    assert json.loads((tmp_path / "x" / "summary.json").read_text()) == summary
    assert (tmp_path / "x" / "latest").resolve() == (tmp_path / "x" / "iterations" / "004").resolve()


def test_training_may_begin_anew_from_what_the_best_adapter_played(tmp_path, log):
    evolve(recipe(tmp_path, start_from="base"))
    assert [place for stage, place, *_ in log if stage == "train"] == ["base"] * 4
    assert [version for stage, version, *_ in log if stage == "rollout"] == ["base", *["iteration-001"] * 2, "iteration-003"]


def test_a_gate_may_ask_for_more(tmp_path, log):
    summary = evolve(recipe(tmp_path, iterations=3, gate={"min_delta": 0.35}))
    assert [version for stage, version, *_ in log if stage in ("rollout", "after")] == ["base"] * 4
    assert summary["best_iteration"] == 0 and summary["test"]["gain"] == 0


def test_a_run_goes_on_where_more_iterations_are_asked_for(tmp_path, log):
    evolve(recipe(tmp_path, iterations=2))
    done = len(log)
    longer = evolve(recipe(tmp_path))
    assert log[done:][0] == ("rollout", "iteration-001") and ("before", "base") not in log[done:]
    log.clear()
    assert longer == evolve(recipe(tmp_path)) and log == []
    whole = evolve(recipe(tmp_path / "whole"))
    assert {**longer, "wall_seconds": 0} == {**whole, "wall_seconds": 0}


def test_a_run_of_another_recipe_is_refused(tmp_path, log):
    first = recipe(tmp_path)
    evolve(first)
    other = first.model_copy(update={"seed": 1, "training": first.training.model_copy(update={"epochs": 7})})
    with pytest.raises(UserError, match=rf"{tmp_path}/x holds a run of another recipe; it differs in seed, training\.epochs\."):
        evolve(other)
    evolve(first.model_copy(update={"tracking": first.tracking.model_copy(update={"project": "other"})}))


def test_a_recipe_may_be_mended_until_a_stage_has_finished(tmp_path, log, monkeypatch):
    def fail(*arguments):
        raise UserError("no such model")

    first = recipe(tmp_path)
    with monkeypatch.context() as broken, pytest.raises(UserError, match="no such model"):
        broken.setattr(stages, "evaluate", fail)
        evolve(first)
    evolve(first.model_copy(update={"seed": 1}))
    with pytest.raises(UserError, match="it differs in seed"):
        evolve(first)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"name": "x", "sed": 1}'])
def test_a_damaged_config_is_one_clear_message(tmp_path, content):
    (tmp_path / "manifest.json").write_text("{}")  # any will do
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(UserError, match=rf"^{tmp_path}/config\.json is damaged .*Put it back") as told:
        adopt(recipe(tmp_path), tmp_path)
    assert "\n" not in str(told.value) and (tmp_path / "config.json").read_bytes() == content


def test_a_folder_has_one_process_at_a_time(tmp_path, log):
    with claimed(tmp_path / "x"), pytest.raises(UserError, match=rf"{tmp_path}/x: process {os.getpid()} on .* works on this run"):
        evolve(recipe(tmp_path))
    assert log == []
    evolve(recipe(tmp_path))


def test_a_run_needs_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("file", "file/below"):
        with pytest.raises(UserError, match="no folder can be made there"), claimed(tmp_path / name):
            pass


def test_differing_names_the_keys():
    stored = {"a": 1, "b": {"c": 2, "d": {"e": 3}}, "f": [1]}
    assert differing(stored, stored) == []
    assert differing(stored, {"a": 1, "b": {"c": 0, "d": {"e": 4}}, "f": [2], "g": None}) == ["b.c", "b.d.e", "f"]
    assert differing(stored, {"g": 1}) == ["a", "b", "f", "g"]


def test_a_finished_run_without_its_config_is_not_taken_over(tmp_path):
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(UserError, match=rf"^{tmp_path}/config\.json is missing"):
        adopt(recipe(tmp_path), tmp_path)
    assert not (tmp_path / "config.json").exists()


def test_what_a_named_file_holds_is_part_of_a_stages_inputs(tmp_path):
    from amemgym_envs.amemgym.scenario import save_scenarios
    from amemgym_train.evolution.loop import Evolution

    ours = recipe(tmp_path)
    assert named_files(ours) == {}
    data = tmp_path / "data.json"
    save_scenarios(data, ours.scenarios.test.build())
    reading = ours.model_copy(
        update={"scenarios": ours.scenarios.model_copy(update={"test": type(ours.scenarios.test)(data=str(data))})}
    )
    before = Evolution(reading).inputs(0, 0)
    data.write_text(data.read_text() + "\n")
    after = Evolution(reading).inputs(0, 0)
    assert before != after and before["recipe"] == after["recipe"]


def test_every_file_that_a_recipe_names_is_an_input_of_its_stages(tmp_path):
    people, pack = tmp_path / "people.jsonl", shutil.copytree(FOLDER / "en", tmp_path / "pack")
    people.write_text("{}\n")
    train = {"personas": str(people), "language": str(pack)}
    recipe = Recipe.model_validate({"name": "x", "scenarios": {"train": train}})
    before = named_files(recipe)
    assert set(before) == {"scenarios.train.personas", "scenarios.train.language"}
    people.write_text("{}\n{}\n")
    (pack / "talk.yaml").write_text("changed")
    after = named_files(recipe)
    assert all(after[key] != before[key] for key in before)


def empty_weights(header):
    """A file of safetensors that holds no tensor: the length of its header, and that."""
    return len(header).to_bytes(8, "little") + header.encode()


def test_a_run_that_starts_from_an_adapter_depends_on_its_weights(tmp_path):
    from amemgym_train.evolution.loop import Evolution

    adapter = tmp_path / "adapter"
    ours = recipe(tmp_path)
    ours = ours.model_copy(update={"policy": ours.policy.model_copy(update={"adapter": str(adapter)})})
    with pytest.raises(UserError, match=rf"^adapter {adapter}: no file adapter_config.json there"):
        Evolution(ours)
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    (adapter / "adapter_model.safetensors").write_bytes(empty_weights("{}"))
    before = Evolution(ours)
    assert (before.adapter(0), before.version(0)) == (adapter, "start")
    (adapter / "adapter_model.safetensors").write_bytes(empty_weights('{"__metadata__":{"a":"b"}}'))
    assert Evolution(ours).inputs(0, 0) != before.inputs(0, 0)


def test_the_training_users_of_an_iteration_follow_the_curriculum_on_resume_too(tmp_path, log, monkeypatch):
    """A run that is stopped and goes on plays what an undisturbed one plays."""
    seen = []
    roll_out, train = stages.roll_out, stages.train

    def play(recipe, iteration, *rest):
        seen.append((iteration, recipe.scenarios.train.num_periods, recipe.scenarios.validation.num_periods))
        return roll_out(recipe, iteration, *rest)

    def fit(recipe, *rest):
        assert recipe.scenarios.train.num_periods == seen[-1][1]
        return train(recipe, *rest)

    monkeypatch.setattr(stages, "roll_out", play)
    monkeypatch.setattr(stages, "train", fit)
    curriculum = {"curriculum": {"every": 2, "num_periods": [1, 7]}}
    evolve(recipe(tmp_path, iterations=3, **curriculum))
    evolve(recipe(tmp_path, **curriculum))
    assert seen == [(1, 1, 3), (2, 1, 3), (3, 7, 3), (4, 7, 3)]
    lines = [json.loads(line) for line in (tmp_path / "x" / "metrics.jsonl").read_text().splitlines()]
    assert {line["step"]: line["num_periods"] for line in lines if line["stage"] == "curriculum"} == {1: 1, 2: 1, 3: 7, 4: 7}


def test_prompts_and_adapter_of_an_iteration_stand_or_fall_together(tmp_path, log, monkeypatch):
    """The second iteration is worse: the third begins with the first one's prompts and adapter, and is judged with its own."""
    from amemgym_train.evolution import reflection

    worded, began = [], []

    def reflect(recipe, iteration, adapter, version, evaluated, before, about, guided, out):
        began.append((recipe.agent.prompts.split("/")[-2:], version, evaluated.parent.name, before and before.name))
        write_prompts(out / "prompts", load_prompts())
        (out / "reflection.json").write_text(str(iteration))
        return {"proposals": 4}

    def watched(name, stage):
        def work(recipe, *arguments, **options):
            worded.append((name, recipe.agent.prompts.split("/")[-2]))
            return stage(recipe, *arguments, **options)

        return work

    monkeypatch.setattr(reflection, "reflect", reflect)
    for name in ("roll_out", "train", "evaluate"):
        monkeypatch.setattr(stages, name, watched(name, getattr(stages, name)))
    sections = recipe(tmp_path, iterations=3).model_dump() | {"reflection": {"prompts": {"cadence": "iteration"}}}
    (tmp_path / "own").mkdir()
    write_prompts(tmp_path / "own", load_prompts())
    sections["agent"] = sections["agent"] | {"prompts": str(tmp_path / "own")}
    summary = evolve(Recipe.model_validate(sections))
    own = [tmp_path.name, "own"]
    assert began == [
        (own, "base", "000", None),
        (["001", "prompts"], "iteration-001", "001", "001"),
        (["001", "prompts"], "iteration-001", "001", "002"),
    ]
    each = [(name, f"{i:03d}") for i in (1, 2, 3) for name in ("roll_out", "train", "evaluate")]
    assert worded == [("evaluate", tmp_path.name)] * 2 + each + [("evaluate", "003")]  # as good as the first: it stands
    assert [entry["reflection"] for entry in summary["iterations"]] == [{"proposals": 4}] * 3


def test_a_run_that_only_gets_worse_is_stopped_and_goes_on_no_further(tmp_path, log, monkeypatch):
    monkeypatch.setitem(SCORES, "iteration-003", 0.3)
    impatient = recipe(tmp_path, gate={"patience": 2})
    summary = evolve(impatient)
    assert [entry["gate"]["decision"] for entry in summary["iterations"]] == ["accept", "reject", "stop"]
    assert summary["stopped_after"] == 3 and summary["best_iteration"] == 1
    assert log[-1] == ("after", "iteration-001", "random", "oracle")
    log.clear()
    assert evolve(impatient) == summary and log == []


def test_pruning_leaves_the_last_iterations_and_the_best(tmp_path, log):
    pruned, whole = (evolve(recipe(tmp_path / name, **more)) for name, more in (("pruned", {"keep_last": 1}), ("whole", {})))
    assert pruned | {"wall_seconds": 0} == whole | {"wall_seconds": 0}
    there = {path.parent.name for path in (tmp_path / "pruned" / "x" / "iterations").glob("*/adapter")}
    assert there == {"004"}  # the last, and the best
    log.clear()
    evolve(recipe(tmp_path / "pruned", keep_last=1))
    assert log == []
    evolve(recipe(tmp_path / "early", iterations=2, keep_last=1))
    assert {path.parent.name for path in (tmp_path / "early" / "x" / "iterations").glob("*/adapter")} == {"001", "002"}


def test_an_adapter_that_was_changed_is_made_again_with_all_that_came_of_it(tmp_path, log):
    evolve(recipe(tmp_path, iterations=2))
    done = len(log)
    (tmp_path / "x" / "iterations" / "001" / "adapter" / "weights").write_text("cut")
    evolve(recipe(tmp_path, iterations=2))
    assert log[done:] == [("train", "base")]  # which makes the same, so that what follows stays
