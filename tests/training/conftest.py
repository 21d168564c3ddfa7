"""The tiny Llama of all tests, with an adapter to train, and episodes of which some calls went wrong."""

import random
from dataclasses import replace

import pytest
import torch

from amemgym_train.agents import build_agent
from amemgym_train.config.policy import LoraConfig
from amemgym_train.config.recipe import Recipe
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.evaluation.controls import GREEDY, environment
from amemgym_train.policy.oracle import OraclePolicy
from amemgym_train.rollout.runner import Task, play
from amemgym_train.training.lora import new_adapter

USERS = {"num_users": 3, "num_variables": 4, "num_questions": 4, "num_periods": 2, "num_changes_per_period": 1}
RECIPE = Recipe.model_validate(
    {"name": "x", "agent": {"local_length": 0, "flush": "period", "respond": "fixed"}, "scenarios": {"train": USERS}}
)


@pytest.fixture
def model(llama):
    """With an adapter whose every weight has a gradient: a fresh one is zero on one side."""
    adapted = new_adapter(llama, LoraConfig(r=4, alpha=8), 0)
    move(adapted, "lora_B", 0.05, seed=1)
    return adapted


@torch.no_grad()
def move(model, name, size, seed):
    """Add noise of ``size`` to the weights whose names hold ``name``."""
    drawn = torch.Generator().manual_seed(seed)
    for own, weight in model.named_parameters():
        if name in own:
            weight.add_(size * torch.randn(weight.shape, generator=drawn))


@pytest.fixture(scope="session")
def moved():
    return move


class Noisy(OraclePolicy):
    """The oracle with mistakes, odd but equal replies, and replies that are cut off; its ids are those of single characters."""

    async def complete(self, request):
        completion = await super().complete(request)
        draw = random.Random(f"{request.episode}/{request.slot}")
        text = draw.choices([completion.text, "{}", "none of it"], [7, 2, 1])[0]
        if draw.random() < 0.3:  # valid too, or only after a repair
            text = draw.choice([text.replace(": ", ":"), text.replace('"', "'")])
        reason = draw.choices(["stop", "length"], [8, 2])[0]
        ids = [self.tokenizer.convert_tokens_to_ids(char) for char in text] + [self.tokenizer.eos_token_id] * (reason == "stop")
        logprobs = [-draw.random() for _ in ids]
        return replace(completion, completion_ids=ids, logprobs=logprobs, text=text, finish_reason=reason)


@pytest.fixture(scope="module")
def episodes(tokenizer):
    users = {user.id: user for user in RECIPE.scenarios.train.build()}
    return play(
        environment(RECIPE, "train", list(users.values())),
        [Task(name, name, number) for name in users for number in range(6)],
        lambda task, episode, seed: build_agent(RECIPE.agent, Noisy(users[task.id], tokenizer), episode, seed, GREEDY),
        label=None,
    )


@pytest.fixture(scope="module")
def diagnoses(episodes):
    return {episode.id: diagnose(episode) for episode in episodes}
