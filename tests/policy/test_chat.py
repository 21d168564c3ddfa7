"""A chat endpoint as a policy, against a real server that misbehaves."""

import asyncio
import json
import time
from dataclasses import replace

import pytest

from amemgym_train import cli
from amemgym_train.config.chat import ChatConfig
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import Unscorable, UserError
from amemgym_train.evaluation.controls import agents, environment
from amemgym_train.policy.base import Completion, Request, Sampling, TooLong
from amemgym_train.policy.chat import ChatPolicy
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.runner import play

GREEDY, WARM = Sampling(max_new_tokens=12, temperature=0), Sampling(max_new_tokens=12, temperature=0.8, top_p=0.9)
USERS = {"num_users": 2, "num_variables": 3, "num_questions": 3, "num_periods": 1, "num_changes_per_period": 1}
SECTIONS = {"agent": {"local_length": 0, "flush": "period", "respond": "fixed"}, "scenarios": {"test": USERS}}


@pytest.fixture
def server(chat_server):
    return chat_server(lambda messages: '{"answer": 1}')


@pytest.fixture
def policy(server):
    """Makes a policy whose retries hardly wait."""
    return lambda **keys: ChatPolicy(ChatConfig(**{"base_url": server.url, "model": "strong"} | keys), backoff_s=0.001)


def request(number=0, sampling=GREEDY, text="Pick one."):
    return Request([{"role": "user", "content": text}], "answer", f"answer/p0/q{number}", sampling, "AMemGym-v0/mara/0", seed=5)


def answer(policy, *requests):
    async def run():
        return await asyncio.gather(*map(policy.complete, requests))

    return asyncio.run(run())


def test_a_reply_is_a_text_without_ids(server, policy):
    assert answer(policy(), request()) == [Completion([], [], [], '{"answer": 1}', "stop")]
    server.finish_reason = "length"
    assert answer(policy(), request())[0].finish_reason == "length"


def test_what_is_asked_for_is_sent(server, policy):
    answer(policy(), request(), request(sampling=WARM))
    greedy, warm = sorted((sent for sent in server.requests), key=lambda sent: sent["temperature"])
    whole = {"model": "strong", "messages": [{"role": "user", "content": "Pick one."}], "max_tokens": 12}
    rest = {"path": "/v1/chat/completions", "authorization": None}
    assert greedy == rest | whole | {"temperature": 0}
    assert 0 <= warm["seed"] < 2**31
    assert warm == rest | whole | {"temperature": 0.8, "top_p": 0.9, "seed": warm["seed"]}
    answer(policy(max_tokens_key="max_completion_tokens", omit=["temperature", "seed"]), request(sampling=WARM))
    assert server.requests[-1] == rest | {key: whole[key] for key in ("model", "messages")} | {
        **{"max_completion_tokens": 12, "top_p": 0.9}
    }


FAULTS = {
    "overload": (429, {"Retry-After": "0"}, b"slow down"),
    "server error": (500, {}, b"{}"),
    "malformed": (200, {}, b'{"choices": [{"mess'),
    "no choice": (200, {}, b'{"choices": []}'),
    "broken off": (200, {"Content-Length": 900}, b'{"choices": [{"message": {"content": "I thi'),
    "hangs": "hang",
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_may_pass_is_tried_again_and_then_named(server, policy, fault):
    server.faults.extend([fault] * 2)
    patient = policy(retries=2, timeout_s=0.3)
    assert answer(patient, request())[0].text == '{"answer": 1}'
    assert patient.usage.retries == 2 and patient.usage.calls == 1
    server.faults.extend([fault] * 2)
    named = rf"episode AMemGym-v0/mara/0, answer/p0/q0: policy.chat {server.url}/chat/completions: .*, in each of 2 tries"
    with pytest.raises(Unscorable, match=named):
        answer(policy(retries=1, timeout_s=0.3), request())


@pytest.mark.parametrize(
    ("status", "cure"),
    [
        (401, "put a valid key into the environment variable STRONG_KEY"),
        (403, "the key in the environment variable STRONG_KEY may not use this model"),
        (404, "check the base url .* and the model name 'strong'"),
        (400, "see omit and max_tokens_key there"),
    ],
)
def test_a_refusal_stops_with_its_cure(server, policy, monkeypatch, status, cure):
    monkeypatch.setenv("STRONG_KEY", "sk-secret")
    server.faults.append((status, {}, b"no, sk-secret"))
    with pytest.raises(UserError, match=rf"episode AMemGym-v0/mara/0, answer/p0/q0: policy.chat .*{cure}") as told:
        answer(policy(api_key_env="STRONG_KEY"), request())
    assert len(server.requests) == 1 and server.requests[0]["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in str(told.value) and not isinstance(told.value, TooLong)


def test_a_prompt_that_is_too_long_says_so(server, policy):
    said = "This model's maximum context length is 4,096 tokens. However, your messages resulted in 5000 tokens."
    server.faults.append((400, {}, json.dumps({"error": {"message": said, "code": "context_length_exceeded"}}).encode()))
    with pytest.raises(TooLong, match="episode AMemGym-v0/mara/0, answer/p0/q0: policy.chat") as told:
        answer(policy(), request())
    assert (told.value.tokens, told.value.room) == (5000, 4084)


def test_a_cached_reply_outlives_policy_and_loop(server, policy, tmp_path):
    cache = str(tmp_path / "cache" / "strong.jsonl")
    asked = [request(0, text="one"), request(0, text="two"), *(request(number, WARM) for number in range(3))]
    server.finish_reason = "length"
    first, again = policy(cache=cache), policy(cache=cache)
    replies = answer(first, *asked)
    assert answer(first, *asked) == replies and len(server.requests) == 5
    fresh = policy(cache=cache)
    assert answer(fresh, *asked) == replies and len(server.requests) == 5
    assert (fresh.usage.calls, fresh.usage.cached, first.usage.calls, first.usage.cached) == (0, 5, 5, 5)
    assert answer(again, asked[0]) == replies[:1] and len(server.requests) == 6  # opened before: it knows nothing of the others


def test_only_the_same_request_is_the_same(server, policy, tmp_path):
    cache = str(tmp_path / "cache.jsonl")
    one = policy(cache=cache)
    answer(one, request(0), request(1), replace(request(0), seed=9))  # greedy: what is asked is all that counts
    assert len(server.requests) == 1 and one.usage.cached == 2
    drawn = [request(0, WARM), request(1, WARM), replace(request(0, WARM), seed=9), replace(request(0, WARM), episode="x")]
    answer(one, *drawn)
    assert len(server.requests) == 5
    answer(one, request(0, replace(GREEDY, max_new_tokens=9)), request(0, text="Pick another."))
    answer(policy(cache=cache, model="other"), request(0))
    assert len(server.requests) == 8


def test_equal_requests_at_one_time_are_asked_once_also_when_one_fails(server, policy, tmp_path):
    server.faults.append((404, {}, b""))
    one = policy(cache=str(tmp_path / "cache.jsonl"), concurrency=1)

    async def together():
        return await asyncio.gather(*(one.complete(request()) for _ in range(8)), return_exceptions=True)

    outcomes = asyncio.run(together())
    assert [type(outcome) for outcome in outcomes].count(UserError) == 1 and len(server.requests) == 2


def test_a_torn_line_costs_one_reply(server, policy, tmp_path):
    cache = tmp_path / "cache.jsonl"
    asked = [request(text="one"), request(text="two")]
    for one in asked:
        answer(policy(cache=str(cache)), one)
    cache.write_bytes(cache.read_bytes()[:-20])
    answer(policy(cache=str(cache)), *asked)
    answer(policy(cache=str(cache)), *asked)
    assert len(server.requests) == 3


def test_a_cache_that_cannot_be_used_is_the_users_to_mend(policy, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UserError, match="policy.chat.cache: .*file/cache.jsonl: cannot be"):
        answer(policy(cache=str(tmp_path / "file" / "cache.jsonl")), request())
    (tmp_path / "broken.jsonl").write_text("junk\n")
    with pytest.raises(UserError, match="policy.chat.cache: .*broken.jsonl, line 1"):
        policy(cache=str(tmp_path / "broken.jsonl"))


def test_costs_add_up(server, policy):
    ours = policy(price_in=1.0, price_out=10.0)
    server.faults.append(FAULTS["server error"])
    answer(ours, request(text="one two three"), request(text="four"))
    usage = ours.usage.to_dict()
    told = {"model": "strong", "calls": 2, "cached": 0, "retries": 1, "tokens_in": 4, "tokens_out": 4, "uncounted": 0}
    assert usage == told | {"cost": pytest.approx(44e-6)}
    assert ours.usage.line() == "strong: 2 calls, 1 retries, 0 answered from the cache; 4 tokens in, 4 out; cost 0.0000"


def test_calls_wait_for_each_other_in_one_loop_after_the_other(server, policy, tmp_path):
    ours = policy(concurrency=2, cache=str(tmp_path / "cache.jsonl"))
    for number in range(3):
        answer(ours, *(request(number, WARM, text=str(i // 2)) for i in range(8)))
    assert len(server.requests) == 12 and ours.usage.cached == 12


def test_no_more_tries_begin_in_a_minute_than_allowed(server, policy):
    ours = policy(requests_per_minute=1500)
    server.faults.append(FAULTS["server error"])
    begin = time.monotonic()
    answer(ours, *(request(number, WARM) for number in range(5)))
    assert time.monotonic() - begin >= 5 * 60 / 1500 and len(server.requests) == 6


def recipe(server, **keys):
    chat = {"base_url": server.url, "model": "strong", "retries": 0} | keys
    return Recipe.model_validate({"name": "x", "policy": {"chat": chat}} | SECTIONS)


def played(recipe, policy):
    scenarios = recipe.scenarios.test.build()
    factory = agents(recipe, policy, GREEDY)
    tasks = [Task(scenario.id, scenario.id, 0) for scenario in scenarios]
    return play(environment(recipe, "test", scenarios), tasks, factory, concurrency=1, label=None)


def test_an_episode_without_a_reply_is_kept_with_its_error_and_asked_again_alone(server, tmp_path):
    ours = recipe(server, cache=str(tmp_path / "cache.jsonl"))
    server.faults.extend([None] * 3 + [FAULTS["no choice"]])
    first, second = played(ours, ChatPolicy(ours.policy.chat))
    assert first.error.startswith(f"Unscorable: episode {first.id}, answer/p0/q1: policy.chat {server.url}")
    assert first.score is None and second.error is None and second.score is not None
    before = len(server.requests)
    again = ChatPolicy(ours.policy.chat)
    episodes = played(ours, again)
    assert [episode.error for episode in episodes] == [None, None] and episodes[1] == second
    calls = [len({json.dumps(turn.slot) for turn in episode.turns}) for episode in episodes]
    assert len(server.requests) - before == again.usage.calls < calls[0] and again.usage.cached >= calls[1]


def test_a_refusal_in_the_middle_keeps_what_was_finished(server, tmp_path):
    ours = recipe(server, cache=str(tmp_path / "cache.jsonl"))
    server.faults.extend([None] * 6 + [(401, {}, b"expired")])
    with pytest.raises(UserError, match=r"episode AMemGym-v0/\w+/0, [\w/]+: policy.chat .* variable OPENAI_API_KEY"):
        played(ours, ChatPolicy(ours.policy.chat))
    again = ChatPolicy(ours.policy.chat)
    played(ours, again)
    assert again.usage.cached >= 6 and again.usage.calls == len(server.requests) - 7


def test_evaluate_tells_what_it_cost_and_evolve_refuses(server, tmp_path, capsys):
    path = tmp_path / "recipe.yaml"
    sections = SECTIONS | {"name": "x", "output": str(tmp_path / "runs"), "evaluation": {"controls": ["random"]}}
    path.write_text(json.dumps(sections | {"policy": {"chat": {"base_url": server.url, "model": "strong"}}}))
    assert cli.main(["evaluate", str(path), "--json"]) == 0
    shown = capsys.readouterr()
    result = json.loads(shown.out)
    assert set(result) == {"agent", "random", "usage"} and result["usage"]["calls"] == len(server.requests) > 0
    assert f"policy.chat: strong: {len(server.requests)} calls, 0 retries" in shown.err
    assert cli.main(["evaluate", str(path), "--adapter", "somewhere"]) == 2
    assert "policy.chat answers, and a chat endpoint takes no adapter; leave somewhere out" in capsys.readouterr().err
    for extra in ([], ["--dry-run"]):
        assert cli.main(["evolve", str(path), *extra]) == 2
        assert "policy.chat: strong gives no token ids" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
