"""Environments of a server, played as if they were here: one by one, and many in a message."""

import asyncio
import json
import subprocess
import sys

import pytest
from gymnasium.utils.env_checker import check_env

from amemgym_envs import make
from amemgym_envs.client import BatchClient, RemoteEnv
from amemgym_envs.client.batch import Start, Stepped
from amemgym_envs.client.connection import Connection

OK = (200, {"observation": "x", "reward": 0.0, "terminated": False, "truncated": False, "info": {}})


@pytest.fixture
def remote():
    made = []

    def connect(url, environment="counting", **settings):
        made.append(RemoteEnv(url, environment, **{"wait": 0} | settings))
        return made[-1]

    yield connect
    for one in made:
        one.close()


def episode(env, seed=1, task=None):
    observation, info = env.reset(seed=seed, options=task and {"task": task})
    steps, ended = [(observation, info)], False
    while not ended:
        steps.append(env.step("one"))
        ended = steps[-1][2] or steps[-1][3]
    return steps


def test_an_episode_is_the_one_in_process(serve, counting, remote):
    env = remote(serve(counting).url)
    for seed, task in ((1, "a"), (2, None), (3, "c")):
        assert episode(env, seed, task) == episode(counting(), seed, task)


def test_gymnasium_has_nothing_to_object(serve, counting, remote):
    check_env(remote(serve(counting).url), skip_render_check=True)


def test_the_server_says_which_tasks_there_are_and_what_they_are(serve, counting, remote):
    env = remote(serve(counting).url)
    assert env.splits == counting.splits and env.tasks == ["a", "b", "c"]
    assert (env.card.id, env.card.splits, env.card.score) == ("Counting-v0", {"train": 2, "test": 1}, (0, 1))
    assert env.card.step_cap == 5 and env.blocking


def test_mistakes_are_told_and_failures_are_oserrors(serve, counting, remote):
    server = serve(counting, token="secret", limit=1)
    env = remote(server.url, token="secret")
    with pytest.raises(ValueError, match="task is 'z', expected one of a, b, c"):
        env.reset(options={"task": "z"})
    with pytest.raises(RuntimeError, match="call reset first"):
        env.step("one")
    episode(env)
    with pytest.raises(RuntimeError, match="has ended"):
        env.step("one")
    for other, kind, words in (
        (remote(server.url, token="wrong"), PermissionError, "asks for its token"),
        (remote(server.url, token="secret", tries=2), ConnectionRefusedError, "1 instances are held"),
        (remote(server.url, "chess", token="secret"), ValueError, "no environment 'chess'"),
    ):
        with pytest.raises(kind, match=words):
            other.reset()
    env.reset()
    with pytest.raises(OSError, match="planted"):
        env.step("raise")
    for url in ("127.0.0.1:8000", "ftp://x", "http://"):
        with pytest.raises(ValueError, match="expected one like http"):
            RemoteEnv(url, "counting")


def test_a_forgotten_instance_ends_its_episode_and_the_next_has_another(serve, counting, remote):
    server = serve(counting, ttl=10)
    env = remote(server.url)
    first = episode(env)
    env.reset()
    server.clock.now = 11
    with pytest.raises(ConnectionError, match="idle for more than 10 s"):
        env.step("one")
    assert episode(env) == first


def test_what_is_lost_is_asked_again_and_done_once(playback, remote):
    lost = iter([None, (503, {}), OK, OK, (429, {}), OK, None, None])
    server = playback(lambda *_: next(lost))
    env = remote(server.url, tries=3)
    env._id = "there"
    assert env.step("one")[0] == env.step("two")[0] == env.step("three")[0] == "x"
    marks = [body["request_id"] for _, _, body in server.asked]
    assert marks == ["0", "0", "0", "1", "2", "2"]


def test_nobody_at_the_port_is_a_connection_error(remote):
    with pytest.raises(ConnectionError, match="tried 2 times"):
        remote("http://127.0.0.1:9", tries=2).reset()


def test_pauses_grow(playback, monkeypatch):
    slept = []
    monkeypatch.setattr("amemgym_envs.client.connection.time.sleep", slept.append)
    with pytest.raises(ConnectionError):
        Connection(playback(lambda *_: None).url, tries=8, wait=0.1).ask("GET", "/")
    assert slept == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0])


def test_a_connection_that_the_server_has_closed_loses_no_request(playback):
    server = playback(lambda *_: (200, []))
    connection = Connection(server.url, tries=1)
    for _ in range(3):
        assert connection.ask("POST", "/step", {}, repeat=False) == (200, [])
        connection._http.sock.shutdown(1)  # to the server, its client has ended: it hangs up
        connection._http.sock.recv(1)
    assert len(server.asked) == 3


def test_a_server_that_is_killed_is_a_connection_error(amemgym_train, remote):
    command = amemgym_train.command("serve", "textcraft", "--port", "0")
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=amemgym_train.env)
    env = remote(running.stdout.readline().split()[-1], "textcraft", tries=2)
    local = make("textcraft")
    assert env.reset(seed=1, options={"task": local.tasks[0]})[0] == local.reset(seed=1, options={"task": local.tasks[0]})[0]
    env.step("inventory")
    running.kill()
    running.wait(20)
    running.stdout.close()
    with pytest.raises(ConnectionError, match="tried 2 times"):
        env.step("inventory")
    env.close()


def test_a_batch_plays_what_single_clients_play(serve, counting):
    server = serve(counting)

    async def play():
        async with BatchClient(server.url, wait=0) as client:
            begun = await client.create([Start("counting", task, seed) for seed, task in enumerate("abcab")])
            told = {one.id: [(one.observation, one.info)] for one in begun}
            running = [one.id for one in begun]
            while running:
                answers = await client.step({key: "one" for key in running})
                for key, answer in zip(running, answers, strict=True):
                    told[key].append(tuple(answer))
                running = [key for key, answer in zip(running, answers, strict=True) if not answer.terminated]
            again = await client.reset({begun[0].id: Start("counting", "b", 1)})
            failed = await client.step({begun[0].id: "raise", "nobody": "one", begun[1].id: "one"})
            held = len(server.instances)
        return list(told.values()), again, failed, held

    told, again, failed, held = asyncio.run(play())
    assert told == [episode(counting(), seed, task) for seed, task in enumerate("abcab")]
    assert again[0].observation == episode(counting(), 1, "b")[0][0]
    assert [type(one).__name__ for one in failed] == ["ServerError", "InstanceLost", "RuntimeError"]
    assert held == 5 and len(server.instances) == 0


def test_a_batch_is_sent_again_with_its_request_ids(playback):
    told = (200, {"items": [OK[1]]})
    replies = iter([None, (503, {}), told, (401, {"error": {"code": "unauthorized", "message": "no"}}), None, None, None])
    server = playback(lambda *_: next(replies))

    async def step():
        client = BatchClient(server.url, tries=3, wait=0)
        return await client.step({"one": "go"})

    assert asyncio.run(step()) == [Stepped("x", 0.0, False, False, {"instruction": ""})]
    assert len({json.dumps(body) for _, _, body in server.asked}) == 1
    with pytest.raises(PermissionError, match="no"):
        asyncio.run(step())
    with pytest.raises(ConnectionError, match="tried 3 times"):
        asyncio.run(step())


def test_importing_the_package_loads_neither_client_nor_server():
    code = "import sys, amemgym_envs; print(sorted({'httpx', 'fastapi', 'uvicorn', 'amemgym_envs.client'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
