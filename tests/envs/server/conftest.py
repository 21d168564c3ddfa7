"""A toy environment, and servers of it: in a thread of the test process, with a clock that the test sets."""

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest

from amemgym_envs import Outcome, TaskEnv
from amemgym_envs.core import EnvCard


class Counting(TaskEnv):
    """Three ones reach the goal; a word that is drawn at the start must be told in the end."""

    card = EnvCard("Counting-v0", "Count.", "three", {"train": 2, "test": 1}, (0.0, 1.0), "three are counted", 5, "one | two")
    splits = {"train": ["a", "b"], "test": ["c"]}
    instruction = "Say one until there are three."
    closed = 0

    def begin(self, task):
        self.count = 0
        return f"{task}: {self.np_random.integers(1000)}"

    def act(self, action):
        if action == "raise":
            raise ZeroDivisionError("planted")
        self.count += action == "one"
        return Outcome(f"{self.count} after {action[:100]}", np.float64(self.count / 4), self.count == 4)

    def available(self):
        return ["one", "two"]

    def expert(self):
        return "one"

    def close(self):
        type(self).closed += 1


@pytest.fixture
def counting():
    return type("Counting", (Counting,), {"closed": 0})  # counts for this test alone


class Client:
    """One connection that is kept; ``ask`` gives status and content."""

    def __init__(self, url, token=None):
        parts = urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
        self.headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def raw(self, method, path, body=None, **headers):
        self.connection.request(method, path, body, self.headers | headers)
        reply = self.connection.getresponse()
        return reply.status, reply.read()

    def ask(self, method, path, body=None):
        content = None if body is None else json.dumps(body)
        status, told = self.raw(method, path, content, **{"Content-Type": "application/json"})
        try:
            return status, json.loads(told)
        except ValueError:
            return status, told.decode()

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, **body):
        return self.ask("POST", path, body)

    def good(self, path, **body):
        status, content = self.post(path, **body)
        assert status == 200, content
        return content


@pytest.fixture
def client():
    made = []

    def connect(url, token=None):
        made.append(Client(url, token))
        return made[-1]

    yield connect
    for one in made:
        one.connection.close()


class Playback:
    """A server of scripted replies: ``answer(method, path, body)`` gives status and content, or None to hang up."""

    def __init__(self, answer):
        self.asked = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                self.reply(None)

            def do_POST(self):
                text = self.rfile.read(int(self.headers["Content-Length"] or 0))
                self.reply(json.loads(text) if text else None)

            def reply(self, body):
                outer.asked.append((self.command, self.path, body))
                told = answer(self.command, self.path, body)
                self.close_connection = told is None
                if told is not None:
                    content = json.dumps(told[1]).encode()
                    self.send_response(told[0])
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def playback():
    started = []

    def start(answer):
        started.append(Playback(answer))
        return started[-1]

    yield start
    for one in started:
        one.http.shutdown()
        one.http.server_close()


@pytest.fixture
def serve(monkeypatch):
    """Starts servers of environment classes; ``clock.now`` is the time that they know."""
    from amemgym_envs.server.instances import Instances
    from amemgym_envs.server.run import address, bind, server_of
    from amemgym_envs.server.served import Served

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    started = []

    def start(*kinds, limit=100, ttl=10.0, token=None, options=None):
        clock = SimpleNamespace(now=0.0)
        instances = Instances(limit, ttl, lambda: clock.now)
        port = bind("127.0.0.1", 0)
        served = [Served(kind, options) if isinstance(kind, str) else Served("", options, kind) for kind in kinds]
        server = server_of(served, instances, token)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [port]})
        thread.start()
        started.append((server, thread))
        return SimpleNamespace(url=address(port), clock=clock, instances=instances, server=server)

    yield start
    for server, thread in started:
        server.should_exit = True
        thread.join(20)
