"""Rows as the tensors that TRL's GRPO loss takes."""

from collections.abc import Sequence
from typing import Any

import torch

from amemgym_train.rollout.records import Row

Tensors = dict[str, Any]


def collate(rows: Sequence[Row], pad_id: int, scale: float, lists: Sequence[str] = ()) -> Tensors:
    """One micro-batch. Prompts are padded on the left, what follows on the right.

    ``completion_ids`` (B, T) holds all from a row's first trained token on; ``completion_mask`` says which of them are there,
    ``tool_mask`` (float) is a token's weight times ``scale``, 0 where nothing is learned: TRL multiplies the loss of every token
    by both. ``advantages`` and ``sampled_logps`` are (B, T), too, and so are
    the rows' fields that ``lists`` names.
    """
    cut = [row.mask.index(1) if 1 in row.mask else 0 for row in rows]
    # a padding row has one id only: TRL wants a prompt and a completion, so it stands in both
    prompts = [row.ids[:c] or [pad_id] for row, c in zip(rows, cut, strict=True)]
    rest = [row.ids[c:] for row, c in zip(rows, cut, strict=True)]
    weights = [[w * scale for w in row.weights[c:]] for row, c in zip(rows, cut, strict=True)]
    advantages = [row.advantages[c:] for row, c in zip(rows, cut, strict=True)]
    return {
        "prompt_ids": padded(prompts, pad_id, torch.long, left=True),
        "prompt_mask": padded([[1] * len(ids) for ids in prompts], 0, torch.long, left=True),
        "completion_ids": padded(rest, pad_id, torch.long),
        "completion_mask": padded([[1] * len(ids) for ids in rest], 0, torch.long),
        "tool_mask": padded(weights, 0.0, torch.float32),
        "advantages": padded(advantages, 0.0, torch.float32),
        "sampled_logps": padded([row.logprobs[c:] for row, c in zip(rows, cut, strict=True)], 0.0, torch.float32),
        "trained": padded([row.mask[c:] for row, c in zip(rows, cut, strict=True)], 0, torch.bool),
        **{
            name: padded([getattr(row, name)[c:] for row, c in zip(rows, cut, strict=True)], 0.0, torch.float32) for name in lists
        },
    }


def padded(lists: Sequence[Sequence[float]], fill: float, dtype: torch.dtype, *, left: bool = False) -> torch.Tensor:
    """(B, longest)."""
    width = max(len(entries) for entries in lists)
    full = torch.full((len(lists), width), fill, dtype=dtype)
    for i, entries in enumerate(lists):
        place = slice(width - len(entries), None) if left else slice(0, len(entries))
        full[i, place] = torch.tensor(entries, dtype=dtype)
    return full
