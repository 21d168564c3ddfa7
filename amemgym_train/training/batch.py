"""Rows as the tensors that TRL's GRPO loss takes."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from amemgym_train.rollout.records import Row

Tensors = dict[str, Any]


def collate(rows: Sequence[Row], pad_id: int, scale: float, lists: Sequence[str] = ()) -> Tensors:
    """One micro-batch. Prompts are padded on the left, what follows on the right.

    ``completion_ids`` (B, T) holds all from a row's first trained token on; ``completion_mask`` says which of them are there,
    ``tool_mask`` (float) is a token's weight times ``scale``, 0 where nothing is learned: TRL multiplies the loss of every token
    by both. ``advantages``, ``sampled_logps`` and the rows' fields that ``lists`` names are (B, T), too. T is at least 2: TRL
    takes a single column for one value per sequence, and would count in its figures what is padding.
    """
    cut = [row.mask.index(1) if 1 in row.mask else 0 for row in rows]

    def rest(values: Iterable[Sequence[float]], fill: float, dtype: torch.dtype) -> torch.Tensor:
        return padded([own[c:] for own, c in zip(values, cut, strict=True)], fill, dtype, least=2)

    # a padding row has one id only: TRL wants a prompt and a completion, so it stands in both
    prompts = [row.ids[:c] or [pad_id] for row, c in zip(rows, cut, strict=True)]
    return {
        "prompt_ids": padded(prompts, pad_id, torch.long, left=True),
        "prompt_mask": padded([[1] * len(ids) for ids in prompts], 0, torch.long, left=True),
        "completion_ids": rest((row.ids for row in rows), pad_id, torch.long),
        "completion_mask": rest(([1] * len(row.ids) for row in rows), 0, torch.long),
        "tool_mask": rest(([weight * scale for weight in row.weights] for row in rows), 0.0, torch.float32),
        "advantages": rest((row.advantages for row in rows), 0.0, torch.float32),
        "sampled_logps": rest((row.logprobs for row in rows), 0.0, torch.float32),
        "trained": rest((row.mask for row in rows), 0, torch.bool),
        "imitated": rest(([row.imitated] * len(row.ids) for row in rows), 0, torch.bool),
        **{name: rest((getattr(row, name) for row in rows), 0.0, torch.float32) for name in lists},
    }


def padded(
    lists: Sequence[Sequence[float]], fill: float, dtype: torch.dtype, *, left: bool = False, least: int = 1
) -> torch.Tensor:
    """(B, longest), and ``least`` at least."""
    width = max(least, *(len(entries) for entries in lists))
    fills = [[fill] * (width - len(entries)) for entries in lists]
    whole = [[*pad, *own] if left else [*own, *pad] for own, pad in zip(lists, fills, strict=True)]
    return torch.tensor(whole, dtype=dtype)
