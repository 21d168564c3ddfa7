"""The native protocol, on an environment that counts."""

import json
import subprocess
import threading

import pytest

from amemgym_envs import TaskEnv, make
from amemgym_envs.server.messages import encode

BAD = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"id": NaN}', b'"text"', b"9" * 5000]


@pytest.fixture
def url(serve, counting):
    return serve(counting).url


def played(client, actions, task="a", seed=1):
    first = client.good("/v1/create", environment="counting", task=task, seed=seed)
    key = first.pop("id")
    return key, [first, *(client.good("/v1/step", id=key, action=action) for action in actions)]


def test_an_episode_over_http_is_the_one_in_process(url, client, counting):
    env = counting()
    observation, info = env.reset(seed=1, options={"task": "a"})
    key, [first, *steps] = played(client(url), ["one", "two", "one"])
    assert first == {"observation": observation, "info": info}
    for action, step in zip(["one", "two", "one"], steps, strict=True):
        observation, reward, terminated, truncated, info = env.step(action)
        told = {"observation": observation, "reward": reward, "terminated": terminated, "truncated": truncated}
        assert step == told | {"info": {name: value for name, value in info.items() if name != "instruction"}}
    assert client(url).get(f"/v1/observation?id={key}")[1] == steps[-1] | {"instruction": env.instruction, "ended": False}


def test_health_and_tasks_tell_what_is_served(url, client):
    status, health = client(url).get("/v1/health")
    assert (status, health["status"], health["protocol"], health["instances"], health["max_instances"]) == (200, "ok", 1, 0, 100)
    assert health["environments"]["Counting-v0"]["splits"] == {"train": 2, "test": 1}
    told = {"train": ["a", "b"], "test": ["c"]}
    assert client(url).get("/v1/tasks?environment=Counting-v0")[1]["splits"] == told
    assert client(url).get("/v1/tasks?environment=counting&split=test")[1]["splits"] == {"test": ["c"]}


def test_a_step_that_is_made_again_is_not_done_twice(url, client):
    one = client(url)
    key, _ = played(one, [])
    first = one.good("/v1/step", id=key, action="one", request_id="1")
    assert first == one.good("/v1/step", id=key, action="one", request_id="1")
    assert one.good("/v1/step", id=key, action="one", request_id="2")["observation"] == "2 after one"
    status, error = one.post("/v1/step", id=key, action="two", request_id="2")
    assert (status, error["error"]["code"]) == (409, "request_id_reused")
    again = one.good("/v1/reset", id=key, task="b", seed=3, request_id="3")
    assert again == one.good("/v1/reset", id=key, task="b", seed=3, request_id="3")


def test_an_instance_that_is_made_again_is_the_same(url, client):
    one, key = client(url), "k" * 20
    first = one.good("/v1/create", environment="counting", task="a", seed=1, id=key)
    assert first == one.good("/v1/create", environment="counting", task="a", seed=1, id=key)
    assert one.get("/v1/health")[1]["instances"] == 1
    assert one.post("/v1/create", environment="counting", task="b", seed=1, id=key)[0] == 409
    one.good("/v1/step", id=key, action="one")
    assert one.post("/v1/create", environment="counting", task="a", seed=1, id=key)[0] == 409
    assert one.post("/v1/create", environment="counting", id="short")[0] == 400


def test_idle_instances_are_closed_and_used_ones_are_not(serve, client, counting):
    server = serve(counting, ttl=10)
    one = client(server.url)
    idle, used = played(one, [])[0], played(one, [])[0]
    server.clock.now = 9
    one.good("/v1/step", id=used, action="one")
    server.clock.now = 11
    status, error = one.post("/v1/step", id=idle, action="one")
    assert (status, error["error"]["code"]) == (404, "unknown_instance")
    assert "idle for more than 10 s" in error["error"]["message"]
    assert one.good("/v1/step", id=used, action="one")["observation"] == "2 after one"
    assert counting.closed == 1


def test_more_instances_than_allowed_are_refused_until_one_is_closed(serve, client, counting):
    server = serve(counting, limit=2)
    one = client(server.url)
    keys = [played(one, [])[0] for _ in range(2)]
    status, error = one.post("/v1/create", environment="counting")
    assert (status, error["error"]["code"]) == (429, "too_many_instances")
    assert one.good("/v1/close", id=keys[0]) == {"closed": True}
    played(one, ["one"])
    server.clock.now = 11  # the rest is idle, and makes room
    played(one, ["one"])
    assert one.get("/v1/health")[1]["instances"] == 1


def test_close_may_be_said_twice(url, client, counting):
    one = client(url)
    key, _ = played(one, [])
    assert [one.good("/v1/close", id=key) for _ in range(2)] == [{"closed": True}, {"closed": False}]
    assert counting.closed == 1 and one.post("/v1/step", id=key, action="one")[0] == 404


def test_an_environment_that_raises_ends_its_own_episode_only(url, client):
    one = client(url)
    (broken, _), (whole, _) = played(one, []), played(one, [])
    for request_id in ("1", "1"):  # and is not called again
        status, error = one.post("/v1/step", id=broken, action="raise", request_id=request_id)
        assert (status, error["error"]["code"]) == (500, "environment_failed") and "planted" in error["error"]["message"]
    assert one.post("/v1/step", id=broken, action="one")[0] == 409
    assert one.good("/v1/step", id=whole, action="one")["observation"] == "1 after one"
    assert "observation" in one.good("/v1/reset", id=broken, task="a")


def test_an_environment_that_cannot_be_closed_disturbs_nobody(serve, client, counting):
    class Stuck(counting):
        def close(self):
            super().close()
            raise RuntimeError("planted")

    server = serve(Stuck, ttl=10)
    one = client(server.url)
    assert one.good("/v1/close", id=played(one, [])[0]) == {"closed": True}
    played(one, [])
    server.clock.now = 11
    key, steps = played(one, ["one"])
    assert steps[1]["observation"] == "1 after one" and Stuck.closed == 2 and len(server.instances) == 1


def test_a_step_after_the_end_is_refused(url, client):
    one = client(url)
    key, steps = played(one, ["one"] * 4)
    assert steps[-1]["terminated"] and steps[-1]["info"]["success"] and sum(step["reward"] for step in steps[1:]) == 1
    status, error = one.post("/v1/step", id=key, action="one")
    assert (status, error["error"]["code"]) == (409, "not_running")


def test_two_clients_share_nothing(url, client):
    actions = [["one", "one"], ["two", "one"]]
    (first, _), (second, _) = (played(client(url), [], seed=seed) for seed in (1, 2))
    told = [[], []]
    for mine, yours in zip(*actions, strict=True):
        told[0].append(client(url).good("/v1/step", id=first, action=mine))
        told[1].append(client(url).good("/v1/step", id=second, action=yours))
    assert told == [played(client(url), each, seed=seed)[1][1:] for each, seed in zip(actions, (1, 2), strict=True)]


def test_a_batch_answers_each_item_for_itself(url, client):
    one = client(url)
    made = one.good("/v1/create_batch", items=[{"environment": "counting", "task": task, "seed": 1} for task in "abcx"])["items"]
    assert [next(iter(item)) for item in made] == ["id", "id", "id", "error"] and made[3]["error"]["code"] == "unknown_task"
    keys = [item["id"] for item in made[:3]]
    items = [{"id": key, "action": "one", "request_id": "1"} for key in keys] + [{"id": "nobody", "action": "one"}, 7]
    told = one.good("/v1/step_batch", items=items)["items"]
    assert [item.get("observation") for item in told] == ["1 after one"] * 3 + [None] * 2
    assert [item["error"]["code"] for item in told[3:]] == ["unknown_instance", "bad_request"]
    assert one.good("/v1/step_batch", items=items)["items"] == told
    twice = one.good("/v1/step_batch", items=[{"id": keys[0], "action": "two"}, {"id": keys[0], "action": "one"}])["items"]
    assert [item["observation"] for item in twice] == ["1 after two", "2 after one"]
    assert one.good("/v1/close_batch", items=[{"id": key} for key in keys])["items"] == [{"closed": True}] * 3


def test_without_its_token_a_server_says_nothing(serve, client, counting):
    url = serve(counting, token="secret").url
    for given in (None, "wrong", "secrets"):
        for path in ("/v1/health", "/v1/tasks?environment=counting", "/", "/docs"):
            status, error = client(url, given).get(path)
            assert (status, error["error"]["code"]) == (401, "unauthorized")
    assert client(url, "secret").get("/v1/health")[0] == 200


@pytest.mark.parametrize("call", ["create", "reset", "step", "close", "step_batch"])
def test_garbage_is_a_bad_request(call, url, client):
    one = client(url)
    for body in BAD:
        status, content = one.raw("POST", f"/v1/{call}", body)
        assert (status, json.loads(content)["error"]["code"]) == (400, "bad_request"), body


def test_a_wrong_call_is_told_what_was_expected(url, client):
    one = client(url)
    wrong = [
        ("step", {"id": 7, "action": "one"}, 400, "id is 7, expected a string"),
        ("step", {"action": "one"}, 400, "id is missing, expected a string"),
        ("step", {"id": "x", "action": "one"}, 404, "no instance 'x'"),
        ("create", {"environment": "chess"}, 404, "there are Counting-v0"),
        ("create", {"environment": "counting", "seed": -1}, 400, "seed is -1, expected a whole number"),
        ("create", {"environment": "counting", "seed": True}, 400, "seed is True"),
        ("create", {"environment": "counting", "task": "z"}, 404, "expected one of a, b, c"),
        ("create", {"environment": "counting", "task": ["a"]}, 400, "task is ['a'], expected a string"),
        ("step_batch", {"items": [{}] * 5000}, 400, "longer than 4096"),
        ("dance", {}, 404, "there are health, tasks"),
        ("health", {}, 405, "takes GET, not POST"),
    ]
    for path, body, status, words in wrong:
        got, error = one.post(f"/v1/{path}", **body)
        assert got == status and words in error["error"]["message"]
    assert one.get("/v1/health")[1]["instances"] == 0


def test_a_body_beyond_the_limit_is_not_read(url, client):
    status, content = client(url).raw("POST", "/v1/step", b"x" * (2**23 + 1))
    assert (status, json.loads(content)["error"]["code"]) == (413, "too_large")
    status, content = client(url).raw("POST", "/v1/step", iter([b"x" * 2**20] * 9))  # in chunks, of no length that is told
    assert (status, json.loads(content)["error"]["code"]) == (413, "too_large")


def test_any_string_is_an_action(url, client):
    one = client(url)
    for action in ("\ud800", "\x00", "☃" * 20_000, "'; drop table x", "{" * 5000):
        key, steps = played(one, [action, "one"])
        assert steps[1]["observation"] == f"0 after {action[:100]}" and steps[2]["observation"] == "1 after one"


def test_a_step_that_waits_holds_up_no_other(serve, client, counting):
    going, released = threading.Event(), threading.Event()

    class Waiting(counting):
        card = counting.card.__class__(**vars(counting.card) | {"id": "Waiting-v0"})
        blocking = True

        def act(self, action):
            if action == "wait":
                going.set()
                assert released.wait(20)
            return super().act(action)

    url = serve(counting, Waiting).url
    one, key = client(url), played(client(url), [])[0]
    waiting = one.good("/v1/create", environment="waiting", task="a", seed=1)["id"]
    told = []
    thread = threading.Thread(target=lambda: told.append(one.good("/v1/step", id=waiting, action="wait", request_id="1")))
    thread.start()
    assert going.wait(20)
    again = threading.Thread(target=lambda: told.append(client(url).good("/v1/step", id=waiting, action="wait", request_id="1")))
    again.start()  # a retry while the first is in progress
    assert client(url).good("/v1/step", id=key, action="one")["observation"] == "1 after one" and told == []
    released.set()
    thread.join(20)
    again.join(20)
    assert told[0] == told[1] and told[0]["info"]["steps"] == 1


def test_what_an_environment_is_made_with_is_the_servers_choice(serve, client, counting):
    url = serve(counting, options={"max_steps": 2}).url
    _, steps = played(client(url), ["one", "one"])
    assert steps[-1]["truncated"]
    more = client(url).good("/v1/create", environment="counting", task="a", options={"max_steps": 9})
    assert more["info"]["max_steps"] == 2


def test_numbers_of_numpy_and_strange_infos_fit_into_an_answer():
    import numpy as np

    told = json.loads(encode({"a": np.float32(0.5), "b": np.arange(2), "c": TaskEnv}))
    assert told["a"] == 0.5 and told["b"] == [0, 1] and "TaskEnv" in told["c"]


@pytest.fixture(scope="module")
def process(amemgym_train):
    """A real server of its own, started as a user starts it."""
    command = amemgym_train.command("serve", "amemgym", "--port", "0")
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=amemgym_train.env | {"AMEMGYM_TOKEN": "secret"})
    line = running.stdout.readline()
    yield line.split()[-1]
    running.terminate()
    assert running.wait(20) != 0
    running.stdout.close()


def test_a_server_of_the_command_line_plays_amemgym(process, client):
    one, env = client(process, "secret"), make("amemgym")
    assert client(process).get("/v1/health")[0] == 401
    task = one.get("/v1/tasks?environment=amemgym")[1]["splits"]["all"][0]
    first = one.good("/v1/create", environment="amemgym", task=task, seed=1)
    observation, info = env.reset(seed=1, options={"task": task})
    assert (first["observation"], first["info"]["instruction"]) == (observation, info["instruction"])
    for turn in range(30):
        observation, reward, terminated, truncated, info = env.step(f"reply {turn}")
        step = one.good("/v1/step", id=first["id"], action=f"reply {turn}")
        assert (step["observation"], step["reward"], step["info"]["score"]) == (observation, reward, info["score"])
