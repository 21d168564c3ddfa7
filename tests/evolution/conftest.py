"""What the tests of a kept evaluation share: a chat server with a model of its own, a recipe for it, and a whole evaluation; and
what those of a run share that is killed."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import time

import pytest
import yaml

from amemgym_train import cli
from amemgym_train.agents.templates import load_prompts

USERS = {
    **{"num_users": 3, "num_variables": 4, "num_questions": 2, "num_periods": 1, "num_changes_per_period": 1},
    **{"num_states_per_question": 2, "rounds_update": 2},
}
INSTRUCTIONS = {prompt.instruction: operation for operation, prompt in load_prompts("default").items()}
UNLIKE = ("seconds.json", ".lock")  # the only files that differ between two runs of the same


def model(messages):
    """Picks the choice with most of the words that are noted or were said; what it cannot know depends on its prompt alone."""
    body = messages[-1]["content"]
    number = int(hashlib.sha256(body.encode()).hexdigest()[:8], 16)
    operation = INSTRUCTIONS.get(messages[0]["content"])
    told, _, asked = body.rpartition("\n\n")
    if operation == "answer":
        choices = re.findall(r"^\d+\. (.+)$", asked, re.MULTILINE)
        known = [sum(word in told.lower() for word in choice.lower().split() if len(word) > 4) for choice in choices]
        return "none of them" if number % 7 == 0 else {"answer": 1 + max(range(len(choices)), key=known.__getitem__)}
    if operation == "read":
        schema = json.loads(asked.partition("\n")[2])
        return {name: values[number % len(values)] for name, values in schema.items() if number % 5}
    if operation == "write":
        return {f"note {number % 4}": f"{number % 9} of {body.split()[-1]}"}
    return f"I see, {number % 50}."


@pytest.fixture
def server(chat_server):
    return chat_server(model)


@pytest.fixture
def recipe(server, tmp_path):
    """Writes the recipe of a chat model, with changes to it; ``users`` are those that it plays."""

    def write(**changes):
        sections = {
            "name": "kept",
            "output": str(tmp_path / "runs"),
            "policy": {"chat": {"base_url": server.url, "model": "strong", "retries": 0}},
            "agent": {"local_length": 2, "flush": "period"},
            "scenarios": {"test": USERS},
            "evaluation": {"upper": "model", "controls": ["random", "oracle", "scrambled", "empty", "instruction"]},
            "rollout": {"max_unscorable": 0.5},
        }
        path = tmp_path / "kept.yaml"
        path.write_text(yaml.safe_dump(sections | changes))
        return path

    write.users = USERS
    return write


@pytest.fixture
def evaluate():
    """Runs the command in this process; returns its exit code."""
    return lambda *words: cli.main(["evaluate", *map(str, words)])


@pytest.fixture
def contents():
    """{file: bytes} of what two runs of the same evaluation have in common."""
    return lambda folder: {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in UNLIKE
    }


@pytest.fixture
def report_of():
    return lambda folder: json.loads((folder / "report.json").read_text())


AGENTS = ("--agents", "awi", "rag", "--seeds", 0, 4)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("shared")


@pytest.fixture
def whole(evaluate, shared, recipe, server, tmp_path):
    """The folder of an evaluation that nothing disturbed, made once and copied for each test."""
    if not (shared / "calls").exists():
        assert evaluate(recipe(), "--out", shared / "whole", *AGENTS) == 0
        (shared / "calls").write_text(str(len(server.requests)))
    return shutil.copytree(shared / "whole", tmp_path / "whole")


# Loaded by Python itself before anything else: halts the process at its first access of a kind to a stage's scratch folder.
HALT = """
import os, signal, sys

def watch(event, arguments):
    if event in EVENTS and PLACE in str(arguments[0]):
        os.kill(os.getpid(), signal.SIGSTOP)

PLACE, EVENTS = os.environ["HALT_PLACE"], os.environ["HALT_EVENTS"].split()
sys.addaudithook(watch)
"""


@pytest.fixture
def halting(tmp_path, amemgym_train):
    """Starts the command line and returns it halted at ``place``."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(HALT)
    path = os.pathsep.join([str(tmp_path / "hook"), amemgym_train.env["PYTHONPATH"]])

    def start(recipe, place, events):
        env = amemgym_train.env | {"PYTHONPATH": path, "HALT_PLACE": place, "HALT_EVENTS": events}
        with (tmp_path / "stderr").open("w") as stderr:
            process = subprocess.Popen(amemgym_train.command("evolve", recipe), env=env, stdout=subprocess.DEVNULL, stderr=stderr)
        deadline = time.monotonic() + 120
        while True:
            _, status = os.waitpid(process.pid, os.WNOHANG | os.WUNTRACED)
            if os.WIFSTOPPED(status):
                return process
            if status or process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                pytest.fail(f"never halted at {place}: {(tmp_path / 'stderr').read_text()}")
            time.sleep(0.01)

    return start
