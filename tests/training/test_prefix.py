"""Rows as a tree: every token in its own context and no other, and the numbers of padded rows."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM
from trl.trainer.utils import add_fused_lm_head

from amemgym_train.credit.rows import PADDING
from amemgym_train.rollout.records import Row
from amemgym_train.training.batch import collate
from amemgym_train.training.prefix import NOTHING, score, spread, takes_trees, tree

few = st.integers(1, 3)  # so that rows often begin alike


@st.composite
def a_row(draw):
    """Some tokens are learned, never the first."""
    ids = draw(st.lists(few, min_size=2, max_size=8))
    mask = [0] + draw(st.lists(st.integers(0, 1), min_size=len(ids) - 1, max_size=len(ids) - 1))
    return row(ids, mask)


def row(ids, mask):
    return Row(ids, mask, [0.0] * len(ids), "write", "write/p0/0", "e", "g", "v")


def context(grown, node):
    """The tokens from the root to a node."""
    ids = []
    while node >= 0:
        ids.append(grown.ids[node])
        node = grown.parents[node]
    return ids[::-1]


@given(st.lists(a_row(), min_size=1, max_size=6))
def test_each_learned_token_has_a_node_with_its_context(rows):
    grown = tree(rows, 0)
    wanted = [(one.ids[:i], one.ids[i]) for one in rows for i in range(len(one.ids)) if one.mask[i]]
    assert [(context(grown, node), grown.labels[node]) for node in grown.places] == wanted
    assert sum(label != NOTHING for label in grown.labels) == len(set(grown.places))


@given(st.lists(a_row(), min_size=1, max_size=6))
def test_a_node_sees_its_ancestors_and_itself(rows):
    grown = tree(rows, 0)
    sees = grown.ancestors()
    for node, depth in enumerate(grown.depths):
        seen = [other for other in range(len(grown.ids)) if sees[node, other]]
        assert [grown.ids[other] for other in seen] == context(grown, node)
        assert len(seen) == depth + 1


@given(st.lists(a_row(), min_size=1, max_size=6))
def test_nothing_is_computed_twice(rows):
    grown = tree(rows, 0)
    once = {(tuple(one.ids[: i + 1]), tuple(one.ids[j] if one.mask[j] else NOTHING for j in range(1, i + 2)))
            for one in rows for i in range(len(one.ids) - 1)}
    assert len(grown.ids) == len(once)
    assert len(tree([*rows, *rows], 0).ids) == len(grown.ids)


def test_padding_alone_is_one_node_that_predicts_nothing():
    grown = tree([PADDING, PADDING], 7)
    assert (grown.ids, grown.labels, grown.places) == ([7], [NOTHING], [])
    assert spread(torch.ones(1, 1), torch.tensor(grown.places, dtype=torch.long), torch.zeros(2, 1, dtype=torch.bool)).sum() == 0


@pytest.mark.parametrize("seed", range(3))
def test_scores_and_gradients_are_those_of_padded_rows(llama, seed):
    """At a temperature, with learned tokens between others, and with one row twice."""
    drawn = torch.Generator().manual_seed(seed)
    stem = torch.randint(1, 30, (6,), generator=drawn).tolist()
    rows = [PADDING]
    for length in (0, 3, 4, 6):
        ids = stem[:length] + torch.randint(1, 30, (5,), generator=drawn).tolist()
        rows.append(row(ids, [0] * (len(ids) - 4) + [1, 1, 0, 1]))
    rows.append(rows[-1])
    add_fused_lm_head(llama, temperature=0.7, outputs=("log_probs", "entropy"))
    inputs = collate(rows, 0, 1.0)
    trained = inputs["trained"]

    def graded(logps):
        llama.zero_grad()
        (logps * torch.arange(1, logps.numel() + 1).view(logps.shape) * trained).sum().backward()
        return torch.cat([weight.grad.flatten() for weight in llama.parameters() if weight.grad is not None])

    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    output = llama(input_ids=ids, attention_mask=mask, position_ids=positions, labels=ids, fused_lm_head=True)
    width = trained.size(1)
    padded, entropies = (x[:, -width:] * trained for x in (output.log_probs, output.entropy))
    ours, own_entropies = score(llama, llama.base_model, tree(rows, 0).tensors(), trained)
    assert torch.allclose(ours, padded, atol=1e-5) and torch.allclose(own_entropies, entropies, atol=1e-5)
    assert trained.sum() == 15 and (ours[trained] < 0).all()
    one, other = graded(padded), graded(ours)
    assert (one - other).norm() <= 1e-5 * one.norm() and one.norm() > 1e-3


def test_only_models_whose_layers_take_any_mask():
    small = {"vocab_size": 8, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    assert takes_trees(LlamaForCausalLM._from_config(LlamaConfig(**small), attn_implementation="sdpa").config)
    assert not takes_trees(LlamaForCausalLM._from_config(LlamaConfig(**small), attn_implementation="eager").config)
    for other in ({"layer_types": ["sliding_attention"]}, {"sliding_window": 4}, {"layer_types": ["linear_attention"]}):
        config = LlamaForCausalLM._from_config(LlamaConfig(**small), attn_implementation="sdpa").config
        for key, value in other.items():
            setattr(config, key, value)
        assert not takes_trees(config)
