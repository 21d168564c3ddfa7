"""The agents of an evaluation: names, and config files of the public code as they stand."""

import json

import pytest

from amemgym_train.config.public_agent import NAMES, named_agents, public_agent
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError

RECIPE = Recipe.model_validate({"name": "x", "agent": {"respond": "fixed", "max_entries": 9, "local_length": 0}})
LLM = {"base_url": None, "api_key": "sk-secret", "llm_model": "gpt-9", "temperature": 0.0, "max_tokens": 8192, "source": "a:b"}
BATCHES = {"update_bsz": 4, "local_length": 6}
FILES = {  # as the public repository has them, but for the values
    "native": {},
    "awi": {"agent_config": BATCHES},
    "awi-hack": {"agent_config": BATCHES},
    "awe": {"agent_config": BATCHES | {"top_k": 12, "enable_llm_mem_policy": True}, "memory_config": {"version": "v1.1"}},
    "rag": {"agent_config": BATCHES | {"top_k": 12, "enable_llm_mem_policy": False}, "memory_config": {"version": "v1.1"}},
    "awi-evolve": {
        "agent_config": BATCHES,
        "evolution_config": {
            "cadence": "period",
            "feedback_types": ["vanilla"],
            "targets": ["memory_update_prompt"],
            "init_prompt_type": "minimal",
        },
    },
}


@pytest.fixture
def write(tmp_path):
    def written(content, name="agent.json"):
        (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return tmp_path / name

    return written


def described(kind, **changes):
    return {"type": kind, "name": f"my-{kind}", "llm_config": LLM} | FILES.get(kind, {}) | changes


@pytest.mark.parametrize("kind", FILES)
def test_every_type_is_read_as_it_is(write, kind):
    agent = public_agent(write(described(kind)), RECIPE)
    assert agent.name == f"my-{kind}" and agent.config.name == {"awi-evolve": "awi"}.get(kind, kind)
    assert agent.config.respond == "fixed" and agent.config.max_new_tokens == RECIPE.agent.max_new_tokens
    if kind != "native":
        assert (agent.config.update_bsz, agent.config.local_length) == (4, 6)
    assert agent.config.top_k == (12 if kind in ("awe", "rag") else 30)
    assert agent.config.max_entries == (9 if kind.startswith("awi") else None)  # of the recipe, where the agent looks at it
    assert agent.sampling.temperature == 0
    said = "\n".join(agent.notes)
    assert "llm_model gpt-9 and its base_url are not asked: the recipe's model smollm2 answers" in said
    assert "max_tokens 8192 is not followed" in said
    assert (agent.reflection is not None) == (kind == "awi-evolve")
    assert ("memory_config is not followed" in said) == (kind in ("awe", "rag"))


def test_awe_without_a_memory_policy_is_rag(write):
    config = FILES["awe"]["agent_config"]
    agent = public_agent(write(described("awe", agent_config=config | {"enable_llm_mem_policy": False})), RECIPE)
    assert agent.config.name == "rag"
    assert public_agent(write(described("awe", agent_config=BATCHES)), RECIPE).config.name == "awe"


def test_no_key_is_kept_or_shown(write):
    memory = {"llm": {"config": {"api_key": "sk-secret"}}}
    agent = public_agent(write(described("awe", memory_config=memory, api_key="sk-secret")), RECIPE)
    assert "sk-secret" not in f"{agent!r} {json.dumps(agent.settings())}"
    with pytest.raises(UserError) as caught:
        public_agent(write(described("awe", llm_config=LLM | {"temperature": "hot"})), RECIPE)
    assert "sk-secret" not in str(caught.value)


def test_sampling_and_limits_of_the_file(write):
    path = write(described("awi", llm_config=LLM | {"temperature": 0.7}))
    assert public_agent(path, RECIPE).sampling.temperature == 0.7
    followed = RECIPE.model_copy(update={"evaluation": RECIPE.evaluation.model_copy(update={"limits": "file"})})
    agent = public_agent(path, followed)
    assert set(agent.config.max_new_tokens.model_dump().values()) == {8192}
    assert not [note for note in agent.notes if "max_tokens" in note]
    bare = public_agent(write({"type": "awi", "name": "bare"}), followed)
    assert bare.config == RECIPE.agent and bare.sampling.temperature == 0 and bare.notes == ()


def test_what_is_not_known_is_passed_over_with_a_note(write):
    agent = public_agent(write(described("awi", agent_config=BATCHES | {"shiny": 1, "top_k": None}, version=3)), RECIPE)
    assert [note for note in agent.notes if "agent_config.shiny is not known" in note]


WRONG = {
    "no agent config that can be read": "{",
    "holds a list, expected an object": [],
    "type is 'gpt', expected one of native, awi": described("gpt"),
    "type is None": {"name": "x"},
    "type is ['awi'], expected one of": {"type": ["awi"], "name": "x"},
    "name is None": {"type": "awi"},
    "name is '../x'": described("awi", name="../x"),
    "name is 'upperbound'": described("awi", name="upperbound"),
    "name is 'oracle.parquet'": described("awi", name="oracle.parquet"),
    "name is '\\ud800'": described("awi", name="\ud800"),
    f"name is '{67 * '憶'}'": described("awi", name=67 * "憶"),
    "top_k: got 2147483648": described("awe", agent_config={"top_k": 2**31}),
    "agent_config is a list, expected an object": described("awi", agent_config=[1]),
    "update_bsz: got 0": described("awi", agent_config={"update_bsz": 0}),
    "update_bsz: got 'two'": described("awi", agent_config={"update_bsz": "two"}),
    "llm_config: temperature: got -1": described("awi", llm_config={"temperature": -1}),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_broken_file_is_named(write, message):
    path = write(WRONG[message])
    with pytest.raises(UserError) as caught:
        public_agent(path, RECIPE)
    assert str(caught.value).startswith(str(path)) and message in str(caught.value)


def test_agents_are_named_or_described(write):
    path = write(described("awi"))
    agents = named_agents(["native", str(path), "awi"], RECIPE)
    assert [agent.name for agent in agents] == ["native", "my-awi", "awi"]
    assert agents[2].config == RECIPE.agent and agents[0].config.name == "native"
    assert [agent.name for agent in named_agents([], RECIPE)] == ["awi"]
    assert set(FILES) - {"awi-evolve"} <= set(NAMES)


@pytest.mark.parametrize(
    "words, message",
    [
        (["gpt"], "gpt is no agent and no file; expected native, awi"),
        (["awi", "seed=3"], "seed=3 is no agent and no file; .*stands before --agents"),
        (["awi", "awi"], "two of them are called awi"),
    ],
)
def test_words_that_name_no_agent_are_refused(words, message):
    with pytest.raises(UserError, match=message):
        named_agents(words, RECIPE)


def test_what_an_agent_lacks_is_told_before_anything_is_played():
    short = RECIPE.model_copy(update={"agent": RECIPE.agent.model_copy(update={"prompts": "short"})})
    with pytest.raises(UserError, match="--agents awe: agent.prompts: short has no facts"):
        named_agents(["awe"], short)
