"""Batched decoding with a KV cache: left padding, one random stream per row, finished rows dropped.

Why not ``model.generate``: it draws a whole batch from one random stream, so a row's text would depend on its neighbours. Here
each row has its own stream, and identical prompts (the same call across a group) are prefilled once.
"""

from dataclasses import dataclass

import torch
from transformers import DynamicCache, PreTrainedModel

from amemgym_train.policy.base import Sampling

HEAD = 256  # likeliest tokens that are looked at first: of a large vocabulary hardly any draw needs more


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

    The draw inverts the cumulative distribution over tokens sorted by probability, after top-k and top-p. The logprob is that of
    the temperature-scaled distribution before any cut (temperature 1 when greedy).
    """
    logits = logits.float()
    if sampling.temperature == 0:
        token = logits.argmax(-1)
        return token, logits.log_softmax(-1).gather(-1, token[:, None])[:, 0]
    logprobs, uniform = (logits / sampling.temperature).log_softmax(-1), uniform.to(logits.device)
    vocabulary = logprobs.shape[-1]
    if sampling.top_k or vocabulary <= HEAD:
        token, _ = _draw(logprobs, min(sampling.top_k or vocabulary, vocabulary), sampling.top_p, uniform)
    else:
        token, inside = _draw(logprobs, HEAD, sampling.top_p, uniform, total=1.0)
        if not inside.all():
            token[~inside], _ = _draw(logprobs[~inside], vocabulary, sampling.top_p, uniform[~inside])
    return token, logprobs.gather(-1, token[:, None])[:, 0]


def _draw(
    logprobs: torch.Tensor, width: int, top_p: float, uniform: torch.Tensor, total: float | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens (rows,) drawn among the ``width`` likeliest, and whether no other could have been drawn.

    ``total``: the mass that ``uniform`` is a share of where nothing is cut (None: that of the ``width`` tokens).
    """
    kept = logprobs.topk(width, dim=-1)
    mass = kept.values.exp()
    reached = mass.sum(-1)
    if top_p < 1:
        mass = mass.masked_fill(mass.cumsum(-1) - mass >= top_p, 0.0)
    cumulative = mass.cumsum(-1)
    whole = cumulative[:, -1] if total is None or top_p < 1 else torch.full_like(uniform, total)
    threshold = (uniform * whole)[:, None]
    place = (cumulative <= threshold).sum(-1, keepdim=True)
    place = torch.minimum(place, (mass > 0).sum(-1, keepdim=True) - 1)  # rounding must not land on a cut token
    return kept.indices.gather(-1, place)[:, 0], reached > (top_p if top_p < 1 else threshold[:, 0])


@torch.inference_mode()
def prefill(
    model: PreTrainedModel, prompts: list[list[int]], pad_id: int
) -> tuple[DynamicCache, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The cache after ``prompts``, the logits of their last tokens (rows, vocabulary), their mask and last positions.

    What all prompts begin with (an instruction, worked examples) is computed once, and so is a prompt that occurs twice.
    """
    device = next(model.parameters()).device
    order = {prompt: place for place, prompt in enumerate(dict.fromkeys(map(tuple, prompts)))}
    shared = common_prefix(list(order))
    cache = DynamicCache(config=model.config)
    cached = {"cache": cache, "use_cache": True, "logits_to_keep": 1}
    if shared:
        model(input_ids=torch.tensor([prompts[0][:shared]], device=device), **cached)
        cache.batch_repeat_interleave(len(order))
    ids, mask = left_pad([list(prompt[shared:]) for prompt in order], pad_id, device)
    mask = torch.cat([mask.new_ones(len(order), shared), mask], dim=-1)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    out = model(input_ids=ids, attention_mask=mask, position_ids=positions[:, shared:], **cached)
    spread = torch.tensor([order[tuple(prompt)] for prompt in prompts], device=device)
    if len(order) < len(prompts):  # otherwise ``spread`` is 0, 1, 2, ...
        cache.batch_select_indices(spread)
    return cache, out.logits[spread, -1], mask[spread], positions[spread, -1:]


def common_prefix(prompts: list[tuple[int, ...]]) -> int:
    """How many first tokens all of two or more prompts share, leaving each at least one; 0 for a single prompt."""
    first, last = min(prompts), max(prompts)  # the two that differ earliest
    most = 0 if len(prompts) == 1 else min(map(len, prompts)) - 1
    return next((i for i in range(most) if first[i] != last[i]), most)


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
    cache, logits, mask, positions = prefill(model, prompts, pad_id)
    cached = {"cache": cache, "use_cache": True, "logits_to_keep": 1}
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
        out = model(input_ids=tokens[:, None], attention_mask=mask, position_ids=positions, **cached)
        logits = out.logits[:, -1]
    return draws
