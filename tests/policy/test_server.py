import asyncio
import copy
import json
import re
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from amemgym_train.config.recipe import Recipe
from amemgym_train.config.server import ServerConfig
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.evaluation.controls import agents, environment
from amemgym_train.policy.base import Request, Sampling, TooLong
from amemgym_train.policy.local import LocalPolicy
from amemgym_train.policy.server import ServerPolicy
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.runner import play
from amemgym_train.training.lora import load_adapter

GREEDY, WARM = Sampling(max_new_tokens=12, temperature=0), Sampling(max_new_tokens=12, temperature=0.8)
COMPLETIONS, LOAD, UNLOAD = "/v1/completions", "/v1/load_lora_adapter", "/v1/unload_lora_adapter"
TEXTS = ["Pick this choice?", "My coffee order is double espresso.", "Pick"]


def request(number=0, sampling=WARM, slot="answer/p0/q0"):
    messages = [
        {"role": "system", "content": "Pick the choice that fits this user best."},
        {"role": "user", "content": TEXTS[number % 3]},
    ]
    return Request(messages, "answer", slot, sampling, f"AMemGym-v0/user{number // 3}/{number}", seed=5)


@pytest.fixture
def policy_for(tokenizer, base_folder):
    def make(*servers, adapter=None, version="base", **keys):
        config = ServerConfig(urls=[server if isinstance(server, str) else server.url for server in servers], **keys)
        return ServerPolicy(tokenizer, config, str(base_folder), version, adapter, backoff_s=0.01)

    return make


def answer(policy, *requests):
    async def run():
        return await asyncio.gather(*map(policy.complete, requests))

    return asyncio.run(run())


def paths(server):
    return [path for path, _, _ in server.calls]


@pytest.mark.parametrize("sampling", [GREEDY, WARM, Sampling(9, 0.8, top_k=3, top_p=0.9)])
def test_a_reply_is_that_of_the_local_policy(vllm, policy_for, llama, tokenizer, sampling):
    requests = [request(number, sampling) for number in range(6)]
    expected = LocalPolicy(llama, tokenizer, max_batch_size=1).complete_batch(requests)
    got = answer(policy_for(vllm()), *requests)
    assert [replace(one, logprobs=[]) for one in got] == [replace(one, logprobs=[]) for one in expected]
    for one, other in zip(got, expected, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_a_reply_ends_where_the_local_policy_ends_it(vllm, llama, tokenizer, base_folder, tmp_path):
    """At an end token that the model's folder names beside the tokenizer's; it is one of the ids, and not in the text."""
    [long] = LocalPolicy(llama, tokenizer).complete_batch([request()])
    ends = [tokenizer.eos_token_id, long.completion_ids[2]]
    folder = tmp_path / "tiny-llama"
    shutil.copytree(base_folder, folder)
    llama.generation_config.eos_token_id = ends
    llama.generation_config.save_pretrained(folder)
    policy = ServerPolicy(tokenizer, ServerConfig(urls=[vllm().url]), str(folder))
    requests = [request(number) for number in range(3)]
    got, expected = answer(policy, *requests), LocalPolicy(llama, tokenizer).complete_batch(requests)
    assert [(one.completion_ids, one.text, one.finish_reason) for one in got] == [
        (one.completion_ids, one.text, one.finish_reason) for one in expected
    ]
    assert got[0].finish_reason == "stop" and got[0].completion_ids[-1] in ends and len(got[0].completion_ids) <= 3


def test_nothing_is_left_to_the_defaults_of_the_model(vllm, policy_for, tokenizer):
    server = vllm()
    answer(policy_for(server), request())
    sent = server.calls[-1][1]
    neutral = {"top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}
    neutral |= {"presence_penalty": 0.0, "frequency_penalty": 0.0}
    assert sent.items() >= neutral.items() and sent["stop_token_ids"] == [tokenizer.eos_token_id]
    assert 0 <= sent["seed"] < 2**63 and sent["return_token_ids"] is True


def test_a_group_stays_on_one_server_and_groups_are_spread(vllm, policy_for):
    servers = [vllm(), vllm()]
    policy = policy_for(*servers)
    answer(policy, *(request(number) for number in range(24)))
    assert all(paths(server).count(COMPLETIONS) >= 3 for server in servers)
    assert sum(paths(server).count(COMPLETIONS) for server in servers) == 24
    assert len({policy.server_of(request(number).episode).url for number in range(3)}) == 1
    assert policy_for(*servers).server_of("a/b/0").url == policy.server_of("a/b/7").url


FAULTS = {
    "server error": (500, {}, b"{}"),
    "overload": (429, {"Retry-After": "0.02"}, b"{}"),
    "a proxy's page": (200, {}, b"<html>"),
    "a list": (200, {}, b"[]"),
    "no choices": (200, {}, b'{"choices": []}'),
    "broken off": lambda reply: reply | {"choices": [reply["choices"][0] | {"finish_reason": "abort"}]},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_may_pass_is_tried_again(vllm, policy_for, fault):
    server = vllm()
    [expected] = answer(policy_for(server), request())
    server.faults.extend([fault] * 2)
    assert answer(policy_for(server, retries=2), request()) == [expected]
    server.faults.extend([fault] * 3)
    with pytest.raises(Unscorable, match=rf"{server.url}: .*, the last of 3 tries"):
        answer(policy_for(server, retries=2), request())


def test_a_server_that_is_slow_or_gone_ends_the_episode_only(vllm, policy_for):
    server = vllm()
    server.hold = threading.Event()
    with pytest.raises(Unscorable, match=r"no reply within 0.05 s, the last of 2 tries"):
        answer(policy_for(server, retries=1, timeout_s=0.05), request())
    server.hold.set()
    server.stop()
    with pytest.raises(Unscorable, match="ConnectError"):
        answer(policy_for(server, retries=1), request())
    server.start()


def test_the_rollout_keeps_such_an_episode_with_its_error(vllm, policy_for):
    users = {"num_users": 2, "num_variables": 3, "num_questions": 3, "num_periods": 1, "num_changes_per_period": 1}
    sections = {"agent": {"local_length": 0, "flush": "period", "respond": "fixed"}, "scenarios": {"train": users}}
    recipe = Recipe.model_validate({"name": "x"} | sections)
    scenarios = recipe.scenarios.train.build()
    server = vllm(window=2048)
    server.faults.append((503, {}, b"busy"))
    tasks = [Task(scenario.id, scenario.id, seed) for scenario in scenarios for seed in (0, 1)]
    factory = agents(recipe, policy_for(server, retries=0), Sampling(4))
    episodes = play(environment(recipe, "train", scenarios), tasks, factory, label=None)
    broken = [episode for episode in episodes if episode.error is not None]
    assert [episode.error for episode in broken] == [f"Unscorable: {server.url}: status 503: busy, the last of 1 tries"]
    assert broken[0].score is None and all(episode.score is not None for episode in episodes if episode not in broken)


def test_a_restarted_server_is_given_its_adapter_again(vllm, policy_for, make_adapter):
    server = vllm()
    folder = make_adapter("one")
    policy = policy_for(server, adapter=folder, version="v1")
    requests = [request(number) for number in range(12)]
    first = answer(policy, *requests)
    assert paths(server).count(LOAD) == 1  # however many calls missed it
    server.stop()
    revival = threading.Timer(0.05, server.start)
    revival.start()
    assert answer(policy, *requests) == first
    revival.join()
    assert paths(server).count(LOAD) == 2 and len(server.adapters) == 1
    assert first != answer(policy_for(server), *requests)


def test_an_adapter_that_changed_is_not_loaded_under_the_old_name(vllm, policy_for, make_adapter):
    server = vllm()
    policy = policy_for(server, adapter=make_adapter("one"), version="v1")
    answer(policy, request())
    server.adapters.clear()
    make_adapter("one", strength=0.1)
    with pytest.raises(UserError, match="changed while v1 was in use"):
        answer(policy, request())


def test_versions_are_swapped_while_the_server_runs(vllm, policy_for, make_adapter, llama, tokenizer):
    servers = [vllm(), vllm()]
    policy, requests = policy_for(*servers), [request(number, GREEDY) for number in range(4)]
    expected = {None: LocalPolicy(llama, tokenizer).complete_batch(requests)}
    for folder in (one := make_adapter("one"), two := make_adapter("two", -0.4)):
        model = load_adapter(copy.deepcopy(llama), folder)
        expected[folder] = LocalPolicy(model, tokenizer).complete_batch(requests)
    assert expected[one] != expected[two] != expected[None]
    for version, folder in [("base", None), ("v/1", one), ("v_1", one), ("v2", two), ("base", None)]:
        policy.use(version, folder)
        assert policy.version == version
        assert [r.completion_ids for r in answer(policy, *requests)] == [r.completion_ids for r in expected[folder]]
        assert [len(server.adapters) for server in servers] == [0 if folder is None else 1] * 2
    for server in servers:
        bodies = [(path, body.get("lora_path")) for path, body, _ in server.calls if "lora" in path and "un" not in path]
        assert bodies == [(LOAD, str(folder)) for folder in (one, one, two)]
    policy.use("v1", one)
    policy.release()
    policy.release()
    assert [server.adapters for server in servers] == [{}, {}]
    assert answer(policy, requests[0])[0].completion_ids == expected[one][0].completion_ids


def test_a_swap_that_fails_changes_nothing(vllm, policy_for, make_adapter):
    server = vllm(max_rank=8)
    policy = policy_for(server)
    policy.use("v1", make_adapter("one"))
    before = answer(policy, request())
    with pytest.raises(UserError, match=r"rank 9 \(policy.lora.r\), but its --max-lora-rank is 8. .*--max-lora-rank 16"):
        policy.use("v2", make_adapter("nine", r=9))
    with pytest.raises(UserError, match="no file adapter_config.json"):
        policy.use("v2", "/nowhere")
    assert policy.version == "v1" and answer(policy, request()) == before


def test_swapping_waits_for_a_server_that_is_away(vllm, policy_for, make_adapter):
    server, folder = vllm(), make_adapter("one")
    server.faults.extend([(503, {}, b"")] * 2)
    policy = policy_for(server, retries=2)
    policy.use("v1", folder)
    assert len(server.adapters) == 1
    server.stop()
    with pytest.raises(UserError, match=r"does not answer \(ConnectError.*; start it with: VLLM_ALLOW.*--enable-lora"):
        policy.use("v2", make_adapter("two"))
    policy.use("base", None)  # nothing to unload from a server that is gone
    server.start()


def test_a_good_server_passes_and_keeps_nothing_of_it(vllm, policy_for, tmp_path):
    server = vllm()
    policy_for(server.url + "/v1/").check(window=512, rank=8, folder=tmp_path)
    assert server.adapters == {} and list(tmp_path.iterdir()) == []
    elsewhere = vllm(name="/somewhere/else/tiny-llama")
    policy = policy_for(elsewhere)
    policy.check()
    assert answer(policy, request()) == answer(policy_for(server), request())


BAD = {
    "another model": ({"name": "/models/other"}, r"serves /models/other, but policy.model is .*tiny-llama. Start"),
    "a short window": ({"window": 100}, r"--max-model-len is 100, prompts and replies need up to 200 tokens"),
    "no LoRA": ({"max_rank": 0}, r"runs without LoRA, an adapter of rank 4 needs it"),
    "a low rank": ({"max_rank": 1}, r"got an adapter of rank 4 \(policy.lora.r\), but its --max-lora-rank is 1"),
    "fixed adapters": ({"updating": False}, r"does not load adapters while it runs \(status 404: .*Not Found"),
    "raw logprobs": ({"mode": "raw_logprobs"}, r"those before the temperature \(vLLM's default"),
    "raw logits": ({"mode": "raw_logits"}, r"gives logits \(such as"),
    "logits": ({"mode": "processed_logits"}, r"gives logits \(such as"),
}
COMMAND = (
    r"VLLM_ALLOW_RUNTIME_LORA_UPDATING=True vllm serve \S+/tiny-llama --host 127.0.0.1 --port \d+ --max-model-len 200 "
    r"--logprobs-mode processed_logprobs --enable-lora --max-lora-rank 8"
)


@pytest.mark.parametrize(("settings", "message"), BAD.values(), ids=BAD)
def test_check_says_what_a_server_lacks_and_how_to_start_it(vllm, policy_for, settings, message):
    with pytest.raises(UserError, match=message) as told:
        policy_for(vllm(**settings)).check(window=200, rank=4)
    assert re.search(COMMAND + "$", str(told.value))


@pytest.mark.parametrize("url", ["http://xn--a.b", "http://\u0660a.example"])
def test_an_address_that_cannot_be_called_is_told(policy_for, url):
    policy = policy_for(url)
    with pytest.raises(UserError, match="policy.server.urls: cannot be called"):
        policy.check()
    with pytest.raises(UserError, match="policy.server.urls: cannot be called"):
        answer(policy, request())


def test_check_tells_of_a_server_that_does_not_answer(vllm, policy_for):
    server = vllm()
    policy = policy_for(server)
    server.stop()
    with pytest.raises(UserError, match=rf"{server.url}: does not answer \(ConnectError .*; start it with: vllm serve \S+"):
        policy.check()
    server.start()


def test_a_server_that_sees_another_file_system_is_told(vllm, policy_for, make_adapter, tmp_path):
    server = vllm()
    server.load = lambda name, folder: (404, {"error": {"message": f"Loading lora {name} failed: No adapter found for {folder}"}})
    with pytest.raises(UserError, match=rf"finds no adapter in {tmp_path}/.lora-check-\S+, though this process does"):
        policy_for(server).check(rank=4, folder=tmp_path)
    with pytest.raises(UserError, match="finds no adapter in"):
        policy_for(server).use("v1", make_adapter("one"))


def change(**keys):
    def changed(reply):
        choice = reply["choices"][0]
        return {"choices": [choice | {key: value(choice) if callable(value) else value for key, value in keys.items()}]}

    return changed


JUNK = {
    "no ids": (change(token_ids=None), "without token_ids"),
    "text for ids": (change(token_ids=["a"]), "without token_ids"),
    "no logprobs": (change(logprobs=None), "without token_logprobs"),
    "unknown logprobs": (change(logprobs={"token_logprobs": [None]}), r"without token_logprobs \(got \[None\]\)"),
    "no number": (change(logprobs={"token_logprobs": [float("nan")]}), r"without token_logprobs \(got \[nan\]\)"),
    "one too few": (change(token_ids=lambda c: c["token_ids"][1:]), r"gives \d+ token_ids and \d+ token_logprobs"),
    "none": (change(token_ids=[], logprobs={"token_logprobs": []}), "gives 0 token_ids and 0"),
    "too many": (change(token_ids=[1] * 99, logprobs={"token_logprobs": [-1.0] * 99}), "gives 99 token_ids"),
}


@pytest.mark.parametrize(("junk", "message"), JUNK.values(), ids=JUNK)
def test_a_completion_that_cannot_be_used_stops_the_run(vllm, policy_for, junk, message):
    server = vllm()
    server.faults.append(junk)
    with pytest.raises(UserError, match=rf"policy.server {server.url}: .*{message}.*Start it with: vllm serve"):
        answer(policy_for(server), request())
    listed, fine = json.dumps({"data": [{"id": server.name}]}).encode(), junk
    server.faults.extend([(200, {}, listed), fine])
    with pytest.raises(UserError, match=message):
        policy_for(server).check()


@pytest.mark.parametrize("body", ["<html>", "[]", "{}", '{"data": 3}', '{"data": [3]}', '{"data": [{"id": 3}]}', '{"data": []}'])
def test_something_else_at_the_address_is_told(vllm, policy_for, body):
    server = vllm()
    server.faults.append((200, {}, body.encode()))
    with pytest.raises(UserError, match=f"policy.server {server.url}: "):
        policy_for(server).check()
    server.faults.append((404, {}, b"nothing here"))
    with pytest.raises(UserError, match="no OpenAI-compatible server, GET /v1/models gave status 404: nothing here"):
        policy_for(server).check()


def test_a_prompt_that_does_not_fit_is_told(vllm, policy_for):
    told = r"episode AMemGym-v0/user0/0, answer/p0/q0: .* window of 16 .*--max-model-len"
    policy = policy_for(vllm(window=16))
    for _ in range(2):  # refused by the server at first; from then on its limit is known
        with pytest.raises(TooLong, match=told) as over:
            answer(policy, request())
        assert over.value.tokens == 18 and over.value.room == 4


def test_a_model_that_is_not_there_is_told(vllm, policy_for):
    with pytest.raises(UserError, match="serves other, but policy.model is"):
        answer(policy_for(vllm(name="other")), request())


def test_no_more_requests_are_in_flight_than_allowed(vllm, policy_for):
    server = vllm()
    server.hold = threading.Event()
    threading.Timer(0.3, server.hold.set).start()
    answer(policy_for(server, max_requests=7), *(request(number, Sampling(2)) for number in range(64)))
    assert server.most == 7 and paths(server).count(COMPLETIONS) == 64


def test_one_policy_serves_many_event_loops_and_closes_its_connections(vllm, policy_for, recwarn):
    policy = policy_for(vllm())
    clients = []

    async def run():
        await policy.complete(request())
        clients.append((await policy._sessions.get()).client)

    for _ in range(3):
        asyncio.run(run())
    assert len(set(map(id, clients))) == 3 and all(client.is_closed for client in clients)
    assert not [w for w in recwarn if issubclass(w.category, ResourceWarning)]


def test_the_key_is_sent_and_never_told(vllm, policy_for, monkeypatch):
    server = vllm()
    policy = policy_for(server, api_key_env="SERVER_KEY")
    monkeypatch.delenv("SERVER_KEY", raising=False)
    with pytest.raises(UserError, match="environment variable SERVER_KEY is not set"):
        policy.check()
    monkeypatch.setenv("SERVER_KEY", "s3cret")
    policy.check()
    answer(policy, request())
    assert {key for _, _, key in server.calls} == {"Bearer s3cret"}
    server.faults.append((401, {}, b'{"error": "s3cret is wrong"}'))
    with pytest.raises(UserError, match=r"status 401: .*\*\*\* is wrong.*api_key_env") as told:
        answer(policy, request())
    assert "s3cret" not in str(told.value) + repr(policy.config) and Path(policy.servers[0].model).is_dir()
