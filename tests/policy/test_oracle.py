import asyncio
import json
from collections import Counter

import pytest

from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_train.policy.base import Request, Sampling
from amemgym_train.policy.oracle import OraclePolicy, RandomPolicy

SCENARIO = generate(
    GeneratorConfig(seed=3, num_users=1, num_variables=6, num_periods=3, num_questions=4, num_changes_per_period=2)
)[0]


def ask(policy, operation, slot="slot", seed=0, episode="e", **facts):
    messages = [{"role": "system", "content": "short"}, {"role": "user", "content": "hello"}]
    return asyncio.run(policy.complete(Request(messages, operation, slot, Sampling(), episode, seed, facts)))


def test_the_oracle_writes_what_the_sessions_expose_and_a_life_is_complete():
    oracle, known = OraclePolicy(SCENARIO), {}
    for p, period in enumerate(SCENARIO.periods):
        sessions = [[p, s] for s in range(len(period.sessions))]
        known |= json.loads(ask(oracle, "write", period=p, sessions=sessions).text)
        assert known == period.state
    assert json.loads(ask(oracle, "write", period=0, sessions=[[0, 0]]).text) == SCENARIO.periods[0].sessions[0].exposed_states
    assert ask(oracle, "write", period=0, sessions=[]).text == "{}"


def test_the_oracle_reads_and_answers_by_the_scenario():
    oracle = OraclePolicy(SCENARIO)
    for p in range(len(SCENARIO.periods)):
        for q, question in enumerate(SCENARIO.questions):
            read = json.loads(ask(oracle, "read", period=p, question=q, schema={}).text)
            number = json.loads(ask(oracle, "answer", period=p, question=q, choices=4).text)["answer"]
            assert question.answer_choices[number - 1].state == list(read.values())
            assert read == SCENARIO.required_state(p, q)


def test_random_replies_are_allowed_ones_fixed_by_seed_episode_and_slot():
    policy = RandomPolicy(1)
    schema = {"pet": ["cat", "dog"], "drink": ["tea", "milk", "water"]}
    answers = [ask(policy, "answer", slot=f"answer/p0/q{i}", choices=4).text for i in range(400)]
    counts = Counter(json.loads(answer)["answer"] for answer in answers)
    assert set(counts) == {1, 2, 3, 4} and min(counts.values()) > 60
    reads = [json.loads(ask(policy, "read", slot=f"read/p0/q{i}", schema=schema).text) for i in range(60)]
    assert {tuple(read.items()) for read in reads} == {(("pet", p), ("drink", d)) for p in schema["pet"] for d in schema["drink"]}
    assert ask(policy, "write", sessions=[[0, 0]]).text == "{}"

    def series(seed=1, **names):
        return [ask(RandomPolicy(seed), "answer", slot=f"answer/p0/q{i}", choices=4, **names).text for i in range(20)]

    assert series() == answers[:20]
    assert len({tuple(draws) for draws in (series(), series(seed=2), series(episode="f"))}) == 3


@pytest.mark.parametrize("policy", [OraclePolicy(SCENARIO), RandomPolicy()])
def test_an_unknown_operation_is_refused(policy):
    assert ask(policy, "respond").text
    with pytest.raises(ValueError, match="'act'"):
        ask(policy, "act")


@pytest.fixture(scope="module")
def tokenizer():
    tokenizers = pytest.importorskip("tokenizers")
    from transformers import PreTrainedTokenizerFast

    alphabet = {char: i for i, char in enumerate(sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()))}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=alphabet, merges=[]))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>", bos_token="<|begin|>")
    turns = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    made.chat_template = "{{ bos_token }}" + turns + "{% if add_generation_prompt %}assistant: {% endif %}"
    return made


def test_with_a_tokenizer_a_completion_has_the_ids_that_a_model_would_have_drawn(tokenizer):
    completion = ask(OraclePolicy(SCENARIO, tokenizer), "answer", period=0, question=0, choices=4)
    assert tokenizer.decode(completion.prompt_ids) == "<|begin|>system: short\nuser: hello\nassistant: "
    assert completion.completion_ids[-1] == tokenizer.eos_token_id
    assert tokenizer.bos_token_id not in completion.completion_ids
    assert tokenizer.decode(completion.completion_ids[:-1]) == completion.text
    assert completion.logprobs == [0.0] * len(completion.completion_ids)
    assert completion.finish_reason == "stop"
    assert all(isinstance(i, int) for i in completion.prompt_ids + completion.completion_ids)


def test_without_a_tokenizer_there_are_no_ids():
    completion = ask(RandomPolicy(), "answer", choices=4)
    assert (completion.prompt_ids, completion.completion_ids, completion.logprobs) == ([], [], [])
