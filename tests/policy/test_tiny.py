import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.languages import wording
from amemgym_envs.amemgym.scenario import ScenarioError
from amemgym_train.agents import build_agent
from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.load import load_recipe
from amemgym_train.config.scenarios import ROLES
from amemgym_train.evaluation.memory import report
from amemgym_train.policy.oracle import OraclePolicy
from amemgym_train.policy.tiny import build as builder
from amemgym_train.policy.tiny.build import Build, built_folder, fingerprint
from amemgym_train.policy.tiny.demonstrations import demonstrations, recall_drill
from amemgym_train.policy.tiny.tokenizer import build_tokenizer, texts_of
from amemgym_train.policy.tiny.warmstart import WarmStart, share_right
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.runner import play

RECIPE = Path(__file__).parents[2] / "recipes" / "configs" / "quickstart.yaml"
SMALL = Build(users=2, held_back=1, hidden_size=32, layers=1, heads=2, drill_steps=2, most_steps=2, batch_size=4)
DOMAINS = SMALL.demonstrated().domains


@cache
def tokenizer():
    return build_tokenizer(texts_of(wording(), load_prompts(SMALL.agent().prompts).values(), DOMAINS))


@cache
def examples():
    return demonstrations(SMALL.agent(), SMALL.demonstrated(), tokenizer())


@cache
def drill():
    return recall_drill(SMALL.agent(), SMALL.demonstrated(), tokenizer(), 40, 0)


def ids(text):
    return tokenizer()(text, add_special_tokens=False)["input_ids"]


def filled():
    for variable in (v for v in wording().variables if v.domain in DOMAINS):
        for value in variable.values:
            for carrier in (*variable.says, *variable.changes, *variable.advice):
                yield carrier.format(value=value)


def test_every_template_text_is_known_and_comes_back_in_lower_case():
    prompts = load_prompts(SMALL.agent().prompts).values()
    texts = [*texts_of(wording(), prompts, DOMAINS), *filled(), "[Current Time: 2020-10-01 10:22:33]\nUser: hello"]
    for text in texts:
        assert tokenizer().unk_token_id not in ids(text), text
        assert tokenizer().decode(ids(text)) == text.lower()


def test_replies_are_whole_and_come_back_as_objects():
    assert {example.operation for example in examples()} == {"write", "read", "answer"}
    for example in (*examples(), *drill()):
        text = tokenizer().decode(example.reply, skip_special_tokens=True)
        assert json.loads(text) and text == tokenizer().decode(ids(text))
        assert example.reply == [*ids(text), tokenizer().eos_token_id]
        assert tokenizer().unk_token_id not in example.prompt + example.reply


def test_replies_fit_the_limits_of_the_recipe():
    limits = load_recipe(RECIPE).agent.max_new_tokens
    longest = {kind: max(len(e.reply) for e in examples() if e.operation == kind) for kind in ("write", "read", "answer")}
    for kind, length in longest.items():
        assert 2 < length <= getattr(limits, kind), kind


def test_a_quoted_answer_is_one_of_the_choices_shown():
    answers = [example for example in examples() if example.operation == "answer"]
    for example in answers:
        quoted = json.loads(tokenizer().decode(example.reply, skip_special_tokens=True))["answer"]
        shown = tokenizer().decode(example.prompt)
        assert sum(f"{number}. {quoted}" in shown for number in range(1, 5)) == 1


def test_the_drill_grows_from_one_note_to_all_and_asks_for_each():
    sizes = []
    for example in drill():
        asked = json.loads(tokenizer().decode(example.reply, skip_special_tokens=True))
        shown = tokenizer().decode(example.prompt)
        assert all(f"{name}: {value}" in shown for name, value in asked.items())
        sizes.append(len(asked))
    assert sizes == sorted(sizes) and set(sizes) == {1, 2, 3, 4, 5, 6}
    assert sizes[-8:] == [6] * 8


def test_a_value_is_the_same_tokens_in_a_sentence_and_in_json():
    sentence, reply = ids("My usual coffee order is the oat latte."), ids('{"coffee order": "oat latte"}')
    assert [i for i in reply if i in sentence] == ids("coffee order oat latte")


def test_an_opened_reply_is_the_beginning_of_the_whole_conversation():
    messages = [{"role": "system", "content": "Reply only with JSON."}, {"role": "user", "content": "coffee order: oat latte"}]
    opened = tokenizer().apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    whole = tokenizer().apply_chat_template([*messages, {"role": "assistant", "content": "{}"}], return_dict=False)
    assert whole == opened + ids("{}") + [tokenizer().eos_token_id]


def test_the_built_folder_loads_offline_and_is_built_once(tmp_path, monkeypatch):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    monkeypatch.setenv("AMEMGYM_TRAIN_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = built_folder(SMALL)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name] == [f"quickstart-{fingerprint(SMALL)}"]
    model, loaded = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert loaded.get_vocab() == tokenizer().get_vocab() and loaded.chat_template == tokenizer().chat_template
    assert model.config.vocab_size == len(loaded)
    again, _ = builder.build_model(SMALL)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    monkeypatch.setattr(builder, "build_model", lambda build: pytest.fail("built again"))
    assert built_folder(SMALL) == folder


def test_a_build_that_breaks_leaves_nothing_behind(tmp_path, monkeypatch):
    def broken(build):
        raise KeyboardInterrupt

    monkeypatch.setenv("AMEMGYM_TRAIN_CACHE", str(tmp_path))
    monkeypatch.setattr(builder, "build_model", broken)
    with pytest.raises(KeyboardInterrupt):
        built_folder(SMALL)
    assert list(tmp_path.iterdir()) == []


def test_the_fingerprint_follows_every_constant():
    assert fingerprint(Build()) == fingerprint(Build())
    changed = [replace(Build(), **{name: value + 1}) for name, value in vars(Build()).items()]
    assert len({fingerprint(build) for build in (Build(), *changed)}) == len(changed) + 1


def test_the_agent_and_the_users_are_those_of_the_recipe():
    recipe, build = load_recipe(RECIPE), Build()
    apart = {"max_new_tokens"}
    assert build.agent().model_dump(exclude=apart) == recipe.agent.model_dump(exclude=apart)
    apart = {"num_users", "user_offset"}
    assert build.demonstrated().model_dump(exclude=apart) == recipe.scenarios.train.model_dump(exclude=apart)
    users = [build.demonstrated(), build.watched(), *(getattr(recipe.scenarios, role) for role in ROLES)]
    met = [scenario.id for config in users for scenario in config.model_copy(update={"num_users": 4}).build()]
    assert len(set(met)) == len(met)


def test_the_warm_start_learns_and_stops_at_its_goal():
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, tie_word_embeddings=True)
    start = WarmStart(LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer()), pad_token_id=0, **sizes)), 0.02, 1e-2)
    few = [example for example in examples() if example.operation == "write"][:4]
    assert share_right(start.model, few) == 0
    start.imitate(few, [], few, size=4, goal=0.75, most=300, seed=0)
    assert share_right(start.model, few) >= 0.75
    assert start.steps < 300


def test_the_quoting_oracle_is_always_right_and_the_numbering_one_agrees():
    scenarios = {scenario.id: scenario for scenario in SMALL.demonstrated().build()}
    for quotes in (True, False):
        episodes = play(
            lambda task: AMemGymEnv([scenarios[task.id]]),
            [Task(name, name, 0) for name in scenarios],
            lambda task, episode, seed, quotes=quotes: build_agent(
                SMALL.agent(), OraclePolicy(scenarios[task.id], quotes=quotes), episode, seed
            ),
            label=None,
        )
        replies = [json.loads(turn.text)["answer"] for e in episodes for turn in e.turns if turn.operation == "answer"]
        assert len(replies) == 24 and {type(reply) for reply in replies} == {str if quotes else int}
        assert report(episodes).memory_score == 1.0


def test_a_pool_restricts_the_topics_and_spreads_over_domains():
    pool = GeneratorConfig(num_users=30, num_variables=6, num_questions=4, pool=12, num_periods=1)
    topics = {variable.name: variable.domain for variable in pool.variables()}
    assert len(topics) == len(set(topics.values())) == 12
    assert {name for user in generate(pool) for name in user.state_schema} == set(topics)
    whole = replace(pool, pool=0)
    assert whole.variables() == wording().split("train")
    assert set(replace(pool, pool=len(whole.variables())).variables()) == set(whole.variables())
    for wrong in (5, -1, len(whole.variables()) + 1):
        with pytest.raises(ScenarioError, match="generator setting pool: got"):
            replace(pool, pool=wrong)


def test_ids_from_before_there_was_a_pool_stay():
    assert GeneratorConfig().user_id(0) == "31bfe8b2b96238b0795f12f673801e96"
    assert GeneratorConfig(pool=30).user_id(0) != GeneratorConfig().user_id(0)
