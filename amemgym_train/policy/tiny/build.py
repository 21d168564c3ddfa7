"""The quickstart model: built on first use into the user's cache, under a name that says what it was built from."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.agent import AgentConfig
from amemgym_train.config.scenarios import ScenarioConfig
from amemgym_train.policy.cache import made_once

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class Build:
    """All that the model depends on besides texts and source. The agent is that of recipes/configs/quickstart.yaml."""

    seed: int = 0
    users: int = 300  # far from those of any recipe: see ``first_user``
    held_back: int = 6  # users whose answers tell when to stop
    first_user: int = 5_000_000
    hidden_size: int = 128
    layers: int = 4
    heads: int = 4
    batch_size: int = 32
    drill_steps: int = 220
    most_steps: int = 500
    goal: float = 0.6  # of the answers: the warm start leaves room for what the loop is to show
    matrix_rate: float = 0.02
    rate: float = 3e-3

    def agent(self) -> AgentConfig:
        return AgentConfig(name="awi", prompts="short", update_bsz=2, local_length=0, flush="period", respond="fixed")

    def demonstrated(self) -> ScenarioConfig:
        """The users whose demonstrations are learned: training variables and training phrasings only."""
        return ScenarioConfig(preset="quickstart", num_users=self.users, user_offset=self.first_user)

    def watched(self) -> ScenarioConfig:
        """The next users, who are not learned from."""
        return self.demonstrated().model_copy(update={"num_users": self.held_back, "user_offset": self.first_user + self.users})


def fingerprint(build: Build) -> str:
    """12 hex digits over the constants, the texts, the prompts and this package's source."""
    from amemgym_envs.amemgym.languages import wording
    from amemgym_train.policy.tiny.tokenizer import texts_of

    prompts = load_prompts(build.agent().prompts)
    texts = list(texts_of(wording(), prompts.values(), build.demonstrated().domains))
    told = (asdict(build), build.agent(), build.demonstrated(), build.watched(), sorted(prompts.items()), texts)
    digest = hashlib.sha256(repr(told).encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def built_folder(build: Build | None = None) -> Path:
    """The model's folder; built on first use, which takes minutes."""
    build = build or Build()

    def make(folder: Path) -> None:
        print("building the quickstart model: once, about two minutes", flush=True)
        model, tokenizer = build_model(build)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

    return made_once(f"quickstart-{fingerprint(build)}", make)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for torch: sums then come out alike whatever the cores, and batches this small gain little from more."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def build_model(build: Build) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """A warm-started model and its tokenizer. The caller's random state is left as it was."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from amemgym_envs.amemgym.languages import wording
    from amemgym_train.policy.tiny.demonstrations import demonstrations, recall_drill
    from amemgym_train.policy.tiny.tokenizer import build_tokenizer, texts_of
    from amemgym_train.policy.tiny.warmstart import WarmStart

    agent = build.agent()
    tokenizer = build_tokenizer(texts_of(wording(), load_prompts(agent.prompts).values(), build.demonstrated().domains))
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=build.hidden_size,
        intermediate_size=2 * build.hidden_size,
        num_hidden_layers=build.layers,
        num_attention_heads=build.heads,
        num_key_value_heads=build.heads,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    learned, watched = (demonstrations(agent, users, tokenizer) for users in (build.demonstrated(), build.watched()))
    drill = recall_drill(agent, build.demonstrated(), tokenizer, build.drill_steps * build.batch_size, build.seed)
    answers = [example for example in watched if example.operation == "answer"]
    with torch.random.fork_rng(devices=[]), one_thread():
        torch.manual_seed(build.seed)
        model = LlamaForCausalLM(config)
        start = WarmStart(model, build.matrix_rate, build.rate)
        start.drill(drill, build.batch_size)
        hardest = drill[-len(drill) // 5 :]
        start.imitate(learned, hardest, answers, build.batch_size, build.goal, build.most_steps, build.seed)
    return model.eval(), tokenizer
