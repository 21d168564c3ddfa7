import asyncio
import contextlib
from dataclasses import replace

import pytest

from amemgym_train.config.policy import LoraConfig
from amemgym_train.policy.base import Request, Sampling, TooLong
from amemgym_train.policy.local import LocalPolicy, stream_seed
from amemgym_train.training.lora import new_adapter

WARM = Sampling(max_new_tokens=9, temperature=0.8)
SAMPLINGS = [WARM, Sampling(max_new_tokens=4, temperature=0.8), Sampling(max_new_tokens=9, temperature=0)]


def request(episode, slot, text="Pick this choice?", sampling=WARM, seed=0):
    messages = [{"role": "system", "content": "Pick the choice that fits this user best."}, {"role": "user", "content": text}]
    return Request(messages, "answer", slot, sampling, episode, seed)


@pytest.fixture
def requests():
    """Two turns of six episodes: shared and different prompts, three kinds of sampling."""
    texts = ["Pick this choice?", "Pick this choice?", "My coffee order is double espresso.", "Pick"]
    places = [(i, turn) for turn in (0, 1) for i in range(6)]
    return [request(f"e{i}", f"answer/p0/q{turn}", texts[(i + turn) % 4], SAMPLINGS[(i + turn) % 3]) for i, turn in places]


class Watched(LocalPolicy):
    """Keeps the episodes of every batch that was answered at once."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.batches = []

    def complete_batch(self, requests):
        self.batches.append([one.episode for one in requests])
        return super().complete_batch(requests)


async def converse(policy, requests, order):
    """Each episode makes its requests one after the other; they start in ``order``. Returns {(episode, slot): completion}."""
    found = {}
    for episode in order:
        policy.enter(episode)

    async def run(episode):
        for one in (one for one in requests if one.episode == episode):
            found[one.episode, one.slot] = await policy.complete(one)
        policy.leave(episode)

    await asyncio.gather(*map(run, order))
    return found


def test_a_completion_holds_what_the_engine_drew(llama, tokenizer, requests):
    completions = LocalPolicy(llama, tokenizer).complete_batch(requests)
    for one, completion in zip(requests, completions, strict=True):
        text = tokenizer.apply_chat_template(one.messages, add_generation_prompt=True, tokenize=False)
        assert tokenizer.decode(completion.prompt_ids) == text and tokenizer.unk_token not in text
        assert 1 <= len(completion.completion_ids) == len(completion.logprobs) <= one.sampling.max_new_tokens
        assert (completion.finish_reason == "stop") == (completion.completion_ids[-1] == tokenizer.eos_token_id)
        assert completion.text == tokenizer.decode(completion.completion_ids, skip_special_tokens=True)
        assert all(type(i) is int for i in completion.prompt_ids + completion.completion_ids)
    assert max(len(completion.completion_ids) for completion in completions) == 9


def test_the_text_is_without_the_end_token(llama, tokenizer):
    patient = Sampling(max_new_tokens=400)
    replies = LocalPolicy(llama, tokenizer).complete_batch([request("e", str(slot), sampling=patient) for slot in range(8)])
    assert {reply.finish_reason for reply in replies} == {"stop", "length"}
    for reply in replies:
        ended = reply.finish_reason == "stop"
        assert tokenizer.decode(reply.completion_ids).endswith(tokenizer.eos_token) == ended
        assert tokenizer.eos_token not in reply.text


def test_a_reply_ends_at_either_end_token(llama, tokenizer, requests):
    (first,) = LocalPolicy(llama, tokenizer).complete_batch(requests[:1])
    llama.generation_config.eos_token_id = [tokenizer.eos_token_id, first.completion_ids[2]]
    (shorter,) = LocalPolicy(llama, tokenizer).complete_batch(requests[:1])
    cut = first.completion_ids.index(first.completion_ids[2]) + 1
    assert (shorter.completion_ids, shorter.finish_reason) == (first.completion_ids[:cut], "stop")


def test_a_call_waits_for_every_live_episode(llama, tokenizer, requests):
    policy = Watched(llama, tokenizer)
    asyncio.run(converse(policy, requests[:-1], [f"e{i}" for i in range(6)]))
    everybody = [f"e{i}" for i in range(6)]
    assert policy.batches == [everybody, everybody[:-1]]


def test_timing_and_batch_size_change_no_reply(llama, tokenizer, requests):
    names = [f"e{i}" for i in range(6)]
    runs = [
        asyncio.run(converse(LocalPolicy(llama, tokenizer, max_batch_size=size), requests, order))
        for size, order in [(32, names), (32, names[::-1]), (1, names), (5, names[3:] + names[:3])]
    ]
    alone = {(one.episode, one.slot): LocalPolicy(llama, tokenizer).complete_batch([one])[0] for one in requests}
    for run in runs:
        assert {key: one.completion_ids for key, one in run.items()} == {key: one.completion_ids for key, one in alone.items()}


def test_the_random_stream_is_named_by_seed_episode_and_slot(llama, tokenizer):
    one = request("e", "answer/p0/q0")
    others = [replace(one, seed=1), replace(one, episode="f"), replace(one, slot="answer/p0/q1")]
    assert stream_seed(one) == stream_seed(replace(one, messages=[], sampling=SAMPLINGS[2]))
    assert len({stream_seed(each) for each in [one, *others]}) == 4
    replies = LocalPolicy(llama, tokenizer).complete_batch([one, one, *others])
    assert len({tuple(reply.completion_ids) for reply in replies}) == 4


def test_whoever_was_cancelled_is_not_waited_for_nor_answered(llama, tokenizer):
    policy = Watched(llama, tokenizer)

    async def run():
        for name in ("a", "b", "c"):
            policy.enter(name)
        gone = asyncio.create_task(policy.complete(request("a", "answer/p0/q0")))
        stays = asyncio.create_task(policy.complete(request("b", "answer/p0/q0")))
        await asyncio.sleep(0)
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone
        policy.leave("a")
        assert policy.batches == []
        policy.leave("c")
        return await stays

    assert asyncio.run(run()).completion_ids
    assert policy.batches == [["b"]]


def test_what_an_episode_asks_at_once_is_one_batch(llama, tokenizer):
    policy = Watched(llama, tokenizer)
    asked = {name: [request(name, f"answer/p0/q{i}", f"Pick {i}?") for i in range(3)] for name in ("a", "b")}

    async def run():
        for name in asked:
            policy.enter(name)
        replies = await asyncio.gather(*(policy.complete(one) for requests in asked.values() for one in requests))
        for name in asked:
            policy.leave(name)
        return replies

    together = asyncio.run(run())
    assert policy.batches == [["a"] * 3 + ["b"] * 3]
    alone = [LocalPolicy(llama, tokenizer).complete_batch([one])[0] for requests in asked.values() for one in requests]
    assert [one.completion_ids for one in together] == [one.completion_ids for one in alone]


def test_one_prompt_that_is_too_long_spoils_no_batch(llama, tokenizer):
    policy = Watched(llama, tokenizer)
    long = request("a", "answer/p0/q0", "coffee " * llama.config.max_position_embeddings)

    async def run():
        for name in ("a", "b"):
            policy.enter(name)
        return await asyncio.gather(
            policy.complete(long), policy.complete(request("b", "answer/p0/q0")), policy.complete(request("a", "answer/p0/q1")),
            return_exceptions=True,
        )

    refused, *answered = asyncio.run(run())
    assert isinstance(refused, TooLong) and all(reply.completion_ids for reply in answered)
    assert policy.batches == [["a", "b"]]


def test_when_everybody_was_cancelled_nothing_is_decoded(llama, tokenizer):
    policy = Watched(llama, tokenizer)

    async def run():
        for name in ("a", "b"):
            policy.enter(name)
        task = asyncio.create_task(policy.complete(request("a", "answer/p0/q0")))
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        policy.leave("b")
        policy.leave("a")

    asyncio.run(run())
    assert policy.batches == []


def test_a_failure_reaches_everybody_who_waits(llama, tokenizer):
    class Broken(LocalPolicy):
        def complete_batch(self, requests):
            raise MemoryError("no memory")

    async def run():
        policy = Broken(llama, tokenizer)
        for name in ("a", "b"):
            policy.enter(name)
        calls = [policy.complete(request(name, "answer/p0/q0")) for name in ("a", "b")]
        return await asyncio.gather(*calls, return_exceptions=True)

    assert [str(error) for error in asyncio.run(run())] == ["no memory"] * 2


def test_a_fresh_adapter_changes_nothing_and_a_trained_one_does(llama, tokenizer, requests):
    bare = LocalPolicy(llama, tokenizer).complete_batch(requests)
    adapted = new_adapter(llama, LoraConfig(r=2, alpha=4), seed=0)
    fresh = LocalPolicy(adapted, tokenizer).complete_batch(requests)
    assert [one.completion_ids for one in fresh] == [one.completion_ids for one in bare]
    assert fresh[0].logprobs == pytest.approx(bare[0].logprobs, abs=1e-4)
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            weight.data.fill_(0.3)
    trained = LocalPolicy(adapted, tokenizer).complete_batch(requests)
    assert [one.completion_ids for one in trained] != [one.completion_ids for one in bare]


def test_a_prompt_that_does_not_fit_the_window_is_told(llama, tokenizer):
    window = llama.config.max_position_embeddings
    long = request("e7", "answer/p0/q0", "coffee " * window)
    told = rf"episode e7, answer/p0/q0: a prompt of \d+ tokens and up to 9 .* window of {window}"
    with pytest.raises(TooLong, match=told) as over:
        asyncio.run(LocalPolicy(llama, tokenizer).complete(long))
    assert over.value.room == window - 9 and over.value.tokens > window


def test_what_an_interrupt_cancelled_during_a_batch_is_passed_over(llama, tokenizer, requests):
    async def interrupted():
        policy = LocalPolicy(llama, tokenizer)
        policy.enter("e0")
        answered, complete_batch = [], policy.complete_batch

        def cancel_then_complete(batch):
            policy_waits[0].cancel()
            answered.append(batch)
            return complete_batch(batch)

        policy.complete_batch = cancel_then_complete
        policy_waits = [asyncio.ensure_future(policy.complete(requests[0]))]
        with pytest.raises(asyncio.CancelledError):
            await policy_waits[0]
        return answered

    assert len(asyncio.run(interrupted())) == 1
