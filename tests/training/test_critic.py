"""The value head: one value per token's state whichever way rows are computed, kept beside the adapter, and no part of it."""

import pytest
import torch
from peft import PeftModel
from trl.trainer.utils import add_fused_lm_head

from amemgym_train.config.on_policy import PPOSettings
from amemgym_train.config.policy import LoraConfig
from amemgym_train.credit.rows import PADDING
from amemgym_train.errors import UserError
from amemgym_train.rollout.records import Row
from amemgym_train.training.batch import collate
from amemgym_train.training.critic import (
    FILE,
    HeadState,
    ValueHead,
    attach,
    heard,
    judging,
    keep_training,
    load_head,
    save_head,
)
from amemgym_train.training.lora import load_adapter, new_adapter, save_adapter
from amemgym_train.training.prefix import score, tree


@pytest.fixture
def model(llama):
    return new_adapter(llama, LoraConfig(r=4, alpha=8), 0)


def drawn(head, seed=0):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in head.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator))
    return head


def weights_of(model):
    return {name: weight.detach() for name, weight in model.named_parameters() if weight.requires_grad}


def test_a_new_head_says_nothing_in_float32(model):
    head = attach(model, PPOSettings())
    values = head(torch.ones(2, 3, model.config.hidden_size, dtype=torch.bfloat16))
    assert values.shape == (2, 3) and values.dtype == torch.float32 and not values.any()
    assert {"value_head.weight", "value_head.bias"} < set(weights_of(model))


@pytest.mark.parametrize("trunk", ["shared", "detached"])
def test_the_trunk_learns_from_the_critic_unless_it_is_detached(model, trunk):
    head = drawn(attach(model, PPOSettings(value_trunk=trunk)))
    hidden = torch.ones(1, model.config.hidden_size, requires_grad=True)
    head(hidden).sum().backward()
    assert head.weight.grad.abs().sum() > 0
    assert (hidden.grad is not None) == (trunk == "shared")


def test_values_have_an_origin_and_a_unit(model):
    head = drawn(attach(model, PPOSettings()))
    hidden = torch.ones(3, model.config.hidden_size)
    plain = head(hidden)
    head.state = HeadState(mean=5.0, scale=3.0)
    assert torch.allclose(head(hidden), 5 + 3 * plain) and plain.abs().max() > 0.1


def test_values_of_a_tree_are_those_of_padded_rows(llama):
    """Value and gradient of the state before each learned token, with rows of several completions and of one that is twice."""
    head = drawn(ValueHead(llama.config.hidden_size))
    ids = [[3, 4, 5, 6, 7], [3, 4, 5, 8], [3, 4, 5, 6, 7], [9, 4, 2, 2, 1, 6, 3]]
    masks = [[0, 0, 1, 0, 1], [0, 0, 0, 1], [0, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1, 1]]
    rows = [PADDING, *(Row(i, m, [0.0] * len(i), "write", "s", "e", "g", "v") for i, m in zip(ids, masks, strict=True))]
    add_fused_lm_head(llama, outputs=("log_probs", "entropy"))
    inputs = collate(rows, 0, 1.0)
    trained = inputs["trained"]
    *_, ours = score(llama, llama.base_model, tree(rows, 0).tensors(), trained, head)
    whole = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    with heard(llama.base_model, head, trained.size(1)) as values:
        llama(input_ids=whole, attention_mask=mask, labels=whole, fused_lm_head=True)
    (padded,) = values
    assert torch.allclose(ours, padded * trained, atol=1e-5) and trained.sum() == 9
    for row, found in zip(rows[1:], padded[1:], strict=True):  # each by itself, with no padding and no head but this one
        hidden = llama.base_model(torch.tensor([row.ids])).last_hidden_state
        wanted = head(hidden)[0, [i - 1 for i, learned in enumerate(row.mask) if learned]]
        cut = row.mask.index(1)
        assert torch.allclose(found[: len(row.ids) - cut][torch.tensor(row.mask[cut:]) > 0], wanted, atol=1e-5)


def test_a_head_comes_back_with_its_state_and_equal_bytes(model, tmp_path):
    head = drawn(attach(model, PPOSettings()))
    state = HeadState(0.1 + 0.2, -1 / 3, 7.0)
    save_head(weights_of(model), tmp_path, state)
    again = attach(model, PPOSettings(kl_coef=0.7))
    assert again.state == HeadState(0.7)
    load_head(model, tmp_path)
    assert again.state == state
    assert torch.equal(again.weight, head.weight) and torch.equal(again.bias, head.bias)
    first = (tmp_path / FILE).read_bytes()
    save_head(weights_of(model), tmp_path, state)
    assert (tmp_path / FILE).read_bytes() == first


def test_an_adapter_with_a_head_beside_it_is_still_an_adapter(model, make_llama, tmp_path):
    drawn(attach(model, PPOSettings()))
    save_adapter(model, tmp_path)
    alone = (tmp_path / "adapter_model.safetensors").read_bytes()
    save_head(weights_of(model), tmp_path, HeadState())
    assert b"value_head" not in alone and (tmp_path / "adapter_model.safetensors").read_bytes() == alone
    for loaded in (load_adapter(make_llama(), tmp_path), PeftModel.from_pretrained(make_llama(), str(tmp_path))):
        assert not hasattr(loaded, "value_head")


def test_a_head_of_another_model_is_refused(model, make_llama, tmp_path):
    attach(model, PPOSettings())
    save_head(weights_of(model), tmp_path, HeadState())
    with pytest.raises(UserError, match="value_head.safetensors does not load as the value head of this model"):
        model.value_head = ValueHead(8)
        load_head(model, tmp_path)
    attach(model, PPOSettings(value_trunk="adapter"))
    with pytest.raises(UserError, match="has 0 weights of an adapter, training.ppo.value_trunk asks for"):
        load_head(model, tmp_path)
    (tmp_path / FILE).write_bytes(b"no head")
    with pytest.raises(UserError, match="Delete it to start with a new critic"):
        load_head(model, tmp_path)


@pytest.fixture
def two(model, moved):
    """With a critic's adapter that differs from the policy's, and the output of both for some ids."""
    drawn(attach(model, PPOSettings(value_trunk="adapter")))
    moved(model, ".critic.weight", 0.1, seed=5)
    return model


def answers(model):
    ids = torch.arange(1, 9)[None]
    plain = model(input_ids=ids).logits
    with judging(model):
        judged = model(input_ids=ids).logits
    return plain, judged


def test_the_critics_adapter_begins_as_the_policys_and_both_are_trained(model):
    policy = model(input_ids=torch.arange(1, 9)[None]).logits
    attach(model, PPOSettings(value_trunk="adapter"))
    assert all(torch.equal(one, policy) for one in answers(model))
    names = set(weights_of(model))
    policys = {name for name in names if ".default." in name}
    assert {name.replace(".critic.", ".default.") for name in names if ".critic." in name} == policys
    with model.disable_adapter():
        pass
    assert not any(".critic." in name for name in weights_of(model))  # what PEFT does, and why it is undone
    keep_training(model)
    assert set(weights_of(model)) == names


def test_the_critics_adapter_answers_only_where_it_is_asked_to(two):
    plain, judged = answers(two)
    assert (plain - judged).abs().max() > 1e-2
    again, _ = answers(two)
    assert torch.equal(again, plain)
    judged.sum().backward()
    touched = {name for name, weight in two.named_parameters() if weight.grad is not None and weight.grad.any()}
    assert touched and all(".critic." in name for name in touched)


def test_the_critics_adapter_is_kept_with_the_head_and_not_with_the_policys(two, make_llama, tmp_path):
    save_adapter(two, tmp_path)
    save_head(weights_of(two), tmp_path, HeadState())
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    again = load_adapter(make_llama(), tmp_path, trainable=True)
    attach(again, PPOSettings(value_trunk="adapter"))
    load_head(again, tmp_path)
    for ours, theirs in zip(answers(again), answers(two), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)
