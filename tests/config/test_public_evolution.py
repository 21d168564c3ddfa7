"""The section evolution_config of a public agent config, read as it is."""

import json

import pytest

from amemgym_train.config.load import load_recipe
from amemgym_train.config.public_agent import EVOLVING, named_agents, public_agent
from amemgym_train.errors import UserError


@pytest.fixture
def read(tmp_path):
    def make(kind="awi-evolve", **evolution):
        path = tmp_path / "agent.json"
        config = {"update_bsz": 2, "local_length": 4}
        path.write_text(json.dumps({"type": kind, "name": "evolving", "agent_config": config, "evolution_config": evolution}))
        return public_agent(path, load_recipe(None, []))

    return make


@pytest.mark.parametrize("kind", EVOLVING)
def test_an_evolving_agent_rewrites_its_memory_update_prompt_after_each_period(read, kind):
    agent = read(kind, cadence="period", feedback_types=["question_only", "with_answer"], init_prompt_type="default")
    assert agent.config.name == EVOLVING[kind] and agent.reflection.prompts.cadence == "period"
    assert agent.reflection.prompts.targets == ("write",) and agent.reflection.feedback == "with_answer"
    assert "reflection" in agent.settings()


@pytest.mark.parametrize("kind", ["question_only", "vanilla_question_only", "vanilla", "with_answer", "with_exposed_states"])
def test_every_public_feedback_type_has_its_kind(read, kind):
    wanted = kind.removeprefix("vanilla_")
    assert read(cadence="period", feedback_types=[kind]).reflection.feedback == wanted
    assert read(cadence="period", feedback_types=kind).reflection.feedback == wanted


@pytest.mark.parametrize("start", ["minimal", "default", "info_type", "guided_info_type"])
def test_every_start_prompt_is_known_and_decides_what_evolves(read, start):
    agent = read(cadence="period", init_prompt_type=start, targets=["memory_update_prompt"])
    assert agent.config.start == start
    assert agent.reflection.prompts.targets == (("types",) if "info_type" in start else ("write",))


def test_no_evolution_keeps_the_start_prompt_and_rewrites_nothing(read):
    agent = read(cadence="no_evolution", init_prompt_type="minimal")
    assert agent.reflection.prompts.cadence == "none" and agent.config.start == "minimal"
    assert read().reflection.prompts.cadence == "none"


def test_what_of_mem0_is_not_followed_is_said(read):
    agent = read("mem0-evolution", cadence="period", targets=["fact_extraction_prompt", "update_memory_prompt"], extra=1)
    told = " ".join(agent.notes)
    assert "update_memory_prompt is not followed" in told and "evolution_config.extra" in told and "awe plays" in told


@pytest.mark.parametrize(
    "evolution, problem",
    [
        ({"cadence": "hourly"}, "cadence is 'hourly', expected one of period, no_evolution"),
        ({"feedback_types": ["all"]}, "feedback_types is"),
        ({"feedback_types": 3}, "expected a list of"),
        ({"init_prompt_type": "fancy"}, "init_prompt_type is 'fancy'"),
        ({"targets": ["update_memory_prompt"]}, "among them"),
        ({"targets": ["answer"]}, "targets is"),
    ],
)
def test_what_it_cannot_mean_is_refused_with_file_and_key(read, evolution, problem):
    with pytest.raises(UserError, match="agent.json: evolution_config") as error:
        read(**{"cadence": "period"} | evolution)
    assert problem in str(error.value)


def test_agents_beside_one_that_rewrites_its_prompts_do_so_where_they_can():
    recipe = load_recipe(None, ["reflection.prompts={cadence: period, targets: [write, answer]}", "agent.local_length=0"])
    awi, native, rag = named_agents(["awi", "native", "rag"], recipe)
    assert awi.reflection is None and awi.notes == ()  # the recipe's
    for other in (native, rag):
        assert other.reflection.prompts.cadence == "none" and "rewrites no prompts" in other.notes[0]
