"""Imitation in the steps of a policy gradient: its gradient is that of supervised fine-tuning, and nothing else feels it."""

from dataclasses import replace

import pytest
import torch

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.training import GRPOSettings, TrainingConfig
from amemgym_train.credit.batch import Credited
from amemgym_train.rollout.records import Row
from amemgym_train.training.arguments import arguments_of
from amemgym_train.training.grpo import EpisodeGRPO
from amemgym_train.training.imitation import imitation_rows
from amemgym_train.training.rft import candidates

WEIGHT = 0.3
SETTINGS = {
    "once": GRPOSettings(),
    "several updates": GRPOSettings(epochs=2),
    "towards the base": GRPOSettings(beta=0.2),
    "row by row": GRPOSettings(share_prefixes=False, epochs=2, beta=0.2),
}


@pytest.fixture(scope="module")
def learned(episodes):
    return imitation_rows(episodes, ["write", "answer"], WEIGHT)


def test_what_is_imitated_is_what_rft_would_keep_and_each_try_counts_once(episodes, diagnoses, learned):
    earned = {(e.id, one.turn.slot) for e in episodes for one in candidates(e, diagnoses[e.id]) if one.turn.operation != "read"}
    assert {(row.episode, row.slot) for row in learned} == earned and earned
    for name in {row.episode for row in learned}:
        assert sum(sum(row.weights) for row in learned if row.episode == name) == pytest.approx(1)
    assert all(row.imitated and set(row.advantages) == {0, WEIGHT} and not any(row.logprobs) for row in learned)
    broken = [replace(episode, error="OSError: gone") for episode in episodes]
    assert imitation_rows(broken, ["write"], WEIGHT) == []


def gradient(model, tokenizer, folder, rows, settings, episodes):
    training = TrainingConfig(method="grpo", batch_size=2 * len(rows), learning_rate=1e-3, grpo=settings)
    made = EpisodeGRPO(
        model,
        tokenizer,
        lambda policy, step: [],
        CreditConfig(),
        training,
        arguments_of(training, folder, 0, 1, 64, 1.0, on_cpu=True),
        max_prompts=8,
        max_unscorable=0.1,
        imitate=lambda policy, step, episodes: ([], {}),
    )
    made.current_gradient_accumulation_steps = 1
    tokens = sum(sum(row.mask) for row in rows)
    made._play = lambda step: Credited([rows] * settings.epochs, tokens, tokens / episodes)
    made.model.zero_grad()
    made._step = settings.epochs - 1  # of several updates the last, whose ratios are not 1 by themselves
    made._compute_loss(made.model, made._prepare_inputs({})).backward()
    gap = made._metrics["train"].get("sampler_gap/max", [0.0])
    return torch.cat([p.grad.flatten() for p in made.model.parameters() if p.requires_grad]).clone(), gap


def supervised(model, rows, episodes):
    """weight / E * sum over tries of 1 / R * mean over tokens of -log p, by hand."""
    model.zero_grad()
    total = 0.0
    for row in rows:
        ids, mask = torch.tensor([row.ids]), torch.tensor(row.mask, dtype=torch.bool)
        logps = model(input_ids=ids).logits[0, :-1].log_softmax(-1)
        picked = logps.gather(-1, ids[0, 1:, None])[:, 0][mask[1:]]
        calls = sum(other.episode == row.episode for other in rows)
        total = total - WEIGHT / episodes * picked.mean() / calls
    total.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.requires_grad]).clone()


@pytest.mark.parametrize("name", SETTINGS)
def test_its_gradient_is_that_of_supervised_fine_tuning_at_every_update(model, tokenizer, learned, tmp_path, name):
    rows = [row for row in learned if row.episode in {learned[0].episode, learned[-1].episode}]
    ours, gap = gradient(model, tokenizer, tmp_path, rows, SETTINGS[name], 5)
    theirs = supervised(model, rows, 5)
    assert theirs.norm() > 1e-5 and (ours - theirs).norm() <= 1e-4 * theirs.norm()
    assert gap in ([0.0], [])  # what was drawn with another prompt says nothing of the sampler


def test_beside_it_the_policy_gradient_is_what_it_was(model, tokenizer, learned, tmp_path):
    prompt, reply = [3, 4, 5], [6, 7]
    mask = [0] * 3 + [1] * 2
    plain = Row([*prompt, *reply], mask, [0.0] * 3 + [-2.0] * 2, "answer", "answer/p0/q0", "a", "g", "v", 0.7, 0.5)
    settings = GRPOSettings(max_logprob_gap=50)
    alone, _ = gradient(model, tokenizer, tmp_path, [plain], settings, 2)
    beside, _ = gradient(model, tokenizer, tmp_path, [plain, *learned[:2]], settings, 2)
    imitated, _ = gradient(model, tokenizer, tmp_path, learned[:2], settings, 2)
    assert (beside - alone - imitated).norm() <= 1e-4 * beside.norm() and alone.norm() > 1e-5
