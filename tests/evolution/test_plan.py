"""The dry run says what a run then does, and writes nothing."""

import json
from pathlib import Path

import pytest

from amemgym_train import cli
from amemgym_train.config.load import load_recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution import ranks
from amemgym_train.evolution.manifest import entries_of
from amemgym_train.evolution.plan import plan, told

RECIPES = sorted((Path(__file__).resolve().parents[2] / "recipes" / "configs").glob("*.yaml"))
PPO = ["training.method=ppo", "training.ppo.steps=2", "credit.scheme=blend"]
GRPO = ["training.method=grpo", "training.grpo.steps=2", "evolution.iterations=3", "credit.scheme=blend"]


def files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture
def qwen(tmp_path, tokenizer):
    """A folder with the sizes of Qwen2.5-7B and a small tokenizer, without weights."""
    from transformers import Qwen2Config

    sizes = {"hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4}
    folder = tmp_path / "qwen"
    Qwen2Config(**sizes, intermediate_size=18944, vocab_size=152064, architectures=["Qwen2ForCausalLM"]).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
@pytest.mark.parametrize("method", ["rft", "dpo", "grpo", "ppo"])
def test_every_shipped_recipe_can_be_planned(path, method, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    places = [f"environments.{name}" for name in load_recipe(path).environments] or ["scenarios"]
    few = [f"{place}.{role}.num_users=2" for place in places for role in ("train", "validation", "test")]
    start = ["policy.adapter=null", "reflection.prompts.alpha=1"]  # is made by another run; for so few users
    changed = [f"training.method={method}", "rollout.group_size=4", *few, *start]
    assert cli.main(["evolve", str(path), *changed, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        *("Dry run", load_recipe(path).name, "Batch", "Stages", "Model", "Disk", "Run")
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_plan_without_training_has_no_batch_and_one_with_second_tries_has_room_for_them(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    recipes = {path.stem: str(path) for path in RECIPES}
    assert cli.main(["evolve", recipes["prompts_cpu"], "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "Batch" not in told and "No weights are trained" in told and "rewrites the prompts (write + answer) 4 times" in told
    few = ["scenarios.train.num_users=2", "rollout.group_size=4", "training.method=grpo", "training.batch_size=1"]
    batches = []
    for tries in (0, 3):
        assert cli.main(["evolve", recipes["quickstart"], *few, f"reflection.retry.episodes={tries}", "--dry-run", "--json"]) == 0
        batches.append(json.loads(capsys.readouterr().out)["batch"])
    assert [batch["second_tries"] for batch in batches] == [0, 6]
    assert batches[1]["micro_batches"] * 8 == batches[0]["micro_batches"] * (8 + 6)


@pytest.mark.parametrize("changed", [[], ["training.batch_size=7"], ["rollout.group_size=3"], ["credit.operations=[answer]"]])
def test_a_run_trains_on_what_was_planned(tmp_path, write_recipe, monkeypatch, changed):
    from amemgym_train.evolution.on_policy import train_on_policy
    from amemgym_train.training import grpo

    recipe = load_recipe(write_recipe(tmp_path), GRPO + changed)
    batch, given = plan(recipe)["batch"], []

    def seen(*arguments, **settings):
        given.append((settings["batches"], settings["per_batch"]))
        return credited(*arguments, **settings)

    credited = grpo.credited
    monkeypatch.setattr(grpo, "credited", seen)
    train_on_policy(recipe, 1, None, 0, tmp_path)
    log = [entry for entry in json.loads((tmp_path / "training.json").read_text()) if "rows" in entry]
    assert len(log) == batch["steps"] == 2 and batch["all_steps"] == 6
    assert {(entry["rows"] + entry["rows_dropped"], entry["episodes"]) for entry in log} == {(batch["rows"], batch["episodes"])}
    assert given == [(batch["micro_batches"], recipe.training.batch_size)] * 2
    sentence = f"= {batch['rows']} rows, in {batch['micro_batches']} micro-batches of {recipe.training.batch_size} per optimiser"
    assert sentence in told(recipe, plan(recipe))


@pytest.mark.parametrize("changed", [[], ["training.batch_size=7"], ["credit.operations=[answer]", "training.ppo.minibatches=5"]])
def test_the_updates_of_ppo_are_those_that_were_planned(tmp_path, write_recipe, monkeypatch, changed):
    from amemgym_train.evolution.on_policy import train_on_policy
    from amemgym_train.training.ppo import EpisodePPO

    recipe = load_recipe(write_recipe(tmp_path), [*PPO, *changed])
    batch, made = plan(recipe)["batch"], []

    def seen(self, step):
        made.append(play(self, step))
        return made[-1]

    play = EpisodePPO._play
    monkeypatch.setattr(EpisodePPO, "_play", seen)
    train_on_policy(recipe, 1, None, 0, tmp_path)
    log = [entry for entry in json.loads((tmp_path / "training.json").read_text()) if "rows" in entry]
    assert [entry["step"] for entry in log] == [batch["updates"], 2 * batch["updates"]]
    assert all(entry["rows"] <= batch["rows"] and entry["updates"] == batch["updates"] for entry in log)
    for step in made:
        assert len(step.batches) == batch["updates"] * batch["micro_batches"]
        assert {len(rows) for rows in step.batches} == {recipe.training.batch_size}
        trained = [(row.episode, row.slot) for rows in step.batches for row in rows if row.slot != "padding"]
        assert {trained.count(row) for row in trained} == {recipe.training.ppo.epochs}  # every call once in every pass
    assert f"per optimiser step, {batch['updates']} of them a step" in told(recipe, plan(recipe))


def test_what_is_selected_stays_within_the_plan(undisturbed):
    recipe = load_recipe(undisturbed.parents[1] / "tiny.yaml")
    batch = plan(recipe)["batch"]
    result = entries_of(undisturbed / "iterations" / "001" / "manifest.json")["train"]["result"]
    assert 0 < result["rows"] <= batch["rows"] and 0 < result["steps"] <= batch["steps"]
    assert plan(load_recipe(undisturbed.parents[1] / "tiny.yaml", ["name=other", "training.max_rows=5"]))["batch"]["rows"] == 5


def test_a_run_that_exists_would_go_on_and_is_left_alone(undisturbed, capsys):
    before = files(undisturbed.parents[1])
    recipe = str(undisturbed.parents[1] / "tiny.yaml")
    assert cli.main(["evolve", recipe, "--dry-run"]) == 0
    stages = sum(len(entries_of(path)) for path in undisturbed.rglob("manifest.json"))
    assert f"would go on, {stages} stages of it finished in {undisturbed}" in capsys.readouterr().out
    assert cli.main(["evolve", recipe, "--dry-run", "seed=5"]) == 2
    assert "holds a run of another recipe; it differs in seed" in capsys.readouterr().err
    assert files(undisturbed.parents[1]) == before


def test_a_small_model_is_as_large_as_planned(tmp_path, write_recipe, undisturbed):
    from amemgym_train.policy.references import load
    from amemgym_train.training.lora import new_adapter

    recipe = load_recipe(write_recipe(tmp_path))
    found = plan(recipe)["model"]
    model, _ = load(recipe.policy.model)
    assert found["parameters"] == model.num_parameters() and found["bytes"] == 4 * model.num_parameters()
    adapter = new_adapter(model, recipe.policy.lora, 0)
    assert found["adapter_parameters"] == sum(weight.numel() for weight in adapter.parameters() if weight.requires_grad)
    assert found["adapter_bytes"] == 16 * found["adapter_parameters"]
    given = load_recipe(write_recipe(tmp_path), [f"policy.adapter={undisturbed}/iterations/001/adapter", "policy.lora.r=2"])
    assert plan(given)["model"]["adapter_parameters"] == found["adapter_parameters"]  # it keeps its own rank


def test_the_recipe_of_a_7b_model_on_eight_gpus(tmp_path, qwen, monkeypatch):
    [path] = [path for path in RECIPES if path.stem == "grpo_qwen2.5_7b"]
    monkeypatch.setattr(ranks, "count", lambda: 8)
    monkeypatch.setattr(ranks, "sharing", lambda: ("DeepSpeed ZeRO-3", 3))
    recipe = load_recipe(path, [f"policy.model={qwen}", f"output={tmp_path}/runs"])
    found = plan(recipe)
    model, batch = found["model"], found["batch"]
    assert (model["class"], model["parameters"], model["adapter_parameters"]) == ("Qwen2ForCausalLM", 7_615_616_512, 80_740_352)
    whole, part = 2 * 7_615_616_512, 2 * 7_615_616_512 // 8
    assert (model["bytes"], model["bytes_playing"]) == (part, part)  # the server plays
    assert "answered by http://127.0.0.1:8000, not asked yet." in told(recipe, found)
    alone = load_recipe(path, [f"policy.model={qwen}", f"output={tmp_path}/runs", "policy.server=null"])
    playing = plan(alone)
    assert (playing["model"]["bytes"], playing["model"]["bytes_playing"]) == (part, whole)
    assert "15.2 GB while episodes are played" in told(alone, playing)
    assert model["adapter_bytes"] == 2 * 80_740_352  # an eighth of 16 bytes each
    head = " ".join(line.lstrip("# ") for line in path.read_text().splitlines() if line.startswith("#"))
    episodes = f"16 users x 8 = {batch['episodes']} episodes, {batch['episodes_per_process']} on each GPU"
    rows = f"{batch['rows']:,} rows, {batch['micro_batches']} micro-batches of {recipe.training.batch_size} rows"
    assert f"{episodes}, of {batch['calls']} trained calls each: {rows}." in head
    assert batch["episodes"] == 8 * batch["episodes_per_process"] and batch["micro_batches"] * 16 == batch["rows"]  # none idle


def test_the_ppo_recipe_of_a_7b_model_on_eight_gpus(tmp_path, qwen, monkeypatch):
    """No groups: as many users as episodes."""
    [path] = [path for path in RECIPES if path.stem == "ppo_qwen2.5_7b"]
    monkeypatch.setattr(ranks, "count", lambda: 8)
    monkeypatch.setattr(ranks, "sharing", lambda: ("DeepSpeed ZeRO-3", 3))
    recipe = load_recipe(path, [f"policy.model={qwen}", f"output={tmp_path}/runs"])
    batch = plan(recipe)["batch"]
    head = " ".join(line.lstrip("# ") for line in path.read_text().splitlines() if line.startswith("#"))
    episodes = f"128 users x 1 = {batch['episodes']} episodes, {batch['episodes_per_process']} on each GPU"
    rows = f"{batch['rows']:,} rows, in {batch['updates']} updates of {batch['micro_batches']} micro-batches of 16 rows"
    assert f"{episodes}, of {batch['calls']} trained calls each: {rows}, twice over the step's rows." in head
    assert recipe.training.batch_size == 16 and recipe.training.ppo.epochs == 2


def test_an_absent_model_is_named_and_stops_nothing(tmp_path, write_recipe, monkeypatch, capsys):
    monkeypatch.setenv("AMEMGYM_TRAIN_CACHE", str(tmp_path / "cache"))
    recipe = str(write_recipe(tmp_path))
    for model, line in (
        ("owner/name", "Model: not looked at: hub id owner/name is not in this machine's cache."),
        ("quickstart", "Model: not looked at: quickstart is built on first use."),
    ):
        assert cli.main(["evolve", recipe, "--dry-run", f"policy.model={model}"]) == 0
        assert line in capsys.readouterr().out.splitlines()
    assert not (tmp_path / "cache").exists()


def test_what_would_stop_the_run_stops_the_plan(tmp_path, write_recipe, monkeypatch):
    from amemgym_train.training import arguments

    path = write_recipe(tmp_path)
    with pytest.raises(UserError, match="no file adapter_config.json there"):
        plan(load_recipe(path, [f"policy.adapter={tmp_path}"]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no config.json"):
        plan(load_recipe(path, [f"policy.model={tmp_path / 'empty'}"]))
    with pytest.raises(UserError, match=r"policy\.lora: Target modules"):
        plan(load_recipe(path, ["policy.lora.target_modules=[nothing]"]))

    def refuse(*_):
        raise ValueError("no such schedule")

    monkeypatch.setattr(arguments, "sft_arguments", refuse)
    with pytest.raises(UserError, match=r"the trainer refuses these settings \(no such schedule\)"):
        plan(load_recipe(path))


def test_json_goes_with_a_dry_run(tmp_path, write_recipe, capsys):
    recipe = write_recipe(tmp_path)
    assert cli.main(["evolve", str(recipe), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == plan(load_recipe(recipe))
    assert cli.main(["evolve", str(recipe), "--json"]) == 2
    assert "--json goes with --dry-run" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
