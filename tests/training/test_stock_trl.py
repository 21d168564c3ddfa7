"""TRL's own GRPOTrainer trains on the memory tools: a random tiny model calls them, is rewarded, and its adapter moves.

No reply is scripted. The model draws them itself, either among whole calls (the recipe's ``--guided``) or freely, with a
tokenizer to which some whole calls are single tokens, so that even a model that knows nothing utters them.
"""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from peft import LoraConfig
from safetensors.torch import load_file
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_instruct_2507_chat_template

from amemgym_envs.amemgym.generator import GeneratorConfig
from amemgym_envs.amemgym.tools import memory_tools, tasks

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "stock_trl.py"
USERS = memory_tools(
    GeneratorConfig(num_users=2, num_variables=2, num_periods=1, num_questions=2, num_changes_per_period=1, num_choices=2),
    at_once=9,
)
CALLS = [
    ("next_message", {}),
    ("answer", {"choice": 1}),
    ("answer", {"choice": 2}),
    ("write", {"label": "pet", "value": "cat"}),
    ("read", {}),
    ("delete", {"label": "pet"}),
    ("write", {"label": "pet"}),  # an argument is missing: MemoryTools answers
    ("forget", {}),  # no such tool: TRL answers
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A random Llama of two layers, and byte pairs learnt from what the tools say."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    environment = USERS()
    tools = [get_json_schema(getattr(environment, name)) for name in ("answer", "delete", "next_message", "read", "write")]
    texts = [environment.reset(), environment.next_message(), *map(json.dumps, tools), *map(json.dumps, CALLS), "\n<tool_call>\n"]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<pad>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})

    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    room = len(tokenizer) + len(CALLS)
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    model = LlamaForCausalLM(LlamaConfig(**shape, **ends, vocab_size=room, max_position_embeddings=4096))
    made = tmp_path_factory.mktemp("talker")
    model.save_pretrained(made)
    tokenizer.save_pretrained(made)
    return made


@pytest.fixture(scope="module")
def recipe():
    spec = spec_from_file_location("stock_trl", RECIPE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def moved(out):
    """How far the saved adapter is from a fresh one, whose second factors are all zero."""
    weights = load_file(out / "adapter_model.safetensors")
    return sum(weight.abs().sum().item() for name, weight in weights.items() if "lora_B" in name)


def steps(trainer):
    return [entry for entry in trainer.state.log_history if "reward" in entry]


def test_the_recipe_trains_a_model_that_draws_among_whole_calls(folder, recipe, tmp_path):
    options = [
        "--max_steps",
        "2",
        "--output_dir",
        str(tmp_path),
        "--use_cpu",
        "true",
        "--report_to",
        "none",
        "--disable_tqdm",
        "true",
    ]
    trainer = recipe.main([str(folder), "--guided", *options])
    first, last = steps(trainer)
    for step in (first, last):
        assert step["tools/call_frequency"] == 5 and step["tools/failure_frequency"] == 0
    assert max(first["reward_std"], last["reward_std"]) > 0 and max(first["grad_norm"], last["grad_norm"]) > 0
    assert last["rewards/MemoryTools/mean"] == pytest.approx(sum(e.get_reward() for e in trainer.environments) / 4)
    assert any(e.answered for e in trainer.environments)
    assert moved(tmp_path) > 0


def test_a_model_that_calls_no_tool_earns_nothing_and_learns_nothing(folder, recipe, tmp_path):
    """What the recipe's text says of a model that never learned to call tools."""
    options = ["--max_steps", "1", "--max_completion_length", "16", "--output_dir", str(tmp_path), "--use_cpu", "true"]
    trainer = recipe.main([str(folder), *options, "--report_to", "none", "--disable_tqdm", "true"])
    [step] = steps(trainer)
    assert step["tools/call_frequency"] == 0 and step["reward"] == step["reward_std"] == 0
    assert moved(tmp_path) == 0


def test_calls_that_a_model_utters_freely_reach_the_tools(folder, tmp_path):
    """Every tool, several calls in a reply, bad arguments and unknown tools; the prompts are the rows of ``tasks``."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    spoken = len(tokenizer)
    named = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in CALLS]
    assert tokenizer.add_tokens([f"<tool_call>\n{call}\n</tool_call>" for call in named]) == len(CALLS)
    tokenizer.chat_template = qwen3_instruct_2507_chat_template
    silent = [i for i in range(spoken) if i != tokenizer.eos_token_id]
    heard = []

    class Watched(USERS):
        def reset(self, **row):
            heard.append([row["task"], super().reset(**row)])
            return heard[-1][1]

    trainer = GRPOTrainer(
        str(folder),
        args=GRPOConfig(
            output_dir=str(tmp_path),
            max_steps=2,
            per_device_train_batch_size=8,
            num_generations=4,
            max_completion_length=700,
            max_tool_calling_iterations=8,
            learning_rate=1e-3,
            generation_kwargs={"suppress_tokens": silent},
            **{"logging_steps": 1, "report_to": "none", "use_cpu": True, "bf16": False, "disable_tqdm": True, "seed": 0},
        ),
        train_dataset=Dataset.from_list(tasks(USERS)),
        processing_class=tokenizer,
        peft_config=LoraConfig(r=4, target_modules="all-linear"),
        environment_factory=Watched,
    )
    trainer.train()
    trainer.save_model()

    groups = [heard[i : i + 4] for i in range(0, len(heard), 4)]
    assert len(heard) == 16 and all(entry == group[0] for group in groups for entry in group)  # one user per group
    assert len({task for task, _ in heard}) == 2
    environments = trainer.environments
    assert any(e.answered for e in environments) and any(e.notes == {"pet": "cat"} for e in environments)
    assert any(e.refused for e in environments)
    for step in steps(trainer):
        assert step["tools/call_frequency"] > 2 and 0 < step["tools/failure_frequency"] < 0.5  # failures: "forget" alone
    last = steps(trainer)[-1]
    assert last["rewards/Watched/mean"] == pytest.approx(sum(e.get_reward() for e in environments) / 8)
    assert max(step["reward_std"] for step in steps(trainer)) > 0
    assert moved(tmp_path) > 0
