"""Calls that do not fit, and parts of a model or a launch that are not there."""

import json
import re
from pathlib import Path

import pytest

from amemgym_train.config.load import load_recipe
from amemgym_train.doctor.calls import longest_call, longest_replies, right_calls

RECIPES = Path(__file__).resolve().parents[2] / "recipes" / "configs"


def test_a_reply_that_would_be_cut_off(diagnosed):
    [found] = diagnosed("agent.max_new_tokens.write=5")["lengths"]
    assert found.level == "yellow" and "agent.max_new_tokens.write is 5: it would be cut off" in found.message
    key, _, tokens = found.remedy.partition("=")
    [mended] = diagnosed(found.remedy)["lengths"]
    assert mended.level == "green" and f"write {tokens} of {tokens}" in mended.message
    assert diagnosed(f"{key}={int(tokens) - 1}")["lengths"][0].level == "yellow"


def test_calls_that_are_longer_than_the_window(only, diagnosed, make_llama, tokenizer, tmp_path):
    needed = int(re.search(r"the longest call needs (\d+)", diagnosed()["lengths"][0].message).group(1))
    for room in (needed, needed - 1):
        make_llama(max_position_embeddings=room).save_pretrained(tmp_path / str(room))
        tokenizer.save_pretrained(tmp_path / str(room))
    assert diagnosed(f"policy.model={tmp_path / str(needed)}")["lengths"][0].level == "green"
    found = only("lengths", f"policy.model={tmp_path / str(needed - 1)}")
    assert f"the longest call needs {needed} tokens" in found.message and f"a window of {needed - 1}:" in found.message


def test_what_is_measured_is_what_is_encoded(sound, tokenizer):
    recipe = load_recipe(sound)
    calls = right_calls(recipe)
    assert {call.operation for call in calls} == {"write", "read", "answer"}
    for operation, (tokens, text) in longest_replies(calls, tokenizer).items():
        right = [len(tokenizer(call.reply)["input_ids"]) + 1 for call in calls if call.operation == operation]
        assert tokens == max(right) and text in {call.reply for call in calls}
    more = load_recipe(sound, ["agent.max_new_tokens.answer=1100"])
    less = load_recipe(sound, ["agent.max_new_tokens.answer=1000"])
    assert longest_call(more, calls, tokenizer) - longest_call(less, calls, tokenizer) == 100


@pytest.mark.parametrize("name", ["quickstart", "ppo_cpu"])
def test_the_shipped_recipes_of_the_tiny_model_leave_room_for_right_replies(name):
    """By the tokenizer that is built for that model; the model itself would take minutes."""
    from amemgym_envs.amemgym.languages import wording
    from amemgym_train.agents.templates import load_prompts
    from amemgym_train.policy.tiny.tokenizer import build_tokenizer, texts_of

    recipe = load_recipe(RECIPES / f"{name}.yaml")
    tokenizer = build_tokenizer(texts_of(wording(), load_prompts(recipe.agent.prompts).values(), recipe.scenarios.train.domains))
    limits = recipe.agent.max_new_tokens
    for operation, (tokens, text) in longest_replies(right_calls(recipe), tokenizer).items():
        assert tokens <= getattr(limits, operation), text


def test_a_model_folder_that_lacks_a_part_of_its_weights(only, diagnosed, make_llama, tokenizer, tmp_path):
    folder = tmp_path / "parts"
    make_llama().save_pretrained(folder, max_shard_size="20KB")
    tokenizer.save_pretrained(folder)
    parts = sorted(set(json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"].values()))
    assert len(parts) > 1 and diagnosed(f"policy.model={folder}")["model"][0].level == "green"
    (folder / parts[1]).unlink()
    assert f"lacks {parts[1]} of {len(parts)} files" in only("model", f"policy.model={folder}").message


@pytest.mark.parametrize("port, level", [("null", "red"), ("29500", "green")])
def test_several_machines_need_a_port(diagnosed, tmp_path, port, level):
    (tmp_path / "two.yaml").write_text("{distributed_type: MULTI_CPU, num_machines: 2, num_processes: 2, use_cpu: true}")
    launch = ("evolution.launcher=accelerate", f"evolution.launch.file={tmp_path}/two.yaml", f"evolution.launch.port={port}")
    [found] = diagnosed(*launch)["launch"]
    assert found.level == level
    assert level == "green" or found.remedy == "evolution.launch.port=29500"
