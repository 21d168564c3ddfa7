"""What the tests of training share: a tiny Llama with its own word-level tokenizer, a recipe that takes seconds, the real CLI.

The model of the recipe is warmed up on the oracle's demonstrations: a random one would earn no rows to train on.
"""

import io
import json
import os
import subprocess
import sys
import threading
from collections import deque
from contextlib import redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml

# Before anything imports torch. Two workers on two cores whose threads wait for one another burn a third of the suite's time; and
# a sum over threads has other last digits on other machines, so that the warmed-up model would be another one there.
os.environ["OMP_NUM_THREADS"] = "1"

from amemgym_train.policy.oracle import OraclePolicy, ScriptedPolicy  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
USERS = {
    **{"num_users": 2, "num_variables": 3, "num_questions": 3, "num_periods": 1, "num_changes_per_period": 1},
    **{"num_choices": 2, "num_states_per_question": 1},
}
SECTIONS = {
    "name": "tiny",
    "policy": {"max_batch_size": 8, "lora": {"r": 8, "alpha": 16}},
    "agent": {"local_length": 0, "flush": "period", "respond": "fixed", "max_new_tokens": {"write": 20, "read": 20}},
    "scenarios": {role: USERS for role in ("train", "validation", "test")},
    "sampling": {"temperature": 0.7},
    "training": {"learning_rate": 1e-3, "batch_size": 4},
    "evaluation": {"controls": ["random", "oracle", "scrambled"]},
    "evolution": {"iterations": 2},
}
TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
TEMPLATE = TURNS + "{% if add_generation_prompt %}<|assistant|>{% endif %}"
ENV = os.environ | {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "envs")]),
    "HF_HUB_OFFLINE": "1",
    "ACCELERATE_USE_CPU": "true",
}


def demonstrations(recipe):
    """(messages, reply) of every call that the oracle makes with the recipe's users."""
    from amemgym_train.agents import build_agent
    from amemgym_train.evaluation.controls import GREEDY, environment
    from amemgym_train.policy.oracle import OraclePolicy
    from amemgym_train.rollout.runner import Task, play

    calls = []

    class Shown(OraclePolicy):
        def reply(self, request):
            calls.append((request.messages, super().reply(request)))
            return calls[-1][1]

    roles = recipe.scenarios
    played = [("train", roles.train), ("train", roles.train.at(1)), ("validation", roles.validation), ("test", roles.test)]
    for role, config in played:
        users = {user.id: user for user in config.build()}

        def agent(task, episode, seed, users=users):
            return build_agent(recipe.agent, Shown(users[task.id]), episode, seed, GREEDY)

        play(environment(recipe, role, list(users.values())), [Task(name, name, 0) for name in users], agent, label=None)
    return calls


def word_tokenizer(texts):
    """Words (with the space before them), digits and signs of ``texts``, and all of their characters."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    split = pre_tokenizers.Split(Regex(r" ?[A-Za-z]+|\d|\s|[^\sA-Za-z\d]"), "isolated")
    words = {word for text in texts for word, _ in split.pre_tokenize_str(text)} | {char for text in texts for char in text}
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(["<unk>", *sorted(words)])}, unk_token="<unk>"))
    backend.pre_tokenizer, backend.decoder = split, decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>", eos_token="<|end|>", pad_token="<pad>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|system|>", "<|user|>", "<|assistant|>"]})
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def random_llama(tokenizer, **changes):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(
        **shape | changes,
        num_key_value_heads=1,
        vocab_size=len(tokenizer),
        tie_word_embeddings=True,
        initializer_range=0.1,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    return LlamaForCausalLM(config).eval()


def warm_up(model, rows, steps=400, batch=4):
    """Plain supervised training on (prompt ids, completion ids), the completions in the loss."""
    import torch

    optimizer, pick = torch.optim.AdamW(model.parameters(), lr=1e-2), torch.Generator().manual_seed(0)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 1e-2 * min(1.0, 2 * (1 - step / steps))
        chosen = [rows[i] for i in torch.randint(len(rows), (batch,), generator=pick)]
        width = max(len(prompt + completion) for prompt, completion in chosen)
        ids = torch.zeros(batch, width, dtype=torch.long)
        labels = torch.full((batch, width), -100)
        for i, (prompt, completion) in enumerate(chosen):
            ids[i, : len(prompt + completion)] = torch.tensor(prompt + completion)
            labels[i, len(prompt) : len(prompt + completion)] = torch.tensor(completion)
        model(input_ids=ids, attention_mask=(ids != 0).long(), labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.fixture(scope="session")
def calls():
    """(messages, reply) of the oracle with the users of the tiny recipe."""
    from amemgym_train.config.recipe import Recipe

    return demonstrations(Recipe.model_validate(SECTIONS))


@pytest.fixture(scope="session")
def tokenizer(calls):
    texts = [message["content"] for messages, _ in calls for message in messages] + [reply for _, reply in calls]
    return word_tokenizer(texts)


@pytest.fixture(scope="session")
def make_llama(tokenizer):
    """Makes a random model of two layers, the same each time; keys of LlamaConfig make another one."""
    return lambda **changes: random_llama(tokenizer, **changes)


@pytest.fixture
def llama(make_llama):
    return make_llama()


@pytest.fixture(scope="session")
def warmed_up(tmp_path_factory):
    """The folder of a tiny model that was taught ``calls``, (messages, reply) each, saved as a recipe can name it."""

    def make(calls, tokenizer=None, **settings):
        texts = [text for messages, reply in calls for text in (*(message["content"] for message in messages), reply)]
        tokenizer = tokenizer or word_tokenizer(texts)

        def encode(messages, reply):
            prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True, return_dict=False)
            return list(prompt), tokenizer(reply)["input_ids"] + [tokenizer.eos_token_id]

        model = random_llama(tokenizer)
        warm_up(model, [encode(*call) for call in calls], **settings)
        folder = tmp_path_factory.mktemp("model")
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def model_folder(calls, tokenizer, warmed_up):
    return warmed_up(calls, tokenizer)


@pytest.fixture(scope="session")
def write_recipe(model_folder):
    """Writes the tiny recipe into a folder, where its runs go too; returns the path of the file."""

    def write(folder):
        sections = {**SECTIONS, "output": str(folder / "runs"), "policy": SECTIONS["policy"] | {"model": str(model_folder)}}
        path = folder / "tiny.yaml"
        path.write_text(yaml.safe_dump(sections))
        return path

    return write


@pytest.fixture(scope="session")
def amemgym_train():
    """Runs the command line in a process of its own."""

    def run(*arguments, **options):
        return subprocess.run(command(*arguments), capture_output=True, text=True, env=ENV, timeout=200, **options)

    def command(*arguments):
        return [sys.executable, "-m", "amemgym_train.cli", *map(str, arguments)]

    run.command, run.env = command, ENV
    return run


@pytest.fixture(scope="session")
def in_process():
    """Runs the command line in this process, which need not import for four seconds what it has imported already; for tests that
    look at what a command leaves, not at how its process ends."""
    from amemgym_train import cli

    def run(*arguments):
        words, out, err = [*map(str, arguments)], io.StringIO(), io.StringIO()
        with patch.dict(os.environ, ENV), redirect_stdout(out), redirect_stderr(err):
            code = cli.main(words)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="session")
def outcome():
    """What a finished run must share with every other run of its recipe: the summary but for its times, metrics and adapters."""

    def read(run):
        summary = json.loads((run / "summary.json").read_text())
        assert summary.pop("wall_seconds")["total"] > 0
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        clock = ("time", "seconds")  # and seconds/STAGE of the overview
        steady = [{key: 0 if key.startswith(clock) else value for key, value in line.items()} for line in lines]
        metrics = {(line["stage"], line["step"]): line for line in steady}
        assert len(metrics) == len(lines)
        files = {str(path.relative_to(run)): path.read_bytes() for path in sorted(run.glob("iterations/*/adapter/*"))}
        return summary, metrics, files

    return read


@pytest.fixture(scope="session")
def undisturbed(write_recipe, amemgym_train, tmp_path_factory):
    """The folder of a finished run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("undisturbed")
    result = amemgym_train("evolve", write_recipe(folder))
    assert result.returncode == 0, result.stderr
    return folder / "runs" / "tiny"


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64  # as many connections at once as the tests may open


class ChatServer:
    """An OpenAI-compatible server on 127.0.0.1 that says what ``model(messages)`` returns.

    ``faults`` are served first: (status, headers, body) each, a body shorter than its Content-Length being broken off, or "hang".
    ``fails(body)`` may return one for a request of its choice. After ``hold_after`` replies, requests wait for ``released``.
    """

    def __init__(self, model):
        self.model = model
        self.requests = []
        self.faults = deque()
        self.fails = lambda body: None
        self.finish_reason = None
        self.hold_after = None
        self.held, self.released = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, headers, content = outer.reply(self.path, self.headers, body)
                sent = {"Content-Length": len(content)} | headers
                try:
                    self.send_response(status)
                    for name, value in sent.items():
                        self.send_header(name, str(value))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:  # the client was killed, or did not wait
                    self.close_connection = True
                self.close_connection |= int(sent["Content-Length"]) != len(content)

            def log_message(self, *_):
                pass

        self.http = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def reply(self, path, headers, body):
        with self.lock:
            number = len(self.requests)
            self.requests.append({"path": path, "authorization": headers.get("Authorization"), **body})
            fault = self.faults.popleft() if self.faults else self.fails(body)
        if fault == "hang":
            self.released.wait(60)
        elif fault is not None:
            return fault
        if self.hold_after is not None and number >= self.hold_after:
            self.held.set()
            self.released.wait(60)
        said = self.model(body["messages"])
        text = said if isinstance(said, str) else json.dumps(said)
        words = sum(len(message["content"].split()) for message in body["messages"])
        usage = {"prompt_tokens": words, "completion_tokens": len(text.split())}
        choice = {"index": 0, "message": {"role": "assistant", "content": text}}
        if self.finish_reason is not None:
            choice["finish_reason"] = self.finish_reason
        return 200, {"Content-Type": "application/json"}, json.dumps({"choices": [choice], "usage": usage}).encode()

    def close(self):
        self.released.set()
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def chat_server(monkeypatch):
    """Starts chat servers, each with its model."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    started = []

    def start(model):
        started.append(ChatServer(model))
        return started[-1]

    yield start
    for server in started:
        server.close()


class FromPrompt(ScriptedPolicy):
    """Writes like the oracle. Reads and answers by its prompt alone: of each state's values the one that was told last."""

    version = "from prompt"

    def __init__(self, scenario):
        super().__init__()
        self.scenario = scenario
        self.oracle = OraclePolicy(scenario)

    def reply(self, request):
        if request.operation in ("respond", "write"):
            return self.oracle.reply(request)
        before = "\n\nQuestion:" if request.operation == "answer" else "\n\nKeys"
        shown = request.messages[1]["content"].rpartition(before)[0]
        shown = "\n".join(reversed(shown.split("\n\nEarlier notes about the user, newest last:\n")))  # notes are older
        schema = self.scenario.state_schema
        if request.operation == "read":
            schema = request.facts["schema"]
        states = {state: max(values, key=shown.rfind) for state, values in schema.items() if any(v in shown for v in values)}
        if request.operation == "read":
            return json.dumps(states)
        asked = self.scenario.questions[request.facts["question"]]
        wanted = [states.get(state) for state in asked.required_info]
        agreeing = [sum(map(str.__eq__, map(str, wanted), choice.state)) for choice in asked.answer_choices]
        return json.dumps({"answer": 1 + agreeing.index(max(agreeing))})


@pytest.fixture(scope="session")
def from_prompt():
    """Makes the policy of a scenario."""
    return FromPrompt
