"""A transformers model in this process, answering many episodes in deterministic padded batches.

A request waits until every live episode waits. The requests are then sorted by episode and slot, grouped by operation and
sampling, ordered by length to save padding, and decoded in batches of at most ``max_batch_size`` rows. What a request gets does
not depend on timing.
"""

import asyncio
from dataclasses import replace

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from amemgym_train.policy.base import Completion, Request, Sampling
from amemgym_train.policy.decoding import decode
from amemgym_train.policy.encoding import check_length, encode, encode_all, end_ids, most_tokens, stream_seed


class LocalPolicy:
    """Answers requests with ``model``; ``version`` names its weights (``base`` or an adapter)."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, version: str = "base", max_batch_size: int = 32
    ) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.version = version
        self.max_batch_size = max_batch_size
        self._alive: set[str] = set()
        self._waiting: list[tuple[Request, asyncio.Future[Completion]]] = []

    def enter(self, episode: str) -> None:
        self._alive.add(episode)

    def leave(self, episode: str) -> None:
        self._alive.discard(episode)
        self._flush_if_all_wait()

    async def complete(self, request: Request) -> Completion:
        """TooLong, and the batch goes without it, when prompt and reply do not fit the model's window."""
        self._check_length(request)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Completion] = loop.create_future()
        self._waiting.append((request, future))
        loop.call_soon(self._flush_if_all_wait)  # not at once: an episode may be about to ask more at the same time
        return await future

    def _check_length(self, request: Request) -> None:
        window = getattr(self.model.config, "max_position_embeddings", None)
        if window is not None and most_tokens(request.messages) + request.sampling.max_new_tokens > window:
            check_length(request, len(encode(self.tokenizer, request.messages)), window)  # what is short is encoded once only

    @property
    def eos_ids(self) -> set[int]:
        return end_ids(self.tokenizer, self.model.generation_config)

    def _flush_if_all_wait(self) -> None:
        self._waiting = [(request, future) for request, future in self._waiting if not future.done()]  # nobody waits for the rest
        waiting = {request.episode for request, _ in self._waiting}
        if not self._waiting or self._alive - waiting:
            return
        pending, self._waiting = sorted(self._waiting, key=lambda pair: (pair[0].episode, pair[0].slot)), []
        try:
            completions = self.complete_batch([request for request, _ in pending])
        except Exception as error:  # every waiting episode must learn of it, else they wait for ever
            for _, future in pending:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), completion in zip(pending, completions, strict=True):
            if not future.done():  # an interrupt cancels what waits
                future.set_result(completion)

    def complete_batch(self, requests: list[Request]) -> list[Completion]:
        """Completions in the order of ``requests``; the batching inside depends on the requests alone."""
        prompts = encode_all(self.tokenizer, [request.messages for request in requests])
        groups: dict[tuple[str, Sampling], list[int]] = {}
        for i, request in enumerate(requests):  # prompts of one operation begin alike, which makes their prefill cheaper
            groups.setdefault((request.operation, replace(request.sampling, max_new_tokens=0)), []).append(i)
        completions: dict[int, Completion] = {}
        for (_, sampling), members in groups.items():
            members.sort(key=lambda i: (len(prompts[i]), requests[i].episode, requests[i].slot))
            for start in range(0, len(members), self.max_batch_size):
                batch = members[start : start + self.max_batch_size]
                completions.update(self._decode(batch, requests, prompts, sampling))
        return [completions[i] for i in range(len(requests))]

    def _decode(
        self, batch: list[int], requests: list[Request], prompts: list[list[int]], sampling: Sampling
    ) -> dict[int, Completion]:
        draws = decode(
            self.model,
            [prompts[i] for i in batch],
            sampling,
            limits=[requests[i].sampling.max_new_tokens for i in batch],
            seeds=[stream_seed(requests[i]) for i in batch],
            eos_ids=self.eos_ids,
            pad_id=self.tokenizer.pad_token_id,
        )
        return {
            i: Completion(
                prompt_ids=prompts[i],
                completion_ids=draw.ids,
                logprobs=draw.logprobs,
                text=self.tokenizer.decode(draw.ids, skip_special_tokens=True),
                finish_reason=draw.finish_reason,
            )
            for i, draw in zip(batch, draws, strict=True)
        }
