"""Many users at once, each kept as soon as it is finished."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.files import write_json
from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.layout import unparse
from amemgym_envs.amemgym.llm.caller import Caller, GaveUp
from amemgym_envs.amemgym.llm.endpoint import Endpoint
from amemgym_envs.amemgym.llm.journal import Journal
from amemgym_envs.amemgym.llm.prompts import language_name
from amemgym_envs.amemgym.llm.report import Report, WriterFailure
from amemgym_envs.amemgym.llm.user import UserWriter, user_id
from amemgym_envs.amemgym.records import Scenario
from amemgym_envs.amemgym.scenario import load_scenarios


class LLMWriter:
    """Scenarios written by the model at ``endpoint``, in the folder ``work``.

    ``personas(user)`` gives the profile of a user, with the public keys; ``formatted_str`` tells the model who it is.
    ``max_tries`` bounds the tries for any one text, ``max_resamples`` the questions of a user that may be replaced.
    ``users_at_once`` users are worked on at a time; their calls share the endpoint's concurrency.

    Every finished request stands in ``work/user_<n>.jsonl`` and every finished user in ``work/user_<n>.json``, so that the same
    call after an interruption goes on where that stopped.
    """

    def __init__(
        self,
        config: GeneratorConfig,
        endpoint: Endpoint,
        work: Path,
        personas: Callable[[int], dict[str, Any]],
        max_tries: int = 20,
        max_resamples: int = 20,
        users_at_once: int = 4,
    ) -> None:
        self.config = config
        self.endpoint = endpoint
        self.work = work
        self.personas = personas
        self.max_tries = max_tries
        self.max_resamples = max_resamples
        self.users_at_once = users_at_once
        self.report = Report(endpoint)
        for name, least in (("max_tries", 1), ("max_resamples", 0), ("users_at_once", 1)):
            if getattr(self, name) < least:
                raise ScenarioError(f"writer setting {name}: got {getattr(self, name)!r}, expected at least {least}")

    async def write(self, users: Iterable[int]) -> AsyncIterator[tuple[int, Scenario | WriterFailure]]:
        """(user, scenario or why there is none), in the order of ``users``.

        EndpointError when the endpoint is of no use: what was finished until then is kept.
        """
        slots = asyncio.Semaphore(self.users_at_once)

        async def one(user: int) -> Scenario | WriterFailure:
            async with slots:
                return await self._user(user)

        tasks = {user: asyncio.create_task(one(user)) for user in dict.fromkeys(users)}
        try:
            for user, task in tasks.items():
                yield user, await task
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    async def _user(self, user: int) -> Scenario | WriterFailure:
        persona = self.personas(user)
        person = persona.get("formatted_str")
        if not isinstance(person, str):
            raise ScenarioError(f"persona of user {user}, field formatted_str: got {person!r}, expected a text about the person")
        path = self.work / f"user_{user}.json"
        if path.exists():
            self.report.resumed += 1
            return self._finished(path, user_id(self.config, self.endpoint.model, persona, user))
        journal = Journal(self.work / f"user_{user}.jsonl")
        facts = {"person": person, "language": language_name(self.config.language)}
        caller = Caller(self.endpoint, journal, self.report, self.max_tries, facts)
        try:
            scenario = await UserWriter(caller, self.config, user, persona, self.max_resamples).scenario()
        except GaveUp as failure:
            return self._failed(WriterFailure(user, failure.stage, failure.reason))
        finally:
            journal.close()
        write_json(path, unparse([scenario]))
        self.report.written += 1
        return scenario

    def _failed(self, failure: WriterFailure) -> WriterFailure:
        self.report.failures.append(failure)
        return failure

    def _finished(self, path: Path, expected: str) -> Scenario:
        scenario = load_scenarios(path)[0]
        if scenario.id != expected:
            raise ScenarioError(
                f"{path}: holds a user of other settings, persona or model (id {scenario.id}, expected {expected}); choose "
                "another work folder, or remove the file to write the user anew"
            )
        return scenario
