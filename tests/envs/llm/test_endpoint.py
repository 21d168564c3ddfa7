"""The endpoint against a real server that misbehaves, and against none at all."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from email.utils import formatdate

import pytest

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.llm import Endpoint, EndpointError, Reply

HELLO = [{"role": "user", "content": "Say hello."}]


@pytest.fixture
def model():
    return lambda messages: "Hello to you."


def call(endpoint, times=1, **options):
    async def together():
        async with endpoint:
            return await asyncio.gather(*(endpoint.complete(HELLO, **options) for _ in range(times)))

    return asyncio.run(together())


def fault(status, body=b"", **headers):
    return status, headers, body


def test_a_reply_has_its_text_and_the_servers_token_counts(endpoint, server):
    assert call(endpoint(max_tokens=9)) == [Reply("Hello to you.", tokens_in=2, tokens_out=3)]
    [request] = server.requests
    assert request == {
        "path": "/v1/chat/completions",
        "authorization": None,
        **{"model": "strong", "messages": HELLO, "temperature": 0.7, "max_tokens": 9},
    }


def test_sampling_keys_that_are_none_are_not_sent(endpoint, server):
    ours = endpoint(temperature=None)
    assert ours.sampling(0.0) == {}
    call(ours)
    call(ours, sampling={"top_p": 0.5})
    first, second = server.requests
    assert "temperature" not in first and "max_tokens" not in first and second["top_p"] == 0.5


def test_the_key_is_sent_and_shown_nowhere(endpoint, server, monkeypatch):
    monkeypatch.setenv("OTHER_KEY", " sk-secret\n")
    ours = endpoint(api_key_env="OTHER_KEY")
    server.faults.append(fault(401, b'{"error": "Incorrect API key\\n sk-secret"}'))
    with pytest.raises(EndpointError) as error:
        call(ours)
    assert server.requests[0]["authorization"] == "Bearer sk-secret"
    message = str(error.value)
    assert message == (
        f'{server.url}/chat/completions: status 401: {{"error": "Incorrect API key\\n ***"}}; '
        "put a valid key into the environment variable OTHER_KEY"
    )
    assert "sk-secret" not in json.dumps({key: str(value) for key, value in vars(ours).items()})
    assert isinstance(error.value, ScenarioError)


def test_a_key_that_cannot_be_sent_is_refused(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-\u20ac")
    with pytest.raises(EndpointError, match="environment variable OPENAI_API_KEY: holds characters that no key has"):
        call(endpoint())


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 301])
def test_what_no_retry_can_mend_stops_at_once(endpoint, server, status):
    server.faults.append(fault(status, b"no such luck " * 100))
    with pytest.raises(EndpointError, match=f"chat/completions: status {status}: no such luck .*; (check|put|the key)") as error:
        call(endpoint())
    assert len(server.requests) == 1 and len(str(error.value)) < 600


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_pass_is_tried_again(endpoint, server, status):
    server.faults.extend([fault(status), fault(status)])
    ours = endpoint()
    assert call(ours)[0].text == "Hello to you."
    assert len(server.requests) == 3 and ours.retries == 2


BODIES = [
    b"<html>proxy</html>",
    b"[]",
    b"{}",
    b'{"choices": []}',
    b'{"choices": [{"message": "hi"}]}',
    b'{"choices": [{"message": {"content": 3}}]}',
    b"\xff\xfe",
    b"[" * 100_000,
    b"",
]


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_no_completion_is_tried_again(endpoint, server, body):
    server.faults.append(fault(200, body))
    assert call(endpoint())[0].text == "Hello to you." and len(server.requests) == 2


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "many", "completion_tokens": True}])
def test_missing_token_counts_and_lone_surrogates_are_borne(endpoint, server, usage):
    body = {"choices": [{"message": {"content": "a\ud800b"}}], "usage": usage}
    server.faults.append(fault(200, json.dumps(body).encode()))
    assert call(endpoint()) == [Reply("a?b", None, None)]


@pytest.mark.parametrize(("said", "read"), [("length", "length"), (None, None), (3, None)])
def test_why_a_reply_ended_is_read(endpoint, server, said, read):
    server.finish_reason = said
    assert call(endpoint())[0].finish_reason == read


def test_a_body_that_is_broken_off_is_tried_again(endpoint, server):
    server.faults.append(fault(200, b'{"choices": [{"mess', **{"Content-Length": 500}))
    ours = endpoint()
    assert call(ours)[0].text == "Hello to you." and ours.retries == 1


def test_one_endpoint_serves_one_event_loop_after_the_other(endpoint, server):
    ours = endpoint(concurrency=1)
    for _ in range(3):  # not closed in between: the loop's end does that

        async def together():
            return await asyncio.gather(*(ours.complete(HELLO) for _ in range(3)))

        assert len(asyncio.run(together())) == 3
    assert len(server.requests) == 9


def test_retries_have_an_end(endpoint, server):
    server.faults.extend([fault(503, b"overloaded")] * 9)
    with pytest.raises(EndpointError, match="status 503: overloaded, in each of 3 tries; check that the server runs"):
        call(endpoint(max_retries=2))
    assert len(server.requests) == 3


def test_the_server_says_how_long_to_wait(endpoint, server):
    server.faults.append(fault(429, **{"Retry-After": "0.3"}))
    begin = time.monotonic()
    call(endpoint())
    assert 0.3 <= time.monotonic() - begin < 5


@pytest.mark.parametrize("value", ["soon", "-3", "nan", "inf", formatdate(time.time() - 60)])
def test_a_senseless_or_past_wait_is_none(endpoint, server, value):
    server.faults.append(fault(503, **{"Retry-After": value}))
    assert call(endpoint())[0].text == "Hello to you."


@pytest.mark.parametrize("dated", [False, True])
def test_a_wait_of_a_day_is_left_to_the_user(endpoint, server, dated):
    value = formatdate(time.time() + 86400) if dated else "86400"
    server.faults.append(fault(429, b"daily limit", **{"Retry-After": value}))
    with pytest.raises(EndpointError, match="status 429: daily limit; run it again in 86[34]"):
        call(endpoint())


def test_nobody_listens(endpoint):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        ours = endpoint(base_url=url, max_retries=1)
        with pytest.raises(EndpointError, match=rf"{url}/chat/completions: ConnectError .*, in each of 2 tries"):
            call(ours)
        assert ours.retries == 1


def test_a_server_that_does_not_answer_is_given_up(endpoint, server):
    server.hold_after = 0
    with pytest.raises(EndpointError, match="no reply within 0.1 s, in each of 2 tries"):
        call(endpoint(timeout_s=0.1, max_retries=1))
    assert len(server.requests) == 2


def test_no_more_calls_than_allowed_are_in_flight(endpoint, server, model):
    live, most = [], []

    def slow(messages):
        live.append(1)
        most.append(len(live))
        server.released.wait(0.02)
        live.pop()
        return "Hello."

    server.model = slow
    assert len(call(endpoint(concurrency=3), times=12)) == 12
    assert 1 < max(most) <= 3


@pytest.mark.parametrize("url", ["", "api.openai.com/v1", "ftp://host/v1", "http://", "http://host:99999/v1", "http://a\nb/v1"])
def test_an_address_that_cannot_be_one_is_refused(url):
    with pytest.raises(EndpointError, match="endpoint setting base_url: got .*, expected an address like https://"):
        Endpoint(url, "strong")


@pytest.mark.parametrize("url", ["http://a b/v1", f"http://{'a' * 70}.invalid/v1"])
def test_an_address_that_leads_nowhere_is_an_error_not_a_crash(url):
    with pytest.raises(EndpointError):
        call(Endpoint(url, "strong", max_retries=0))


def test_a_password_in_the_address_is_not_shown(endpoint, server):
    server.faults.append(fault(404))
    with pytest.raises(EndpointError) as error:
        call(endpoint(base_url=server.url.replace("//", "//me:hidden@")))
    assert "hidden" not in str(error.value) and server.url in str(error.value)


def test_httpx_is_loaded_only_by_a_call():
    code = "import sys, amemgym_envs.amemgym.llm; sys.exit('httpx' in sys.modules)"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    assert subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, timeout=60).returncode == 0


@pytest.mark.parametrize(("name", "value"), [("concurrency", 0), ("max_retries", -1), ("requests_per_minute", 0)])
def test_senseless_settings_are_refused_by_name(endpoint, name, value):
    with pytest.raises(EndpointError, match=f"endpoint setting {name}: got {value}"):
        endpoint(**{name: value})
