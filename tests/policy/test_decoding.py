from itertools import combinations

import pytest
import torch

from amemgym_train.policy.base import Sampling
from amemgym_train.policy.decoding import common_prefix, decode, left_pad, pick, uniforms

GREEDY = Sampling(temperature=0)
WARM = Sampling(temperature=0.7, top_k=20, top_p=0.9)
LENGTHS = [3, 9, 1, 14, 6, 9, 2, 11]
LIMITS = [12, 3, 20, 8, 15, 20, 1, 20]
BATCHES = {  # how many first tokens all share, and which prompts are in the batch
    "distinct": (0, list(range(8))),
    "one twice": (0, [0, 1, 2, 3, 4, 5, 6, 0]),
    "repeated": (0, [0, 1, 0, 3, 3, 1, 0, 7]),
    "all the same": (0, [4] * 8),
    "with a common beginning": (5, list(range(8))),
    "repeated, with a common beginning": (5, [0, 1, 0, 3, 3, 1, 0, 7]),
    "with a common beginning that is all of one": (5, [8, 1, 2, 3, 4, 5, 6, 7]),
}


@pytest.fixture(params=BATCHES.values(), ids=BATCHES)
def prompts(tokenizer, request):
    """Eight prompts of different lengths; the ninth to choose from is empty but for the common beginning."""
    drawn = torch.Generator().manual_seed(1)
    shared, rows = request.param
    beginning, *others = [
        torch.randint(1, len(tokenizer), (length,), generator=drawn).tolist() for length in [shared, *LENGTHS, 0]
    ]
    return [beginning + others[row] for row in rows]


@pytest.fixture
def ends(tokenizer):
    """Every fourth token ends a reply, so that the rows of a batch stop at different times."""
    return set(range(0, len(tokenizer), 4))


def draw(model, prompts, sampling, ends, limits=LIMITS, seeds=range(100, 108)):
    return decode(model, prompts, sampling, list(limits), list(seeds), ends, pad_id=0)


@torch.inference_mode()
def after(model, ids):
    """The logits of the token after ``ids``, without padding or cache."""
    return model(input_ids=torch.tensor([ids])).logits[0, -1]


def one_by_one(model, prompt, limit, ends):
    ids = []
    while len(ids) < limit and not (ids and ids[-1] in ends):
        ids.append(int(after(model, prompt + ids).argmax()))
    return ids


def test_greedy_rows_are_those_of_one_full_forward_per_token(llama, prompts, ends):
    draws = draw(llama, prompts, GREEDY, ends)
    assert [one.ids for one in draws] == [one_by_one(llama, *row, ends) for row in zip(prompts, LIMITS, strict=True)]
    assert [one.finish_reason for one in draws] == ["stop" if one.ids[-1] in ends else "length" for one in draws]
    if len(set(map(tuple, prompts))) > 2:
        assert len({len(one.ids) for one in draws}) > 3 and {one.finish_reason for one in draws} == {"stop", "length"}


@pytest.mark.parametrize("sampling", [GREEDY, WARM, Sampling(temperature=1.3)])
def test_logprobs_are_those_of_a_full_forward_before_any_cut(llama, prompts, ends, sampling):
    for prompt, one in zip(prompts, draw(llama, prompts, sampling, ends), strict=True):
        for i, (token, logprob) in enumerate(zip(one.ids, one.logprobs, strict=True)):
            expected = (after(llama, prompt + one.ids[:i]) / (sampling.temperature or 1)).log_softmax(-1)[token]
            assert logprob == pytest.approx(float(expected), abs=1e-4)


def test_a_row_does_not_depend_on_its_neighbours(llama, prompts, ends):
    together = draw(llama, prompts, WARM, ends)
    for i, prompt in enumerate(prompts):
        (alone,) = draw(llama, [prompt], WARM, ends, LIMITS[i : i + 1], [100 + i])
        assert alone.ids == together[i].ids and alone.finish_reason == together[i].finish_reason
        assert alone.logprobs == pytest.approx(together[i].logprobs, abs=1e-4)
    turned = draw(llama, prompts[::-1], WARM, ends, LIMITS[::-1], range(107, 99, -1))
    assert [one.ids for one in turned[::-1]] == [one.ids for one in together]


def test_a_seed_fixes_a_draw_and_another_one_changes_it(llama):
    prompts, never = [[7, 3, 21]] * 8, set()
    same = draw(llama, prompts, WARM, never, [20] * 8, [5] * 8)
    assert len({tuple(one.ids) for one in same}) == 1
    assert len({tuple(one.ids) for one in draw(llama, prompts, WARM, never, [20] * 8)}) == 8


def test_the_common_beginning_leaves_every_prompt_a_token():
    prompts = [(1, 2, 3), (1, 2, 4, 5), (1, 2, 3, 9), (1, 5), (2,)]
    for chosen in [chosen for size in range(1, 6) for chosen in combinations(prompts, size)]:
        longest = min(map(len, chosen)) - 1 if len(chosen) > 1 else 0
        brute = max(n for n in range(longest + 1) if len({prompt[:n] for prompt in chosen}) == 1)
        assert common_prefix(list(chosen)) == brute


def test_padding_is_on_the_left():
    ids, mask = left_pad([[5, 6], [7], [1, 2, 3]], 9, torch.device("cpu"))
    assert ids.tolist() == [[9, 5, 6], [9, 9, 7], [1, 2, 3]]
    assert mask.tolist() == [[0, 1, 1], [0, 0, 1], [1, 1, 1]]


def allowed(probabilities, sampling):
    """Tokens that survive top-k, then the smallest set of the likeliest that holds top-p of what is left over all tokens."""
    order = sorted(range(len(probabilities)), key=lambda i: -probabilities[i])[: sampling.top_k or None]
    kept, mass = set(), 0.0
    for token in order:
        if sampling.top_p < 1 and mass >= sampling.top_p:
            break
        kept.add(token)
        mass += probabilities[token]
    return kept


@pytest.mark.parametrize("top_k", [0, 1, 2, 7, 40, 1000])
@pytest.mark.parametrize("top_p", [1.0, 0.95, 0.5, 1e-6])
@pytest.mark.parametrize("spread", [0.1, 3.0, 40.0])
def test_a_cut_token_is_never_picked(top_k, top_p, spread):
    sampling = Sampling(temperature=0.8, top_k=top_k, top_p=top_p)
    logits = spread * torch.randn(6, 40, generator=torch.Generator().manual_seed(top_k))
    for uniform in (0.0, 1e-9, 0.3, 0.5, 0.999, 1 - 2**-24, 1.0):  # 1.0: a threshold may be rounded up to the whole mass
        tokens, logprobs = pick(logits, sampling, torch.full((6,), uniform))
        for row, token, logprob in zip(logits, tokens.tolist(), logprobs.tolist(), strict=True):
            every = (row.double() / 0.8).log_softmax(-1)
            assert token in allowed(every.exp().tolist(), sampling)
            assert logprob == pytest.approx(float(every[token]), abs=1e-3)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.6), Sampling(top_k=5), Sampling(top_p=0.8), WARM])
def test_tokens_come_as_often_as_they_should(sampling):
    """Chi-square over independent rows, each with a seed of its own: at most 60 for 24 degrees of freedom (p about 0.00005)."""
    count, logits = 20_000, torch.randn(25, generator=torch.Generator().manual_seed(3))
    tokens, _ = pick(logits.expand(count, 25), sampling, uniforms(list(range(count)), 1)[:, 0])
    seen = torch.bincount(tokens, minlength=25).double()
    probabilities = (logits.double() / sampling.temperature).softmax(-1)
    kept = torch.tensor([i in allowed(probabilities.tolist(), sampling) for i in range(25)])
    expected = count * (probabilities * kept) / (probabilities * kept).sum()
    assert seen[~kept].sum() == 0
    assert float(((seen - expected)[kept] ** 2 / expected[kept]).sum()) < 60


@pytest.mark.parametrize("sampling", [Sampling(temperature=0.7), Sampling(top_p=0.9), Sampling(top_p=0.2), Sampling(top_k=700)])
@pytest.mark.parametrize("sharpness", [0.1, 1.0, 6.0])
def test_a_large_vocabulary_is_drawn_from_as_if_all_of_it_was_sorted(sampling, sharpness):
    """Flat rows need the whole vocabulary, sharp ones its head: neither changes the draw."""
    logits = sharpness * torch.randn(400, 3000, generator=torch.Generator().manual_seed(0))
    uniform = uniforms(list(range(400)), 1)[:, 0]
    tokens, logprobs = pick(logits, sampling, uniform)
    for row in range(400):
        scaled = (logits[row] / sampling.temperature).log_softmax(-1)
        order = scaled.argsort(descending=True)[: sampling.top_k or None]
        mass = scaled[order].double().exp()
        mass = mass[mass.cumsum(0) - mass < sampling.top_p] if sampling.top_p < 1 else mass
        at = (mass.cumsum(0) / mass.sum() <= uniform[row].item()).sum().item()
        near = order[max(at - 1, 0) : at + 2].tolist()  # rounding may move a draw by one place
        assert tokens[row] in near and logprobs[row] == pytest.approx(scaled[tokens[row]].item(), abs=1e-5)


def test_uniform_draws_of_neighbouring_seeds_and_steps_are_unrelated():
    numbers = uniforms(list(range(2000)), 5)
    assert torch.equal(numbers[7], uniforms([7], 5)[0])
    assert numbers.min() >= 0 and numbers.max() < 1
    series = torch.cat([numbers.T, numbers.roll(1, dims=0).T])
    assert (torch.corrcoef(series) - torch.eye(10)).abs().max() < 0.1
