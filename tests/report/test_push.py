"""Pushing to a stand-in of the hub on loopback, by the real client in a process of its own."""

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

BASE = ("--base", "somebody/tiny")


class Hub(ThreadingHTTPServer):
    """Keeps what it is sent: ``repos`` {id: public or private}, ``commits`` [(branch, {name: bytes})].

    ``refuses``: (part of a path, status). ``commit_url`` is what a commit is answered with.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.commit_url = f"{self.url}/me/notes/commit/{'0' * 40}"
        self.repos, self.branches, self.blobs, self.commits, self.refuses, self.seen = {}, [], {}, [], None, []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_GET(self):
        if self.path == "/api/whoami-v2":
            return self.reply({"name": "me", "type": "user"})
        repo = self.path.removeprefix("/api/models/").partition("?")[0]
        if repo not in self.server.repos:
            return self.reply({"error": "Repository not found"}, 404)
        self.reply({"id": repo, "private": self.server.repos.get(repo) == "private", "siblings": []})

    def do_PUT(self):
        content = self.body()
        self.server.blobs[hashlib.sha256(content).hexdigest()] = content
        self.reply({})

    def do_POST(self):
        raw, hub = self.body(), self.server
        if self.refused:
            return self.reply({})
        if self.path == "/api/repos/create":
            asked = json.loads(raw)
            repo = f"{asked.get('organization') or 'me'}/{asked['name']}"
            there = repo in hub.repos
            hub.repos.setdefault(repo, asked.get("visibility", "public"))
            return self.reply({"url": f"{hub.url}/{repo}", "name": repo}, 409 if there else 200)
        if "/branch/" in self.path:
            hub.branches.append(self.path.rpartition("/")[2])
            return self.reply({})
        if "/preupload/" in self.path:
            files = [(one["path"], one["path"].endswith("safetensors")) for one in json.loads(raw)["files"]]
            modes = [{"path": path, "uploadMode": "lfs" if lfs else "regular", "shouldIgnore": False} for path, lfs in files]
            return self.reply({"files": modes})
        if self.path.endswith("/info/lfs/objects/batch"):
            actions = [{**one, "actions": {"upload": {"href": f"{hub.url}/blob"}}} for one in json.loads(raw)["objects"]]
            return self.reply({"transfer": "basic", "objects": actions})
        if "/commit/" in self.path:
            lines = [json.loads(line) for line in raw.splitlines()]
            files = {one["value"]["path"]: base64.b64decode(one["value"]["content"]) for one in lines if one["key"] == "file"}
            lfs = {one["value"]["path"]: hub.blobs[one["value"]["oid"]] for one in lines if one["key"] == "lfsFile"}
            hub.commits.append((self.path.rpartition("/")[2], files | lfs))
            return self.reply({"success": True, "commitOid": "0" * 40, "commitUrl": hub.commit_url})
        self.reply({})

    @property
    def refused(self):
        return self.server.refuses is not None and self.server.refuses[0] in self.path

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        content = b""
        while size := int(self.rfile.readline(), 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return content

    def reply(self, value, status=200):
        self.server.seen.append(self.path)
        if self.refused:
            value, status = {"error": "no"}, self.server.refuses[1]
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def hub():
    server = Hub()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def push(amemgym_train, hub, tmp_path, monkeypatch):
    """Runs the command in a process of its own that knows the stand-in alone; no word of it may be a traceback."""
    env = amemgym_train.env | {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": "hf_test"}
    env |= {"HF_HOME": str(tmp_path / "hf"), "NO_PROXY": "127.0.0.1"}

    def call(run, *words, **changes):
        monkeypatch.setattr("subprocess.run", _with(env | changes))
        result = amemgym_train("push", run, "--repo", "me/notes", *words)
        monkeypatch.undo()
        assert "Traceback" not in result.stderr
        return result

    return call


def _with(env):
    import subprocess

    run = subprocess.run
    kept = {key: value for key, value in env.items() if value is not None}
    return lambda words, **options: run(words, **options | {"env": kept})


def test_what_arrives_is_what_the_run_holds(run, push, hub):
    best = (run / "best").resolve()
    result = push(run, *BASE, "--private", "--revision", "trial")
    assert result.returncode == 0, result.stderr
    assert hub.repos == {"me/notes": "private"} and hub.branches == ["trial"]
    [(branch, files)] = hub.commits
    assert branch == "trial"
    assert set(files) == {"README.md", "adapter_config.json", "adapter_model.safetensors", "manifest.json", "recipe.yaml"}
    assert files["adapter_model.safetensors"] == (best / "adapter" / "adapter_model.safetensors").read_bytes()
    assert files["manifest.json"] == (best / "manifest.json").read_bytes()
    old, new = json.loads((best / "adapter" / "adapter_config.json").read_bytes()), json.loads(files["adapter_config.json"])
    assert new == old | {"base_model_name_or_path": "somebody/tiny"}
    assert b"base_model: somebody/tiny" in files["README.md"]
    here = old["base_model_name_or_path"].encode()
    assert not any(here in content or str(run).encode() in content for content in files.values())


def test_a_dry_run_says_what_would_go_and_asks_nobody(run, push, hub):
    result = push(run, *BASE, "--dry-run", HF_HUB_OFFLINE="1")
    assert result.returncode == 0 and hub.seen == []
    listed = {words[2]: (words[0], int(words[1].replace(",", ""))) for words in map(str.split, result.stdout.splitlines()[1:])}
    assert push(run, *BASE).returncode == 0
    [(_, files)] = hub.commits
    assert listed == {name: (hashlib.sha256(content).hexdigest(), len(content)) for name, content in files.items()}


def test_an_adapter_that_was_changed_is_not_sent(run, push, hub):
    path = (run / "best").resolve() / "adapter" / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    result = push(run, *BASE)
    assert result.returncode == 2 and hub.seen == []
    assert str(path.parent) in result.stderr and "expected" in result.stderr and "run evolve again" in result.stderr


def test_a_base_model_that_nobody_finds_is_refused(run, push, hub):
    result = push(run)
    assert result.returncode == 2 and "--base OWNER/NAME" in result.stderr and hub.seen == []


@pytest.mark.parametrize(
    ("refused", "changes", "told"),
    [
        (None, {"HF_TOKEN": None}, "hf auth login"),
        (("whoami", 401), {}, "does not know this token"),
        (("repos/create", 403), {}, "does not let you write to me/notes"),
        (("preupload", 403), {}, "does not let you write to me/notes"),
        (("commit", 404), {}, "status 404"),
        (None, {"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set"),
        (None, {"HF_ENDPOINT": "http://127.0.0.1:9"}, "cannot be reached at http://127.0.0.1:9"),
    ],
)
def test_a_hub_that_refuses_is_told_in_one_message(run, push, hub, refused, changes, told):
    hub.refuses = refused
    result = push(run, *BASE, **changes)
    assert result.returncode == 1 and hub.commits == []
    assert told in result.stderr and result.stderr.count("amemgym-train: ") == 1


def test_an_answer_that_is_not_the_hubs_is_told(run, push, hub):
    hub.commit_url = hub.url
    result = push(run, *BASE)
    assert result.returncode == 1 and f"{hub.url} answered what huggingface_hub cannot read" in result.stderr


def test_a_public_repository_takes_nothing_private(run, push, hub):
    hub.repos["me/notes"] = "public"
    result = push(run, *BASE, "--private")
    assert result.returncode == 1 and "public" in result.stderr and hub.commits == []
