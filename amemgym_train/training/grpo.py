"""GRPO on whole episodes: TRL's loss, optimiser and launch, on rows that our runner plays and our credit weighs.

TRL's trainer generates one completion per prompt and scores it. Here a generation batch is a batch of episodes of many calls;
``_prepare_inputs`` plays it, gives every call its own reward and baseline, and hands TRL's loss advantages and weights per
token. The recipe says how many optimiser steps follow each batch (one unless told otherwise), so a longer episode takes no more.

loss = 1/E * sum over episodes, calls and tokens of weight * surrogate: the weights of an episode sum to 1 (``credit.rows``), E is
the number of episodes with a signal on all processes.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PrinterCallback
from transformers.integrations.deepspeed import unset_hf_deepspeed_config
from trl import GRPOConfig, GRPOTrainer
from trl.models.utils import unwrap_model_for_generation

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.training import TrainingConfig
from amemgym_train.credit.batch import Credited, credited
from amemgym_train.errors import UserError
from amemgym_train.policy.base import Policy
from amemgym_train.policy.local import LocalPolicy
from amemgym_train.policy.server import ServerPolicy
from amemgym_train.rollout.records import Episode, Row, Turn
from amemgym_train.rollout.runner import check_unscorable
from amemgym_train.training import prefix
from amemgym_train.training.arguments import arguments_of, micro_batches
from amemgym_train.training.batch import Tensors, collate
from amemgym_train.training.checkpoints import Whole, last_checkpoint
from amemgym_train.training.imitation import hold
from amemgym_train.training.log import mean_loss, steady
from amemgym_train.training.lora import save_adapter, whole_weights
from amemgym_train.training.shards import shard_on_cpu, unsharded

Rollout = Callable[[Policy, int], list[Episode]]  # (policy, optimiser step) -> this process's episodes
Imitate = Callable[[Policy, int, list[Episode]], tuple[list[Row], dict[str, float]]]  # -> rows of second tries, and figures


class EpisodeGRPO(GRPOTrainer):
    """``rollout`` plays a process's share of a step's episodes; ``batches`` micro-batches of rows follow on every process."""

    lists: tuple[str, ...] = ()  # fields of its rows, besides those of every row, that the loss takes

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        rollout: Rollout,
        credit: CreditConfig,
        training: TrainingConfig,
        arguments: GRPOConfig,
        *,
        max_prompts: int,
        max_unscorable: float,
        server: ServerPolicy | None = None,
        imitate: Imitate | None = None,
    ) -> None:
        blank = Dataset.from_dict({"prompt": [""] * arguments.generation_batch_size})  # TRL wants one; the rollout has the tasks
        super().__init__(model, [_unused], arguments, blank, processing_class=tokenizer)
        self.rollout, self.credit, self.training, self.settings = rollout, credit, training, training.on_policy
        self.backbone = model.get_base_model().base_model  # the model without its head
        self.beta = self._beta()  # set late: TRL would else load the adapter twice, to be its own reference
        self.max_prompts, self.max_unscorable, self.server = max_prompts, max_unscorable, server
        self.imitate, self.imitated = imitate, ([], {})
        self.batch: Credited | None = None
        self.passes = arguments.steps_per_generation * arguments.num_iterations  # micro-batches that follow a step's episodes
        self.shares = self.settings.share_prefixes and prefix.takes_trees(model.config) and not self.aux_loss_enabled
        self._inputs: Tensors = {}
        self._logps: torch.Tensor | None = None
        self._parts: list[tuple[float, dict[str, float]]] = []  # of a step: each micro-batch's weight and figures
        self._compared: list[Tensors] = []  # of a step's first update: the trainer's log-probabilities and the sampler's
        self.remove_callback(PrinterCallback)  # its log goes to a file
        self.add_callback(Whole(self.accelerator.wait_for_everyone))

    def get_train_dataloader(self) -> DataLoader:
        """As many empty batches as there are micro-batches: what is trained on comes from the rollout."""
        micro_batches = self.args.max_steps * self.args.gradient_accumulation_steps
        return DataLoader([{}] * micro_batches, batch_size=1, collate_fn=_first)

    def _beta(self) -> float:
        """Weight of TRL's KL term."""
        return self.settings.beta

    def _prepare_inputs(self, _: Any) -> Tensors:
        place = self._step % self.passes
        if place == 0 or self.batch is None:
            self.batch = self._play(self.state.global_step // self.settings.updates)
        inputs = self._tensors(self._rows(place), self.batch.scale)
        inputs["num_items_in_batch"] = torch.tensor(self.batch.tokens, device=self.accelerator.device)
        inputs["place"] = place
        if self.settings.updates > 1:  # else the policy that played is the one that is updated, up to rounding
            inputs.setdefault("old_per_token_logps", inputs["sampled_logps"])
        if self.beta and "ref_per_token_logps" not in inputs:
            inputs["ref_per_token_logps"] = self._reference(inputs)
        return inputs

    def _rows(self, place: int) -> list[Row]:
        """Those of a micro-batch."""
        return self.batch.batches[place]

    def _tensors(self, rows: Sequence[Row], scale: float) -> Tensors:
        pad_id, device = self.processing_class.pad_token_id, self.accelerator.device
        inputs = {key: value.to(device) for key, value in collate(rows, pad_id, scale, self.lists).items()}
        if self.shares:
            inputs["nodes"] = {key: value.to(device) for key, value in prefix.tree(rows, pad_id).tensors().items()}
        return inputs

    def _play(self, step: int) -> Credited:
        """A step's episodes as rows with advantages."""
        episodes = self._episodes(step)
        rows, figures = self.imitated
        batch = credited(
            episodes,
            self.credit,
            method=self.training.method,
            gather=gather_object,
            longest=self.args.max_completion_length,
            keep_zeros=self.beta > 0,
            drifted=self._drifted,
            extra=rows,
            **self._cut(step),
        )
        self._note(batch.figures | figures)
        return batch

    def _cut(self, step: int) -> dict[str, Any]:
        """How a step's rows come into its updates."""
        return {
            "seed": f"{self.args.seed}/{step}",
            "epochs": self.settings.epochs,
            "parts": self.settings.minibatches,
            "per_batch": self.args.per_device_train_batch_size,
            "batches": self.args.gradient_accumulation_steps,
        }

    def _episodes(self, step: int) -> list[Episode]:
        """A step's episodes, played with the weights as they are now."""
        with self._answering(step) as policy:
            episodes = self.rollout(policy, step)
            if self.imitate is not None:
                self.imitated = self.imitate(policy, step, episodes)
        check_unscorable(_outcomes(episodes), self.max_unscorable)
        return episodes

    def _note(self, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self._metrics["train"][name].append(value)

    @contextmanager
    def _answering(self, step: int) -> Iterator[Policy]:
        """A policy with the weights as they are now."""
        version = f"step-{step}"
        if self.server is not None:
            self._serve(version)
            yield self.server
            return
        whole = unwrap_model_for_generation(self.model_wrapped, self.accelerator)
        with unsharded(self.model_wrapped), whole as model:  # gathered once (ZeRO-3, FSDP2), not per call
            yield LocalPolicy(model, self.processing_class, version, self.max_prompts)
        self.model.train()  # the policy answers in evaluation mode

    def _serve(self, version: str) -> None:
        """Have the servers answer with the adapter as it is now. Its folder stays until the next one's is in use."""
        model, folder = self.accelerator.unwrap_model(self.model), Path(self.args.output_dir, "served", version)
        weights = whole_weights(model)
        if self.accelerator.is_main_process:
            save_adapter(model, folder, weights)
        self.accelerator.wait_for_everyone()
        self.server.use(version, folder)
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process:
            for other in folder.parent.iterdir():
                if other != folder:
                    shutil.rmtree(other)

    def _drifted(self, turns: Sequence[Turn]) -> int:
        """How many calls would be trained on other tokens than the model drew, if their text was encoded anew."""
        tokenizer = self.processing_class
        special = set(tokenizer.all_special_ids)
        texts = list({turn.text for turn in turns})
        again = dict(zip(texts, tokenizer(texts, add_special_tokens=False)["input_ids"], strict=True)) if texts else {}
        return sum([i for i in turn.completion_ids if i not in special] != again[turn.text] for turn in turns)

    @torch.no_grad()
    def _reference(self, inputs: Tensors) -> torch.Tensor:
        """Log-probabilities under the model without its adapter, (B, T)."""
        with self.accelerator.unwrap_model(self.model).disable_adapter():
            if "nodes" in inputs:
                with self.accelerator.autocast():
                    return prefix.score(self.model, self.backbone, inputs["nodes"], inputs["trained"])[0]
            return super()._get_per_token_logps_and_entropies(self.model, *sequence(inputs))[0]

    def _get_per_token_logps_and_entropies(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        result = self._scores(model, *args, **kwargs)
        self._logps = result[0].detach()
        if self.imitate is not None and "imitated" in self._inputs:
            hold(self._inputs, self._logps)
        return result

    def _scores(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        """TRL's, of the micro-batch at hand: log-probabilities, entropies, and no auxiliary loss."""
        if "nodes" not in self._inputs:
            return super()._get_per_token_logps_and_entropies(model, *args, **kwargs)
        with self.accelerator.autocast():
            return (*prefix.score(model, self.backbone, self._inputs["nodes"], self._inputs["trained"]), None)

    def _compute_loss(self, model: Any, inputs: Tensors) -> torch.Tensor:
        self._inputs = inputs  # TRL passes on what it knows of them only
        counts = {name: len(values) for name, values in self._metrics["train"].items()}
        try:
            loss = self._loss(model, inputs)
        finally:
            self._inputs = {}
        new = {name: values[counts.get(name, 0) :] for name, values in self._metrics["train"].items()}
        for name in new:
            del self._metrics["train"][name][counts.get(name, 0) :]
        weight = self.accelerator.gather(inputs["tool_mask"].sum()[None]).sum().item()
        self._parts.append((weight, {name: values[0] for name, values in new.items() if values}))
        if inputs["place"] < self.args.gradient_accumulation_steps:
            self._before_update(inputs)
        if inputs["place"] == self.passes - 1:
            self._note(token_means(self._parts) | self._ended())
            self._parts = []
        return loss

    def _loss(self, model: Any, inputs: Tensors) -> torch.Tensor:
        return super()._compute_loss(model, inputs)

    def _before_update(self, inputs: Tensors) -> None:
        """After a forward pass of a step's first update: it had the weights that played."""
        drawn = inputs["trained"] & ~inputs["imitated"]
        self._compared.append({"logps": self._logps, "sampled_logps": inputs["sampled_logps"], "trained": drawn})
        if inputs["place"] == self.args.gradient_accumulation_steps - 1:
            self._check_sampler(*self._compared)
            self._compared = []

    def _ended(self) -> dict[str, float]:
        """Figures of a step that are known at its end."""
        return {}

    def _check_sampler(self, *micro_batches: Tensors) -> None:
        """UserError when the sampler's log-probabilities are not those of the weights that are trained.

        Both had the same weights. A gap means that the sampler used another adapter, another precision or another chat template
        than the trainer. ``logps`` of a micro-batch are the trainer's.
        """
        gaps = [(inputs["logps"] - inputs["sampled_logps"]).abs()[inputs["trained"]] for inputs in micro_batches]
        gap = torch.cat(gaps)
        local = torch.stack([gap.sum(), gap.new_tensor(gap.numel()), gap.max() if gap.numel() else gap.new_zeros(())])
        sums = self.accelerator.gather(local[None])
        mean, worst = (sums[:, 0].sum() / sums[:, 1].sum().clamp(min=1)).item(), sums[:, 2].max().item()
        self._note({"sampler_gap/mean": mean, "sampler_gap/max": worst})
        key, limit = f"training.{self.training.section}.max_logprob_gap", self.settings.max_logprob_gap
        if not mean <= limit:
            raise UserError(
                f"step {self.state.global_step // self.settings.updates}: sampler and trainer differ by {mean:.3f} in "
                f"log-probability per token (most: {worst:.3f}), {key} allows {limit}. They do not hold the same weights: load "
                "the adapter anew, or raise the limit if the sampler computes in a lower precision"
            )


def train_grpo(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rollout: Rollout,
    credit: CreditConfig,
    training: TrainingConfig,
    folder: Path,
    seed: int,
    *,
    rows_per_process: int,
    longest: int,
    temperature: float,
    max_prompts: int = 32,
    max_unscorable: float = 0.1,
    server: ServerPolicy | None = None,
    kind: type[EpisodeGRPO] = EpisodeGRPO,
    imitate: Imitate | None = None,
) -> dict[str, Any]:
    """Train ``model``'s adapter in place for the method's ``steps``, from the last checkpoint in ``folder`` on, if any.

    ``rows_per_process``: most rows of one update on one process, from which the number of micro-batches follows; ``longest``:
    most tokens of a completion; ``server`` answers in place of this process; ``imitate``: see ``training.imitation``. Returns
    steps, seconds, the mean loss and the trainer's ``log``, a dict per step.
    """
    settings, on_cpu = training.on_policy, model.device.type == "cpu"
    batches = micro_batches(rows_per_process, training.batch_size, settings.minibatches)
    arguments = arguments_of(training, folder, seed, batches, longest, temperature, on_cpu)
    shard_on_cpu()
    limits = {"max_prompts": max_prompts, "max_unscorable": max_unscorable}
    trainer = kind(model, tokenizer, rollout, credit, training, arguments, **limits, server=server, imitate=imitate)
    result = trainer.train(resume_from_checkpoint=last_checkpoint(folder))
    unset_hf_deepspeed_config()  # else the next model that this process loads would come in parts
    log = trainer.state.log_history
    return {
        "distributed": trainer.accelerator.distributed_type.value,
        "loss": mean_loss(log),
        "steps": result.global_step // settings.updates,
        "seconds": result.metrics["train_runtime"],
        "log": steady(log),
    }


def token_means(parts: Sequence[tuple[float, dict[str, float]]]) -> dict[str, float]:
    """Figures of micro-batches as those of their step: means weighted by tokens, and the extremes of extremes.

    TRL averages over micro-batches, so that its figures would depend on how the rows are cut and on padding.
    """
    real = [(weight, figures) for weight, figures in parts if weight > 0]
    means: dict[str, float] = {}
    for name in real[0][1] if real else ():
        values = [figures[name] for _, figures in real]
        if name.endswith(("_min", "_max")):
            means[name] = (min if name.endswith("_min") else max)(values)
        else:
            means[name] = sum(w * v for (w, _), v in zip(real, values, strict=True)) / sum(w for w, _ in real)
    return means


def sequence(inputs: Tensors) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Ids, attention mask, and how many of the last tokens are scored."""
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
    return ids, mask, inputs["completion_ids"].size(1)


def _outcomes(episodes: Sequence[Episode]) -> list[Episode]:
    """The episodes of all processes, without their turns: enough to say how many could not be played."""
    bare = [Episode(e.environment, e.task, e.seed, e.group, error=e.error) for e in episodes]
    return gather_object(bare)


def _first(items: list[Any]) -> Any:
    return items[0]


def _unused(**_: Any) -> list[float]:
    raise RuntimeError("rewards come from credit, not from TRL's reward functions")
