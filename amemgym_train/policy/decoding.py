"""Batched decoding with a KV cache: left padding, one random stream per row, finished rows dropped.

Why not ``model.generate``: it draws a whole batch from one random stream, so a row's text would depend on its neighbours. Here
each row has its own stream, and identical prompts (the same call across a group) are prefilled once.
"""

from dataclasses import dataclass

import torch
from transformers import DynamicCache, PreTrainedModel

from amemgym_train.policy.base import Sampling


@dataclass
class Draw:
    """What one row drew: ids (the end token included when drawn), one logprob each, stop | length."""

    ids: list[int]
    logprobs: list[float]
    finish_reason: str


def left_pad(rows: list[list[int]], pad_id: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """(rows, width) token ids padded on the left, and their attention mask."""
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), pad_id, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, width - len(row) :] = torch.tensor(row)
        mask[i, width - len(row) :] = 1
    return ids.to(device), mask.to(device)


def uniforms(seeds: list[int], length: int) -> torch.Tensor:
    """(rows, length) draws from U(0, 1), each row from its own seed."""
    return torch.stack([torch.rand(length, generator=torch.Generator().manual_seed(seed)) for seed in seeds])


def pick(logits: torch.Tensor, sampling: Sampling, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and logprobs, each (rows,), from logits (rows, vocabulary) and one uniform number per row.

    The draw inverts the cumulative distribution over tokens sorted by probability, after top-k and top-p. The logprob is that of the
    temperature-scaled distribution before any cut (temperature 1 when greedy).
    """
    logits = logits.float()
    if sampling.temperature == 0:
        token = logits.argmax(-1)
        return token, logits.log_softmax(-1).gather(-1, token[:, None])[:, 0]
    logprobs = (logits / sampling.temperature).log_softmax(-1)
    kept = logprobs.topk(sampling.top_k or logprobs.shape[-1], dim=-1)
    mass = kept.values.exp()
    mass = mass.masked_fill(mass.cumsum(-1) - mass >= sampling.top_p, 0.0)
    cumulative = mass.cumsum(-1)
    threshold = uniform.to(logits.device)[:, None] * cumulative[:, -1:]
    place = (cumulative <= threshold).sum(-1, keepdim=True).clamp(max=int(mass.shape[-1]) - 1)
    place = torch.minimum(place, (mass > 0).sum(-1, keepdim=True) - 1)  # rounding must not land on a cut token
    token = kept.indices.gather(-1, place)[:, 0]
    return token, logprobs.gather(-1, token[:, None])[:, 0]


@torch.inference_mode()
def decode(
    model: PreTrainedModel,
    prompts: list[list[int]],
    sampling: Sampling,
    limits: list[int],
    seeds: list[int],
    eos_ids: set[int],
    pad_id: int,
) -> list[Draw]:
    """Decode one padded batch. ``limits`` holds each row's maximum of new tokens; ``sampling.max_new_tokens`` is not read."""
    device = next(model.parameters()).device
    order: dict[tuple[int, ...], int] = {}
    for prompt in prompts:
        order.setdefault(tuple(prompt), len(order))
    ids, mask = left_pad([list(prompt) for prompt in order], pad_id, device)
    cache = DynamicCache(config=model.config)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    out = model(input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True, logits_to_keep=1)
    spread = torch.tensor([order[tuple(prompt)] for prompt in prompts], device=device)
    if len(order) < len(prompts):  # otherwise ``spread`` is 0, 1, 2, ...
        cache.batch_select_indices(spread)
    logits, mask, positions = out.logits[spread, -1], mask[spread], positions[spread, -1:]

    draws = [Draw([], [], "length") for _ in prompts]
    numbers = uniforms(seeds, max(limits))
    alive = list(range(len(prompts)))
    for step in range(max(limits)):
        tokens, logprobs = pick(logits, sampling, numbers[alive, step])
        going = []
        for place, row in enumerate(alive):
            draw = draws[row]
            draw.ids.append(int(tokens[place]))
            draw.logprobs.append(float(logprobs[place]))
            if draw.ids[-1] in eos_ids:
                draw.finish_reason = "stop"
            elif len(draw.ids) < limits[row]:
                going.append(place)
        if not going:
            break
        if len(going) < len(alive):
            select = torch.tensor(going, device=device)
            cache.batch_select_indices(select)
            mask, positions, tokens = mask[select], positions[select], tokens[select]
            alive = [alive[place] for place in going]
        mask = torch.cat([mask, mask.new_ones(len(alive), 1)], dim=-1)
        positions = positions + 1
        out = model(
            input_ids=tokens[:, None], attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True, logits_to_keep=1
        )
        logits = out.logits[:, -1]
    return draws
