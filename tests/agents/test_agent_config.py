"""What is checked of an agent's keys before anything is loaded."""

import importlib.util

import pytest

from amemgym_train.config.agent import OF_SOME, AgentConfig, problems
from amemgym_train.config.recipe import Recipe


def found(**agent):
    return dict(problems(Recipe.model_validate({"name": "x", "agent": agent})))


OTHER = {
    "embedder": "some/model",
    "retrieval": "hybrid",
    "max_entries": 4,
    "max_entry_chars": 9,
    "start": "minimal",
    "style": "json",
    "history": "window",
    "window": 9,
}


@pytest.mark.parametrize("key", OTHER)
@pytest.mark.parametrize("name", ["native", "awi", "awi-hack", "awe", "rag", "mem0"])
def test_a_key_that_only_another_agent_looks_at_is_refused(name, key):
    told = found(name=name, **{key: OTHER[key]}).get(f"agent.{key}", "")
    assert ("does not look at it; remove it" in told and name in told) == (name not in OF_SOME[key])


def test_every_key_belongs_to_all_agents_or_to_those_that_are_said():
    assert set(OTHER) == set(OF_SOME)
    sizes = {"update_bsz", "local_length", "flush", "top_k"}  # may stay where another agent is tried in a recipe
    assert set(AgentConfig.model_fields) - set(OF_SOME) - sizes == {"name", "respond", "max_new_tokens", "prompts"}


@pytest.mark.parametrize("name", ["native", "awi", "awi-hack", "awe", "rag"])
def test_another_agent_can_be_tried_in_a_recipe_by_its_name_alone(name):
    assert found(name=name, update_bsz=4, local_length=0, flush="period", top_k=3) == {}


@pytest.mark.parametrize("name", ["native", "awi", "awi-hack", "awe", "rag"])
@pytest.mark.parametrize("prompts", ["default", "fewshot"])
def test_agents_are_sound_as_they_come(name, prompts):
    assert found(name=name, prompts=prompts) == {}


def test_prompts_that_an_agent_needs_must_be_there(tmp_path):
    assert found(name="awi", prompts="short") == found(name="rag", prompts="short") == {}
    assert "short has no facts and no decide, which awe needs" in found(name="awe", prompts="short")["agent.prompts"]
    (tmp_path / "write.txt").write_text("Note.\n---\n{conversation}")
    assert found(name="awi", prompts=str(tmp_path)) == {}
    assert "{types}" in found(name="awi-hack", prompts=str(tmp_path))["agent.prompts"]
    assert "holds no prompt file" in found(prompts=str(tmp_path / "none"))["agent.prompts"]


def test_dense_retrieval_needs_a_model(tmp_path):
    assert "needs a sentence-embedding model" in found(name="rag", retrieval="dense")["agent.embedder"]
    assert "bm25 retrieval does not look at it" in found(name="awe", embedder="some/model")["agent.embedder"]
    gone = tmp_path / "gone"
    assert f"no folder {gone}" in found(name="rag", retrieval="hybrid", embedder=str(gone))["agent.embedder"]


@pytest.mark.parametrize("missing", [True, False])
def test_packages_of_an_extra_must_be_installed(monkeypatch, missing):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if missing else object())
    monkeypatch.setattr("amemgym_train.config.agent.find_spec", importlib.util.find_spec)
    assert ("amemgym-train[mem0]" in found(name="mem0").get("agent.name", "")) == missing
    dense = found(name="rag", retrieval="dense", embedder="some/model")
    assert ("amemgym-train[dense]" in dense.get("agent.embedder", "")) == missing


@pytest.mark.parametrize("name", ["native", "rag"])
def test_an_agent_without_write_calls_has_none_to_train(name):
    from amemgym_train.config.check import check

    recipe = Recipe.model_validate({"name": "x", "agent": {"name": name}, "training": {"operations": ["write", "read"]}})
    assert f"the {name} agent never makes a write call" in dict(check(recipe))["training.operations"]
