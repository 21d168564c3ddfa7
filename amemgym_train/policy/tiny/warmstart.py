"""The warm start: all weights, on the tokens of replies only, in batches of about equal length."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from amemgym_train.policy.tiny.demonstrations import Example

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SORTED_TOGETHER = 16  # batches that are cut from one stretch of examples sorted by length: less padding, still mixed
RISE = 30  # steps during which the rates rise to their peaks
LOOK_EVERY = 10  # steps between two looks at the examples held back


def batches(examples: Sequence[Example], size: int, rng: Random) -> Iterator[list[Example]]:
    """Batches without end; every example once before any comes again."""
    while True:
        mixed = rng.sample(examples, len(examples))
        cut = []
        for start in range(0, len(mixed), size * SORTED_TOGETHER):
            stretch = sorted(mixed[start : start + size * SORTED_TOGETHER], key=lambda example: example.length)
            cut += [stretch[i : i + size] for i in range(0, len(stretch), size)]
        yield from rng.sample(cut, len(cut))


def scored(model: "PreTrainedModel", batch: Sequence[Example]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Logits (tokens, vocabulary), true ids and example numbers (tokens,) of the replies' tokens, and of no others."""
    width = max(example.length for example in batch)
    ids = torch.full((len(batch), width), model.config.pad_token_id)
    trained = torch.zeros((len(batch), width), dtype=torch.bool)
    for i, example in enumerate(batch):
        ids[i, : example.length] = torch.tensor(example.prompt + example.reply)
        trained[i, len(example.prompt) : example.length] = True
    places = trained[:, 1:]
    states = model.model(input_ids=ids).last_hidden_state[:, :-1][places]  # padded on the right: causal attention needs no mask
    return model.lm_head(states), ids[:, 1:][places], places.nonzero()[:, 0]


@torch.no_grad()
def share_right(model: "PreTrainedModel", examples: Sequence[Example]) -> float:
    """The share of ``examples`` whose whole reply is the model's first choice, token by token."""
    logits, truth, numbers = scored(model, examples)
    return 1 - len(set(numbers[logits.argmax(-1) != truth].tolist())) / len(examples)


def optimisers(model: "PreTrainedModel", matrix_rate: float, rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for embeddings and norms: in the same time it learns to copy far earlier."""
    matrices = [weight for weight in model.model.layers.parameters() if weight.ndim == 2]
    chosen = {id(weight) for weight in matrices}
    others = [weight for weight in model.parameters() if id(weight) not in chosen]
    return [
        torch.optim.Muon(matrices, lr=matrix_rate, weight_decay=0.0),
        torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.98), weight_decay=0.0),
    ]


class WarmStart:
    """Trains ``model`` in place; one object keeps the optimisers' state over both phases."""

    def __init__(self, model: "PreTrainedModel", matrix_rate: float, rate: float) -> None:
        self.model = model
        self.rates = [(optimiser, optimiser.param_groups[0]["lr"]) for optimiser in optimisers(model, matrix_rate, rate)]
        self.steps = 0

    def step(self, batch: Sequence[Example], share: float = 1.0) -> None:
        """One step on the mean cross entropy of the replies' tokens, at ``share`` of the peak rates."""
        logits, truth, _ = scored(self.model, batch)
        cross_entropy(logits, truth).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.steps += 1
        for optimiser, peak in self.rates:
            optimiser.param_groups[0]["lr"] = peak * share * min(1.0, self.steps / RISE)
            optimiser.step()
        self.model.zero_grad()

    def drill(self, examples: Sequence[Example], size: int) -> None:
        """Once through ``examples``, in their order."""
        for start in range(0, len(examples), size):
            self.step(examples[start : start + size])

    def imitate(
        self, examples: Sequence[Example], drill: Sequence[Example], held_back: Sequence[Example], size: int, goal: float,
        most: int, seed: int,
    ) -> None:
        """Demonstrations with some drill among them, until ``goal`` of ``held_back`` come out right; ``most`` steps at most.

        A goal rather than a number of steps, because copying is learned all of a sudden, and not at the same step on every
        machine.
        """
        source = batches([*examples, *drill], size, Random(seed))
        for step in range(most):
            self.step(next(source), min(1.0, 4 * (most - step) / most))
            if step % LOOK_EVERY == 0 and share_right(self.model, held_back) >= goal:
                return
