"""PPO on whole episodes: the rollout, rows and loss of ``training.grpo``, with a critic for a baseline and several updates.

After a step's episodes one pass without gradient says what policy, reference and critic make of every learned token. From these
come advantages and returns (``credit.scored``), and then ``epochs`` passes in ``minibatches`` updates each.

loss = TRL's clipped surrogate + value_coef * 1/2 * max((V - R)^2, (clip(V, V_old +- value_clip) - R)^2), the second at the tokens
whose state has a value, and in the head's own unit (``training.critic``); both are weighed as in GRPO, so that an episode counts
once. PPO: arXiv 1707.06347, eq. 7 and 9; the clipping of values: arXiv 2005.12729, section 3.
"""

import math
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from peft import PeftModel
from transformers import PreTrainedTokenizerBase

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.training import TrainingConfig
from amemgym_train.credit.batch import Credited, called
from amemgym_train.credit.gae import moments
from amemgym_train.credit.rows import PADDING, deal
from amemgym_train.credit.scored import Call, Scored, estimate, judged, rows_with, weighed, whiten
from amemgym_train.credit.updates import dealt
from amemgym_train.rollout.records import Row
from amemgym_train.training import prefix
from amemgym_train.training.batch import Tensors
from amemgym_train.training.checkpoints import last_checkpoint
from amemgym_train.training.critic import FILE, attach, heard, judging, keep_training, load_head, of_critic, save_head
from amemgym_train.training.grpo import EpisodeGRPO, Rollout, sequence, train_grpo
from amemgym_train.training.lora import whole_weights

NOTHING = Scored(**vars(PADDING))


class EpisodePPO(EpisodeGRPO):
    """``model`` has a ``value_head`` (``training.critic``)."""

    lists = Scored.LISTS

    def __init__(self, model: PeftModel, *args: Any, **kwargs: Any) -> None:
        self.head = model.value_head
        super().__init__(model, *args, **kwargs)
        self.stopped, self._skipped = False, 0  # this step's further updates are left out, and how many were
        self._values: torch.Tensor | None = None
        self._moved: list[torch.Tensor] = []  # of an update: each micro-batch's sum of KL, and of weights

    def create_optimizer(self, model: torch.nn.Module | None = None) -> torch.optim.Optimizer:
        """TRL's, with the critic's weights in a group of their own."""
        new = self.optimizer is None
        optimizer = super().create_optimizer(model)
        if new:
            named = (self.model if model is None else model).named_parameters()
            head = [weight for name, weight in named if of_critic(name) and weight.requires_grad]
            for group in optimizer.param_groups:
                group["params"] = [weight for weight in group["params"] if all(weight is not other for other in head)]
            filled = [group for group in optimizer.param_groups if group["params"]]
            optimizer.param_groups[:] = filled  # FSDP2 saves an empty one, and does not find it again
            optimizer.add_param_group({"params": head, "lr": self.settings.value_learning_rate, "weight_decay": 0.0})
            optimizer.register_step_pre_hook(self._hold)
        return optimizer

    def _hold(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Let an update that is left out change nothing: of weights without a gradient an optimiser moves neither them nor their
        moments. Every process still goes through all micro-batches, as its wrapper and TRL's loop count on.
        """
        if self.stopped:
            for group in optimizer.param_groups:
                for weight in group["params"]:
                    weight.grad = None

    def _beta(self) -> float:
        return self.head.state.kl_coef if self.settings.kl == "loss" else 0.0

    def _play(self, step: int) -> Credited:
        """A step's episodes as rows with advantages and returns, in the order of the updates."""
        settings = self.settings
        self.stopped, self.beta = False, self._beta()
        longest = self.args.max_completion_length
        episodes, batch = called(
            self._episodes(step), self.credit, gather=gather_object, longest=longest, drifted=self._drifted
        )
        calls = [call for one in episodes for call in one]
        rows = rows_with(calls)
        self._judge(rows)
        kl_coef = self.head.state.kl_coef if settings.kl == "reward" else 0.0
        if self.head.state.scale is None:
            self._measure(episodes, kl_coef)
        for one in episodes:
            estimate(one, settings, kl_coef)
        self._note(batch.figures | self._figures(calls))
        if settings.whiten:
            whiten(calls, moments(weighed(calls), gather_object))
        batch.batches = [_fit(part) for part in dealt(rows, gather=gather_object, **self._cut(step))]
        return batch

    def _measure(self, episodes: list[list[Call]], kl_coef: float) -> None:
        """Origin and unit of a new head's values: mean and deviation of what was earned from each state on."""
        calls, whole = [call for one in episodes for call in one], {"lambda_turn": 1.0, "lambda_token": 1.0}
        for one in episodes:
            estimate(one, self.settings.model_copy(update=whole), kl_coef)
        state = self.head.state
        state.mean, spread = moments([(w, r) for w, _, r in judged(calls)], gather_object)
        state.scale = spread or 1.0
        for call in calls:
            call.row.values[call.span] = [state.mean + state.scale * value for value in call.row.values[call.span]]

    @torch.no_grad()
    def _judge(self, rows: list[Scored]) -> None:
        """What the policy, the reference and the critic make of the tokens of ``rows`` before the first update."""
        needed = max(gather_object([math.ceil(len(rows) / self.args.per_device_train_batch_size)]))  # every process takes part
        compared: list[Tensors] = []
        self.model.eval()  # as it played
        (own,) = deal(rows, 1, self.args.per_device_train_batch_size, max(needed, 1))
        for batch in map(_fit, own):
            self._inputs = inputs = self._tensors(batch, 1.0)
            inputs["logps"], *_ = self._get_per_token_logps_and_entropies(self.model, *sequence(inputs))
            found = {"old": inputs["logps"], "values": self._values}
            if self.settings.kl != "none":
                found["reference"] = self._reference(inputs)
            self._inputs = {}
            compared.append({name: inputs[name] for name in ("logps", "sampled_logps", "trained")})
            for name, values in found.items():
                for row, own in zip(batch, values.tolist(), strict=True):
                    _keep(row, name, own)
        self.model.train()
        self._check_sampler(*compared)

    def _figures(self, calls: list[Call]) -> dict[str, float]:
        """Of the critic, and of the KL, whose coefficient is steered for the next step.

        Proportional controller of arXiv 1909.08593, section 2.2: coefficient * (1 + 0.1 * clip(KL / target - 1, -0.2, 0.2)).
        """
        points = judged(calls)
        returns, spread = moments([(w, r) for w, _, r in points], gather_object)
        _, missed = moments([(w, r - v) for w, v, r in points], gather_object)
        figures = {"returns_mean": returns, "explained_variance": 1 - (missed / spread) ** 2 if spread else 0.0}
        if self.settings.kl == "none":
            return figures
        drifts = [pair for call in calls for pair in zip(call.row.weight[call.span], call.drift, strict=True)]
        kl, _ = moments(drifts, gather_object)
        figures |= {"reference_kl": kl, "kl_coef": self.head.state.kl_coef}
        if self.settings.kl_target is not None:
            self.head.state.kl_coef *= 1 + 0.1 * min(max(kl / self.settings.kl_target - 1, -0.2), 0.2)
        return figures

    def _rows(self, place: int) -> list[Row]:
        """Nothing once a step's updates are left out: its rows need not be computed for that."""
        rows = super()._rows(place)
        return [NOTHING] * len(rows) if self.stopped else rows

    def _tensors(self, rows: list[Row], scale: float) -> Tensors:
        inputs = super()._tensors(rows, scale)
        inputs["old_per_token_logps"], inputs["heads"] = inputs["old"], inputs["heads"] * scale
        if self.beta:
            inputs["ref_per_token_logps"] = inputs["reference"]
        return inputs

    def _scores(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        if self.settings.value_trunk != "adapter":
            *result, self._values = self._valued(model, *args, **kwargs)
            return tuple(result)
        with judging(model):
            *_, self._values = self._valued(model, *args, **kwargs)
        return super()._scores(model, *args, **kwargs)

    def _valued(self, model: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """As ``_scores``, and values (B, T)."""
        if "nodes" in self._inputs:
            nodes, trained = self._inputs["nodes"], self._inputs["trained"]
            with self.accelerator.autocast():
                logps, entropies, values = prefix.score(model, self.backbone, nodes, trained, self.head)
            return logps, entropies, None, values
        with heard(self.backbone, self.head, self._inputs["trained"].size(1)) as found:
            result = super()._scores(model, *args, **kwargs)
        return (*result, *found)

    def _reference(self, inputs: Tensors) -> torch.Tensor:
        try:
            return super()._reference(inputs)
        finally:
            keep_training(self.model)

    def _load_from_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_checkpoint(*args, **kwargs)
        keep_training(self.model)

    def _loss(self, model: Any, inputs: Tensors) -> torch.Tensor:
        settings, loss = self.settings, super()._loss(model, inputs)
        unit = self.head.state.unit
        values, old, returns = (found / unit for found in (self._values, inputs["values"], inputs["returns"]))
        misses = (values - returns) ** 2
        if settings.value_clip is not None:
            near = old + (values - old).clamp(-settings.value_clip, settings.value_clip)
            misses = torch.max(misses, (near - returns) ** 2)
        value_loss = (misses / 2 * inputs["heads"]).sum()
        tokens = inputs["num_items_in_batch"].clamp(min=1) / self.accelerator.num_processes / settings.minibatches
        drift = self._logps - inputs["old"]
        kl = ((drift.exp() - 1 - drift) * inputs["tool_mask"]).sum()  # of KL(old, new): never below 0
        local = torch.stack([kl, value_loss.detach(), inputs["tool_mask"].sum()])
        sums = self.accelerator.reduce(local, reduction="sum")
        self._moved.append(sums)
        kl, missed, _ = (sums / sums[2].clamp(min=torch.finfo(sums.dtype).tiny)).tolist()
        self._note({"approx_kl": kl, "value_loss": missed})
        if (inputs["place"] + 1) % self.args.gradient_accumulation_steps == 0:
            self._consider_stopping()
        return loss + settings.value_coef * value_loss / tokens

    def _consider_stopping(self) -> None:
        """Before an update: is the policy too far from the one that played?"""
        kl, _, weight = torch.stack(self._moved).sum(0).tolist()
        self._moved = []
        limit = self.settings.max_kl
        self.stopped = self.stopped or (limit is not None and weight > 0 and kl / weight > limit)
        self._skipped += self.stopped

    def _before_update(self, inputs: Tensors) -> None:
        """Nothing: sampler and trainer have been compared when the rows were judged."""

    def _ended(self) -> dict[str, float]:
        figures = {"updates": self.settings.updates - self._skipped, "early_stop": float(self.stopped)}
        self._skipped = 0
        return figures

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        super()._save_checkpoint(model, trial)
        weights = whole_weights(self.accelerator.unwrap_model(self.model))
        if self.is_world_process_zero():
            save_head(weights, Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}", self.head.state)


def train_ppo(
    model: PeftModel,
    tokenizer: PreTrainedTokenizerBase,
    rollout: Rollout,
    credit: CreditConfig,
    training: TrainingConfig,
    folder: Path,
    seed: int,
    *,
    start: Path | None,
    **settings: Any,
) -> dict[str, Any]:
    """``training.grpo.train_grpo`` by PPO. ``model`` gets a value head: that in the folder ``start``, if one was saved there."""
    attach(model, training.ppo)
    checkpoint = last_checkpoint(folder)
    known = Path(checkpoint) if checkpoint else start
    if known and (known / FILE).is_file():
        load_head(model, known)
    return train_grpo(model, tokenizer, rollout, credit, training, folder, seed, kind=EpisodePPO, **settings)


def _fit(rows: list[Row]) -> list[Scored]:
    """Padding that can be scored in the place of padding."""
    return [row if row is not PADDING else NOTHING for row in rows]


def _keep(row: Scored, name: str, values: list[float]) -> None:
    """Set a row's list from what was computed of its tokens from the first learned one on."""
    if row is NOTHING:
        return
    cut = row.mask.index(1)
    rest = [value if learned else 0.0 for value, learned in zip(values, row.mask[cut:], strict=False)]
    setattr(row, name, [0.0] * cut + rest)
