"""A server in the test process that answers as vLLM 0.31 was seen to, with a real model behind it."""

import copy
import json
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch

from amemgym_train.config.policy import LoraConfig
from amemgym_train.policy.base import Sampling
from amemgym_train.policy.decoding import decode, prefill
from amemgym_train.training.lora import load_adapter, new_adapter, save_adapter


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # as many connections at once as the tests may open
    allow_reuse_address = True


class Vllm:
    """``faults`` are served first, whatever is asked: (status, headers, body) each, or a function of the right reply.

    ``hold`` makes completions wait until it is set; ``most`` is how many were in progress at once.
    """

    def __init__(self, model, tokenizer, name, *, max_rank=8, window=512, mode="processed_logprobs", updating=True):
        self.model, self.tokenizer, self.name = model, tokenizer, name
        self.max_rank, self.window, self.mode, self.updating = max_rank, window, mode, updating
        self.adapters, self.faults, self.calls, self.port = {}, deque(), [], 0
        self.hold, self.counting = None, threading.Lock()
        self.engine = ThreadPoolExecutor(1)  # a model called by many threads is slow: each starts threads of its own
        self.running = self.most = 0
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, body):
                status, headers, content = outer.reply(self.path, body, self.headers)
                try:
                    self.send_response(status)
                    for key, value in ({"Content-Length": len(content)} | headers).items():
                        self.send_header(key, str(value))
                    self.end_headers()
                    self.wfile.write(content)
                except OSError:  # the client did not wait
                    self.close_connection = True
                self.close_connection |= outer.http.stopping

            def do_GET(self):
                self.answer(None)

            def do_POST(self):
                self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *_):
                pass

        self.http = Listener(("127.0.0.1", self.port), Handler)
        self.http.stopping = False
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self):
        """What a kill leaves: nobody at the port, and no adapter."""
        self.http.stopping = True
        self.http.shutdown()
        self.http.server_close()
        self.adapters = {}

    def reply(self, path, body, headers):
        with self.counting:
            self.calls.append((path, body, headers.get("Authorization")))
            fault = self.faults.popleft() if self.faults else None
        if isinstance(fault, tuple):
            return fault
        status, content = self.route(path, body)
        if fault is not None:
            content = fault(content)
        return status, {}, content.encode() if isinstance(content, str) else json.dumps(content).encode()

    def route(self, path, body):
        if path == "/v1/models":
            base = {"id": self.name, "root": self.name, "parent": None, "max_model_len": self.window}
            return 200, {"data": [base, *({"id": name, "parent": self.name} for name in self.adapters)]}
        if path == "/v1/completions":
            return self.completions(body)
        if self.updating and path == "/v1/load_lora_adapter":
            return self.load(body["lora_name"], body["lora_path"])
        if self.updating and path == "/v1/unload_lora_adapter":
            known = self.adapters.pop(body["lora_name"], None)
            return (200, "Success") if known else error(404, f"The lora adapter '{body['lora_name']}' cannot be found.")
        return 404, {"detail": "Not Found"}

    def load(self, name, folder):
        failed = "Call to add_lora method failed: Worker failed with error '{}', please check the stack trace"
        if name in self.adapters:
            return error(400, f"The lora adapter '{name}' has already been loaded. If you want to load ...")
        if not self.max_rank:
            return error(500, failed.format("LoRA is not enabled. Use --enable-lora to enable LoRA."))
        if not (Path(folder) / "adapter_config.json").is_file():
            return error(404, f"Loading lora {name} failed: No adapter found for {folder}")
        rank = json.loads((Path(folder) / "adapter_config.json").read_text())["r"]
        if rank > self.max_rank:
            return error(500, failed.format(f"LoRA rank {rank} is greater than max_lora_rank {self.max_rank}."))
        if not (Path(folder) / "adapter_model.safetensors").stat().st_size:
            return error(500, failed.format("Error while deserializing header: header too small"))
        self.adapters[name] = load_adapter(copy.deepcopy(self.model), folder)
        return 200, "Success"

    def completions(self, body):
        model = self.model if body["model"] == self.name else self.adapters.get(body["model"])
        if model is None:
            return error(404, f"The model `{body['model']}` does not exist.")
        if len(body["prompt"]) + body["max_tokens"] > self.window:
            return error(400, f"This model's maximum context length is {self.window} tokens.")
        with self.counting:
            self.running += 1
            self.most = max(self.most, self.running)
        if self.hold is not None:
            self.hold.wait(30)
        try:
            return 200, self.engine.submit(self.complete, model, body).result()
        finally:
            with self.counting:
                self.running -= 1

    def complete(self, model, body):
        sampling = Sampling(body["max_tokens"], body["temperature"], max(body["top_k"], 0), body["top_p"])
        stops = {self.tokenizer.eos_token_id, *body.get("stop_token_ids", [])}
        limits, seeds, pad = [body["max_tokens"]], [body["seed"]], self.tokenizer.pad_token_id
        [draw] = decode(model, [body["prompt"]], sampling, limits, seeds, stops, pad)
        top = [self.first_logprobs(model, body)] if body["logprobs"] else [None] * len(draw.ids)
        logprobs = {"token_logprobs": draw.logprobs, "top_logprobs": top}
        choice = {"text": "", "token_ids": draw.ids, "logprobs": logprobs, "finish_reason": draw.finish_reason}
        return {"choices": [choice], "model": body["model"]}

    @torch.inference_mode()
    def first_logprobs(self, model, body):
        logits = prefill(model, [body["prompt"]], self.tokenizer.pad_token_id)[1][0].float()
        scale = body["temperature"] if self.mode.startswith("processed") and body["temperature"] else 1.0
        values = (logits / scale) if self.mode.endswith("logits") else (logits / scale).log_softmax(-1)
        best = values.topk(body["logprobs"])
        return {f"token_id:{i}": float(value) for i, value in zip(best.indices, best.values, strict=True)}


def error(status, message):
    return status, {"error": {"message": message, "type": "SomeError", "code": status}}


@pytest.fixture(scope="session")
def base_folder(make_llama, tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    make_llama().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def vllm(llama, tokenizer, base_folder, monkeypatch):
    """Starts servers of the model in ``base_folder``; keys of ``Vllm`` make them different."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    started, threads = [], torch.get_num_threads()
    torch.set_num_threads(1)  # the server's thread and the test's own would wait for each other's

    def start(name=str(base_folder), **settings):
        started.append(Vllm(llama, tokenizer, name, **settings))
        return started[-1]

    yield start
    for server in started:
        server.stop()
        server.engine.shutdown()
    torch.set_num_threads(threads)


@pytest.fixture
def make_adapter(llama, tmp_path):
    """Saves adapters that change what the model says, each by its own ``strength``."""

    def make(name, strength=0.3, r=2):
        adapted = new_adapter(copy.deepcopy(llama), LoraConfig(r=r, alpha=2 * r), seed=0)
        for key, weight in adapted.named_parameters():
            if "lora_B" in key:
                weight.data.fill_(strength)
        save_adapter(adapted, tmp_path / name)
        return tmp_path / name

    return make
