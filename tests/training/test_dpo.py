"""Pairs for DPO, and DPO on them: the loss by hand, and only the adapter learns."""

import math

import pytest
import torch

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.policy import LoraConfig
from amemgym_train.config.training import DPOSettings, TrainingConfig
from amemgym_train.credit.rewards import Reward, rewarded
from amemgym_train.rollout.records import Turn
from amemgym_train.training.dpo import train_dpo
from amemgym_train.training.lora import load_adapter, new_adapter, save_adapter
from amemgym_train.training.pairs import Pair, Reply, pairs

CREDIT = CreditConfig()
CONFIG = TrainingConfig(method="dpo", keep_per_slot=6)


def test_a_pair_is_two_replies_to_one_prompt_of_which_the_better_is_chosen(episodes, diagnoses):
    made = pairs(episodes, diagnoses, CREDIT, CONFIG)
    assert {pair.operation for pair in made} == {"write", "read", "answer"}
    earned = {}  # what each reply to each prompt earned, over all that drew it
    for episode in episodes:
        for index, reward in rewarded(episode, diagnoses[episode.id], CREDIT).items():
            turn = episode.turns[index]
            if reward is not None:
                key = (episode.group, turn.slot, tuple(turn.prompt_ids), tuple(turn.completion_ids))
                earned.setdefault(key, []).append(reward.value)
    groups = {episode.id: episode.group for episode in episodes}
    for pair in made:
        (chosen, rejected), values = (pair.chosen, pair.rejected), []
        assert chosen.turn.prompt_ids == rejected.turn.prompt_ids and chosen.turn.slot == rejected.turn.slot
        assert groups[chosen.episode] == groups[rejected.episode]
        assert chosen.turn.finish_reason == "stop" and chosen.turn.text != "none of it"
        for one in (chosen, rejected):
            key = (groups[one.episode], one.turn.slot, tuple(one.turn.prompt_ids), tuple(one.turn.completion_ids))
            values.append(sum(earned[key]) / len(earned[key]))
        assert [chosen.reward.value, rejected.reward.value] == pytest.approx(values)
        assert values[0] - values[1] >= CONFIG.dpo.margin


@pytest.mark.parametrize("kept", [1, 2])
def test_a_slot_keeps_its_widest_pairs_and_no_more_than_asked_for(episodes, diagnoses, kept):
    config = CONFIG.model_copy(update={"keep_per_slot": kept, "dpo": DPOSettings(margin=0.1)})
    slots = {}
    for pair in pairs(episodes, diagnoses, CREDIT, config):
        slots.setdefault((pair.chosen.episode.rpartition("/")[0], pair.chosen.turn.slot), []).append(pair)
    assert max(map(len, slots.values())) == kept
    whole = pairs(episodes, diagnoses, CREDIT, config.model_copy(update={"keep_per_slot": 6}))
    for (task, slot), own in slots.items():
        gaps = sorted(
            p.rejected.reward.value - p.chosen.reward.value
            for p in whole
            if p.chosen.episode.startswith(task + "/") and p.chosen.turn.slot == slot
        )
        assert sorted(p.rejected.reward.value - p.chosen.reward.value for p in own) == pytest.approx(gaps[: len(own)])
        assert len(own) == min(kept, len(gaps))


def test_a_margin_operations_and_a_bound_leave_pairs_out(episodes, diagnoses):
    everything = pairs(episodes, diagnoses, CREDIT, CONFIG)
    assert pairs(episodes, diagnoses, CREDIT, CONFIG.model_copy(update={"dpo": DPOSettings(margin=9)})) == []
    reads = pairs(episodes, diagnoses, CreditConfig(operations=["read"]), CONFIG)
    assert {pair.operation for pair in reads} == {"read"}
    bounded = pairs(episodes, diagnoses, CREDIT, CONFIG.model_copy(update={"max_rows": 6}))
    kinds = [pair.operation for pair in bounded]
    assert len(bounded) == 6 < len(everything) and all(kinds.count(kind) == 2 for kind in ("write", "read", "answer"))
    assert pairs(episodes, {}, CREDIT, CONFIG) == []  # unscorable episodes teach nothing


def reply(prompt, completion, value):
    return Reply("e", Turn(prompt, completion, [-1.0] * len(completion), "", "stop", "answer", "answer/p0/q0"), Reward(value, ""))


def test_a_broken_reply_is_never_chosen_and_costs_no_pair(episodes, diagnoses, monkeypatch):
    """Rewards by hand for the first writes of a group, which have one prompt: pairs are made from the outside in."""
    group = episodes[0].group
    mine = [episode for episode in episodes if episode.group == group]
    slot = next(turn.slot for turn in mine[0].turns if turn.operation == "write")
    turns = {episode.id: next(turn for turn in episode.turns if turn.slot == slot) for episode in mine}
    earned = [1.0, 0.9, 0.7, 0.4, 0.2, 0.0]
    for number, turn in enumerate(turns.values()):
        turn_of = {"completion_ids": [7, number], "finish_reason": "length" if number in (0, 4) else "stop"}
        for name, value in turn_of.items():
            monkeypatch.setattr(turn, name, value)
        monkeypatch.setitem(turn.meta, "parsed", "strict")
    given = dict(zip(turns, earned, strict=True))

    def scheme(episode, diagnosis, config):
        index = next((i for i, turn in enumerate(episode.turns) if turn.slot == slot), None)
        return {index: Reward(given[episode.id], "")} if episode.id in given else {}

    monkeypatch.setattr("amemgym_train.training.pairs.rewarded", scheme)
    for margin, expected in ((0.4, [(0.9, 0.0), (0.7, 0.2)]), (0.8, [(0.9, 0.0)]), (0.01, [(0.9, 0.0), (0.7, 0.2)])):
        made = pairs(episodes, diagnoses, CREDIT, CONFIG.model_copy(update={"dpo": DPOSettings(margin=margin)}))
        assert [(pair.chosen.reward.value, pair.rejected.reward.value) for pair in made] == expected


@pytest.fixture
def drawn(tokenizer):
    """Three pairs of random tokens, of different lengths."""
    draw = torch.Generator().manual_seed(3)

    def ids(length):
        return torch.randint(1, len(tokenizer), (length,), generator=draw).tolist()

    prompts = [ids(length) for length in (4, 7, 5)]
    lengths = [(3, 2), (1, 4), (2, 2)]
    return [Pair(reply(p, ids(a), 1.0), reply(p, ids(b), 0.0)) for p, (a, b) in zip(prompts, lengths, strict=True)]


@torch.inference_mode()
def logp(model, turn):
    """log p of a completion, alone and unpadded."""
    model.eval()
    logprobs = model(input_ids=torch.tensor([turn.prompt_ids + turn.completion_ids])).logits[0].log_softmax(-1)
    start = len(turn.prompt_ids) - 1
    return sum(float(logprobs[start + i, token]) for i, token in enumerate(turn.completion_ids))


def gaps(model, drawn):
    return [logp(model, pair.chosen.turn) - logp(model, pair.rejected.turn) for pair in drawn]


@pytest.mark.parametrize("saved", [False, True], ids=["a new adapter", "one that is trained on"])
def test_the_loss_of_pairs_by_hand(make_llama, tokenizer, model, drawn, tmp_path, saved):
    """The reference is what training began with; the first batch's loss is log 2, the second epoch's that of the moved policy."""
    save_adapter(model, tmp_path / "adapter")
    config = TrainingConfig(method="dpo", learning_rate=3e-3, batch_size=3, epochs=2, warmup_ratio=0, logging_steps=1)

    def start():
        return load_adapter(make_llama(), tmp_path / "adapter", True) if saved else new_adapter(make_llama(), LoraConfig(), 0)

    policy = start()
    once = config.model_copy(update={"epochs": 1, "scheduler": "constant_with_warmup"})
    train_dpo(policy, tokenizer, drawn, once, tmp_path / "once", 0)
    moved, before = gaps(policy, drawn), gaps(start(), drawn)
    twice = config.model_copy(update={"scheduler": "constant_with_warmup"})
    metrics = train_dpo(start(), tokenizer, drawn, twice, tmp_path / "twice", 0)
    losses = [entry["loss"] for entry in metrics["log"] if "loss" in entry]
    beta = config.dpo.beta
    by_hand = [math.log1p(math.exp(-beta * (new - old))) for new, old in zip(moved, before, strict=True)]
    assert losses == pytest.approx([math.log(2), sum(by_hand) / 3], abs=2e-4)
    assert abs(sum(by_hand) / 3 - math.log(2)) > 1e-3
    assert (metrics["pairs"], metrics["steps"], metrics["margin"]) == (3, 2, 1.0)


def test_what_is_chosen_gets_likelier_and_nothing_but_the_adapter_changes(make_llama, tokenizer, drawn, tmp_path):
    model = new_adapter(make_llama(), LoraConfig(r=4, alpha=8), 0)
    before = gaps(model, drawn)
    config = TrainingConfig(method="dpo", learning_rate=1e-2, batch_size=3, epochs=15, warmup_ratio=0)
    assert train_dpo(model, tokenizer, drawn, config, tmp_path / "trainer", 0)["preferred"] == 1.0
    assert all(new > old + 1 for new, old in zip(gaps(model, drawn), before, strict=True))
    assert list(model.peft_config) == ["default"]  # the reference is gone
    save_adapter(model, tmp_path / "adapter")
    assert sorted(path.name for path in (tmp_path / "adapter").iterdir() if path.is_dir()) == []
    again = load_adapter(make_llama(), tmp_path / "adapter")
    assert gaps(again, drawn) == pytest.approx(gaps(model, drawn), abs=1e-5)
    fresh = make_llama().state_dict()
    assert all(torch.equal(weight, fresh[name]) for name, weight in model.unload().state_dict().items())
