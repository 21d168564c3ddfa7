"""Two turns, one reward at the end: every on-policy method finds the known best policy, unless the reward gets lost.

The first reply must begin with an even token, the second with an odd one; what follows it does not matter. The
untrained model is right in about half of the episodes, the best policy in all of them.
"""

import pytest

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.policy import LoraConfig
from amemgym_train.config.training import TrainingConfig
from amemgym_train.credit import batch
from amemgym_train.credit.records import Reward
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.policy.base import Request, Sampling
from amemgym_train.policy.local import LocalPolicy
from amemgym_train.rollout.records import Answer, Episode, Probe, Turn
from amemgym_train.training.dpo import train_dpo
from amemgym_train.training.grpo import train_grpo
from amemgym_train.training.lora import new_adapter
from amemgym_train.training.pairs import pairs
from amemgym_train.training.ppo import train_ppo
from amemgym_train.training.rft import select
from amemgym_train.training.sft import train_sft

EPISODES, TEMPERATURE = 64, 0.25  # a small model is unsure of everything: cold, it can become sure
SEEDS = range(3)
ESTIMATORS = ("grpo", "dr_grpo", "rloo", "reinforce_pp")
PPO = {"steps": 13, "minibatches": 1, "value_learning_rate": 1e-2}
METHODS = {
    "ppo, turns": ({"method": "ppo", "ppo": PPO}, {}),
    "ppo, tokens": ({"method": "ppo", "ppo": PPO | {"level": "token"}}, {}),
    **{name: ({"method": name, "grpo": {"steps": 13}}, {}) for name in ESTIMATORS},
}
CHOSEN = {  # what plays first and then trains on what it chose
    "rft": {"method": "rft", "keep_per_slot": EPISODES, "operations": ["read", "answer"], "batch_size": 16},
    "dpo": {"method": "dpo", "keep_per_slot": EPISODES, "batch_size": 16, "dpo": {"margin": 0.2, "beta": 0.3}},
}


def played(policy, step, seed):
    """A step's episodes. The environment's last word is no one's choice: a turn without tokens."""
    episodes = [Episode("toy", "two turns", step * EPISODES + number, f"{step}") for number in range(EPISODES)]
    for operation, asked in (("read", "first"), ("answer", "second")):
        requests = [request(policy, episode, operation, asked, seed) for episode in episodes]
        for episode, done in zip(episodes, policy.complete_batch(requests), strict=True):
            episode.turns.append(turn(operation, done.prompt_ids, done.completion_ids, done.logprobs, policy.version))
    for episode in episodes:
        first, second = (one.completion_ids[0] for one in episode.turns)
        right = first % 2 == 0 and second % 2 == 1
        episode.turns.append(turn("answer", [1], [], [], policy.version, "answer/p0/end"))
        episode.answers.append(Answer(0, 0, 2, 0, 0 if right else 1, 1))
        named = {"s": "x" if first % 2 == 0 else "y"}  # rft looks for what each call did right
        episode.probes.append(Probe(0, 0, {"s": "x"}, named, {"s": 0}, 0))
    return episodes


def request(policy, episode, operation, asked, seed):
    said = [{"role": "assistant", "content": policy.tokenizer.decode(turn.completion_ids)} for turn in episode.turns]
    messages = [*said, {"role": "user", "content": asked}]
    return Request(messages, operation, operation, Sampling(max_new_tokens=2, temperature=TEMPERATURE), episode.id, seed)


def turn(operation, prompt, completion, logprobs, version, slot=None):
    meta = {"period": 0, "policy_version": version}
    return Turn(prompt, completion, logprobs, "", "stop", operation, slot or f"{operation}/p0/q0", meta)


def share(episodes):
    return sum(answer.correct for episode in episodes for answer in episode.answers) / EPISODES


def shares(make_llama, tokenizer, folder, seed, training, credit):
    """The share of right episodes in each step of a training."""
    right = []

    def rollout(policy, step):
        episodes = played(policy, step, seed)
        right.append(share(episodes))
        return episodes

    settings = {"learning_rate": 5e-3, "batch_size": 2 * EPISODES, "scheduler": "constant_with_warmup", "warmup_ratio": 0}
    method = training["method"]
    section = "ppo" if method == "ppo" else "grpo"
    config = TrainingConfig.model_validate(settings | training | {section: training[section] | {"save_steps": 0}})
    arguments = (
        new_adapter(make_llama(), LoraConfig(r=4, alpha=8), seed),
        tokenizer,
        rollout,
        CreditConfig(scheme="outcome", operations=["read", "answer"], **credit),
        config,
        folder,
        seed,
    )
    limits = {"rows_per_process": 2 * EPISODES, "longest": 2, "temperature": TEMPERATURE, "max_prompts": EPISODES}
    if method == "ppo":
        train_ppo(*arguments, start=None, **limits)
    else:
        train_grpo(*arguments, **limits)
    return right


def check_solved(right):
    assert right[0] < 0.6
    assert sum(right[-3:]) / 3 > 0.85


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_best_policy(make_llama, tokenizer, tmp_path, method, seed):
    training, credit = METHODS[method]
    check_solved(shares(make_llama, tokenizer, tmp_path, seed, training, credit))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", CHOSEN)
def test_methods_that_choose_from_what_was_played_find_it_too(make_llama, tokenizer, tmp_path, method, seed):
    model = new_adapter(make_llama(), LoraConfig(r=4, alpha=8), seed)
    config = TrainingConfig.model_validate(CHOSEN[method] | {"learning_rate": 5e-3, "warmup_ratio": 0})
    credit, right = CreditConfig(scheme="outcome", operations=["read", "answer"]), []
    for step in range(13):
        episodes = played(LocalPolicy(model, tokenizer, f"step-{step}", EPISODES), step, seed)
        right.append(share(episodes))
        diagnoses = {episode.id: diagnose(episode) for episode in episodes}
        if method == "rft":
            train_sft(model, tokenizer, select(episodes, diagnoses, config), config, tmp_path, seed)
        else:
            train_dpo(model, tokenizer, pairs(episodes, diagnoses, credit, config), config, tmp_path, seed)
    check_solved(right)


def test_a_reward_on_a_masked_token_teaches_nothing(make_llama, tokenizer, tmp_path, monkeypatch):
    """What PPO of other frameworks does: the reward stands where the episode ends, on a token that nobody learns."""

    def lost(episode, diagnosis, config):
        rewards = per_turn(episode, diagnosis, config)
        earned = sum(reward.value for reward in rewards.values() if reward)
        return {index: Reward(earned if index == max(rewards) else 0.0, "") for index in rewards}

    per_turn = batch.per_turn
    monkeypatch.setattr(batch, "per_turn", lost)
    right = shares(make_llama, tokenizer, tmp_path, 0, *METHODS["ppo, turns"])
    with pytest.raises(AssertionError):
        check_solved(right)
