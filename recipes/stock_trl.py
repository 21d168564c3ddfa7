"""TRL's own GRPOTrainer on AMemGym's users: their tools are its ``environment_factory``, and nothing of ours trains.

python recipes/stock_trl.py smollm2 --guided --max_steps 2       # a model reference, then any option of GRPOConfig

A model that was trained to call tools needs no more. SmolLM2-135M calls none: all rewards are then 0 and nothing is learned.
``--guided`` has it choose, by its own probabilities, among a few whole calls, as vLLM's structured outputs would.
"""

import sys

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoTokenizer, HfArgumentParser
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_instruct_2507_chat_template, supports_tool_calling

from amemgym_envs.amemgym.generator import GeneratorConfig
from amemgym_envs.amemgym.tools import memory_tools, tasks
from amemgym_train.policy.references import resolve

USERS = {"num_variables": 2, "num_periods": 0, "num_changes_per_period": 1}
QUESTIONS = {"num_questions": 2, "num_states_per_question": 1, "num_choices": 2}
TRAINING = {"output_dir": "runs/stock_trl", "learning_rate": 1e-4, "bf16": torch.cuda.is_available(), "logging_steps": 1}
SAMPLING = {"num_generations": 4, "per_device_train_batch_size": 4, "max_completion_length": 1024}
ROUNDS = {"max_tool_calling_iterations": 5, "gradient_checkpointing": False}
CALLS = ['"next_message", "arguments": {}', *(f'"answer", "arguments": {{"choice": {i}}}' for i in (1, 2))]


def guide(model, tokenizer):
    """From now on ``model.generate`` draws nothing but one of CALLS; a model of <|im_start|> turns."""
    texts = ["<|im_start|>assistant\n", *(f'<tool_call>\n{{"name": {call}}}\n</tool_call>' for call in CALLS)]
    header, *calls = tokenizer(texts, add_special_tokens=False)["input_ids"]

    def allowed(_, ids):
        start = next(i for i in range(len(ids), 0, -1) if ids[i - len(header) : i].tolist() == header)
        begun = ids[start:].tolist()
        return [call[len(begun)] for call in calls if call[: len(begun)] == begun != call] or [tokenizer.eos_token_id]

    generate = model.generate
    model.generate = lambda *args, **options: generate(*args, prefix_allowed_tokens_fn=allowed, **options)


def main(arguments):
    parser = HfArgumentParser(GRPOConfig)
    parser.add_argument("model")
    parser.add_argument("--guided", action="store_true")
    parser.set_defaults(**TRAINING, **SAMPLING, **ROUNDS)
    config, ours = parser.parse_args_into_dataclasses(arguments)

    users = memory_tools(GeneratorConfig(**USERS, **QUESTIONS), at_once=9)
    tokenizer = AutoTokenizer.from_pretrained(resolve(ours.model))
    if not supports_tool_calling(tokenizer):
        tokenizer.chat_template = qwen3_instruct_2507_chat_template
    trainer = GRPOTrainer(
        resolve(ours.model),
        args=config,
        train_dataset=Dataset.from_list(tasks(users)),
        processing_class=tokenizer,
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"),
        environment_factory=users,
    )
    if ours.guided:
        guide(trainer.model, tokenizer)
    trainer.train()
    trainer.save_model()
    return trainer


if __name__ == "__main__":
    main(sys.argv[1:])
