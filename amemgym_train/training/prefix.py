"""Rows as a tree: what several rows begin with is computed once, forward and backward.

The calls of a step begin alike: the same instruction and worked examples for one operation, the same whole prompt for a group's
calls at one slot. A micro-batch is therefore one packed sequence, a node per distinct (context, token), in which every node
attends to its ancestors and its position is its depth. Each token meets exactly the context it has in its own row, so that
log-probabilities and the summed gradient are those of padded rows; only the repeated work is gone. The idea is that of prefix
trees in TRL's asynchronous GRPO (1.16) and of tree attention (SpecInfer, arXiv 2305.09781, section 4.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch
from transformers import PretrainedConfig

from amemgym_train.rollout.records import Row

NOTHING = -100  # the label of a node whose next token is not learned


@dataclass
class Tree:
    """``ids``, ``parents`` (-1: a root), ``depths`` and ``labels`` (the next token where it is learned) of each node.

    ``places`` names the nodes that predict the learned tokens, row by row in their order. A token that is followed by different
    learned tokens is a node for each of them: a node predicts one token.
    """

    ids: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a forward takes, for one sequence of N nodes: (1, N) and, the attention, (1, 1, N, N).

        ``scored`` names the nodes that predict something, M of them and at least one; ``shift_labels`` (1, M) is what they
        predict, and ``places`` are those of ``places`` among them.
        """
        scored = [node for node, label in enumerate(self.labels) if label != NOTHING] or [0]
        order = {node: place for place, node in enumerate(scored)}
        return {
            "input_ids": torch.tensor([self.ids]),
            "position_ids": torch.tensor([self.depths]),
            "attention_mask": torch.from_numpy(self.ancestors())[None, None],
            "shift_labels": torch.tensor([[self.labels[node] for node in scored]]),
            "scored": torch.tensor(scored),
            "places": torch.tensor([order[node] for node in self.places], dtype=torch.long),
        }

    def ancestors(self) -> numpy.ndarray:
        """(N, N): true where the second node is the first one, or comes before it in its row."""
        sees = numpy.zeros((len(self.ids), len(self.ids)), dtype=bool)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                sees[node] = sees[parent]
            sees[node, node] = True
        return sees


def tree(rows: Sequence[Row], pad_id: int) -> Tree:
    """The tree of ``rows``; of nothing but padding, one node that predicts nothing."""
    grown, known = Tree(), {}
    for row in rows:
        node = -1
        labels = [token if learned else NOTHING for token, learned in zip(row.ids[1:], row.mask[1:], strict=True)]
        for depth, (token, label) in enumerate(zip(row.ids, labels, strict=False)):  # the last token predicts nothing
            key = (node, token, label)
            found = known.get(key)
            if found is None:
                found = known[key] = len(grown.ids)
                _add(grown, token, node, depth, label)
            node = found
            if label != NOTHING:
                grown.places.append(node)
    if not grown.ids:
        _add(grown, pad_id, -1, 0, NOTHING)
    return grown


def takes_trees(config: PretrainedConfig) -> bool:
    """Whether a model's layers do with any attention mask: all of them attend, to everything, through torch's own attention."""
    text = config.get_text_config()
    layers = getattr(text, "layer_types", None) or ()
    windowed = getattr(text, "sliding_window", None) and getattr(text, "use_sliding_window", True) and not layers
    return text._attn_implementation == "sdpa" and not windowed and all(layer == "full_attention" for layer in layers)


def spread(values: torch.Tensor, places: torch.Tensor, trained: torch.Tensor) -> torch.Tensor:
    """(1, M) values of scored nodes as those of tokens, (B, T): at ``trained``, 0 elsewhere."""
    return values.new_zeros(trained.shape).masked_scatter(trained, values[0, places])


def score(
    model: Any,
    backbone: torch.nn.Module,
    nodes: dict[str, torch.Tensor],
    trained: torch.Tensor,
    head: torch.nn.Module | None = None,
) -> tuple[torch.Tensor, ...]:
    """Log-probabilities and entropies, (B, T), by ``model`` with TRL's fused head (``trl.trainer.utils.add_fused_lm_head``).

    ``backbone`` is the part of ``model`` below that head. The head, a large part of a small model, gets the scored nodes only. So
    does ``head``, another one on the same hidden states: its values, (B, T), come third.
    """
    values = []

    def select(module: torch.nn.Module, arguments: Any, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state[:, nodes["scored"]]
        if head is not None:  # inside the forward, where a wrapper has all weights in place
            values.append(head(output.last_hidden_state))
        return output

    hook = backbone.register_forward_hook(select)
    try:
        names = ("input_ids", "position_ids", "attention_mask", "shift_labels")
        outputs = model(**{name: nodes[name] for name in names}, fused_lm_head=True)
    finally:
        hook.remove()
    return tuple(spread(found, nodes["places"], trained) for found in (outputs.log_probs, outputs.entropy, *values))


def _add(grown: Tree, token: int, parent: int, depth: int, label: int) -> None:
    grown.ids.append(token)
    grown.parents.append(parent)
    grown.depths.append(depth)
    grown.labels.append(label)
