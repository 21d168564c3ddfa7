"""One user's calls: answered from the journal where possible, checked for their shape, and made again with the complaint."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from amemgym_envs.amemgym.llm.endpoint import Endpoint
from amemgym_envs.amemgym.llm.journal import Journal, request_key
from amemgym_envs.amemgym.llm.parsing import parse_reply
from amemgym_envs.amemgym.llm.prompts import prompt
from amemgym_envs.amemgym.llm.report import Report
from amemgym_envs.amemgym.node import Node

_CHECK_TRIES = 3  # for the form of a classifier's reply; what it says is taken as it is
T = TypeVar("T")
Judge = Callable[[T], Awaitable[str | None]]  # None, or why the value is not good enough
_SHOWN = 20_000  # characters of an unusable reply that the model is shown again


class GaveUp(Exception):
    """The model did not bring ``stage`` about; only this user, or one of its questions, fails for it."""

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage, self.reason = stage, reason


async def together(jobs: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results, in order; the first error cancels the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job) for job in jobs]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]


async def attempted(job: Coroutine[Any, Any, T]) -> T | GaveUp:
    """The job's result, or the GaveUp that ended it."""
    try:
        return await job
    except GaveUp as failure:
        return failure


@dataclass
class Caller:
    """The model as one user's pipeline sees it. ``facts`` are fields that every prompt may use: the person, the language."""

    endpoint: Endpoint
    journal: Journal
    report: Report
    max_tries: int
    facts: dict[str, str]

    async def write(
        self,
        stage: str,
        fields: dict[str, str | int],
        shape: Callable[[Node], T],
        judge: Judge[T] | None = None,
        *,
        rejected: tuple[str, str] | None = None,
        draw: int = 0,
    ) -> T:
        """What ``shape`` makes of a reply to the prompt ``stage``, once ``judge`` accepts it; GaveUp after ``max_tries``.

        ``rejected``: a text that stands for the first try, and the complaint about it. ``draw`` tells requests apart that
        read the same and should not get the same reply.
        """
        messages = [_message("user", prompt(stage, **self.facts, **fields))]
        opening, problem = messages, ""
        if rejected:
            problem = rejected[1]
            messages = _with_complaint(opening, *rejected)
        for number in range(1 if rejected else 0, self.max_tries):
            text = await self._say(messages, (draw, number))
            try:
                value = shape(parse_reply(text))
            except (ValueError, RecursionError) as error:
                problem = str(error)
                self.report.misshapen += 1
            else:
                verdict = await judge(value) if judge else None
                if verdict is None:
                    return value
                problem = verdict
                self.report.rejected += 1
            messages = _with_complaint(opening, text, problem)
        raise GaveUp(stage, f"nothing usable in {self.max_tries} tries; the last complaint: {problem}")

    async def classify(self, stage: str, fields: dict[str, str | int], shape: Callable[[Node], T]) -> T | None:
        """What the classifier ``stage`` says, at temperature 0; None when its replies have no usable form."""
        opening = messages = [_message("user", prompt(stage, **fields))]  # no other context: neither person nor history
        for number in range(min(_CHECK_TRIES, self.max_tries)):
            text = await self._say(messages, (0, number), temperature=0.0)
            try:
                return shape(parse_reply(text))
            except (ValueError, RecursionError) as error:
                self.report.misshapen += 1
                messages = _with_complaint(opening, text, str(error))
        return None

    async def _say(self, messages: list[dict[str, str]], number: tuple[int, int], temperature: float | None = None) -> str:
        sampling = self.endpoint.sampling(temperature)
        key = request_key(self.endpoint.model, messages, sampling, number)
        return (await self.report.reply(messages, sampling, self.journal, key)).text


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _with_complaint(opening: list[dict[str, str]], text: str, problem: str) -> list[dict[str, str]]:
    """The first request, the last reply to it, and what is wrong with that; earlier tries are left out to keep prompts short."""
    return [*opening, _message("assistant", text[:_SHOWN] or "(nothing)"), _message("user", prompt("again", problem=problem))]
