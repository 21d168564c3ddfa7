"""A user whom a language model plays: it may say anything but the values that the scenario tracks.

What it may not say is checked by rule: a reply that names a tracked value in words is rejected and asked for again, and after
``tries`` replies the scripted user's words are taken. A value that is hinted at in other words passes.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields
from typing import Any

from amemgym_envs.amemgym.languages.words import mentions
from amemgym_envs.amemgym.llm.background import Background
from amemgym_envs.amemgym.llm.journal import Journal, request_key
from amemgym_envs.amemgym.llm.prompts import language_name, prompt
from amemgym_envs.amemgym.llm.schema import listed_types
from amemgym_envs.amemgym.llm.usage import Usage
from amemgym_envs.amemgym.records import Scenario
from amemgym_envs.amemgym.simulator import ScriptedUser

_LONGEST = 4000  # characters of a message
_TELLING = 30  # characters of a message that nobody says twice by accident
_SPEAKERS = {"user": "The person", "assistant": "The assistant"}
_QUOTES = ('""', "''", "“”", "「」")
_TIME = re.compile(r"^\[Current Time: .*\]\n")  # an opening's; the prompt has the time already
_LABEL = re.compile(r"(the person|user)\s*:\s*", re.IGNORECASE)


@dataclass
class Tally:
    """``asked``: replies of the model that were looked at; of these ``leaked`` named a tracked value and ``unusable`` were empty,
    endless or an echo. ``fell_back``: messages that the script had to say instead."""

    asked: int = 0
    leaked: int = 0
    unusable: int = 0
    fell_back: int = 0


class Speaker:
    """The model that plays users, the same for all of them. Its replies stand in ``journal``, if there is one.

    ``sampling`` gives the sampling keys of a request from its seed. ``history``: messages of the session that are shown, the last
    ones. ``tries``: replies at most for one message. Many threads may ask at once.
    """

    def __init__(
        self,
        usage: Usage,
        journal: Journal | None,
        sampling: Callable[[int], Mapping[str, Any]],
        history: int = 8,
        tries: int = 3,
    ) -> None:
        self.usage, self.journal, self.sampling = usage, journal, sampling
        self.history, self.tries = history, tries
        self.tally = Tally()
        self._background = Background("users")  # counts, journal and connections are touched in its thread alone

    def say(self, request: str, secrets: Sequence[str], said: Sequence[str], place: Sequence[Any]) -> Future[str | None]:
        """The model's reply to ``request`` that names none of ``secrets`` and echoes nothing that was ``said`` before, when it
        comes; None if no such one did.

        ``place``, JSON values, tells messages apart that are asked for in the same words. EndpointError: the endpoint is of no
        use.
        """
        return self._background.begin(self._say(request, secrets, said, place))

    def close(self) -> None:
        self._background.close()
        if self.journal is not None:
            self.journal.close()

    def line(self) -> str:
        """For people."""
        tally = self.tally
        return (
            f"{self.usage.line()}; {tally.leaked} of {tally.asked} messages leaked and {tally.unusable} were unusable, "
            f"{tally.fell_back} taken from the script"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON values only."""
        return {**self.usage.to_dict(), **{field.name: getattr(self.tally, field.name) for field in fields(self.tally)}}

    async def _say(self, request: str, secrets: Sequence[str], said: Sequence[str], place: Sequence[Any]) -> str | None:
        opening = messages = [{"role": "user", "content": request}]
        for number in range(self.tries):
            text = spoken(await self._reply(messages, [*place, number]))
            self.tally.asked += 1
            named = [value for value in secrets if mentions(text, value)]
            if named:
                self.tally.leaked += 1
                problem = f"it names {', '.join(value.replace('_', ' ') for value in named)}"
            elif not 0 < len(text) <= _LONGEST:
                self.tally.unusable += 1
                problem = f"it has {len(text)} characters"
            elif any(echoes(text, one) for one in said):
                self.tally.unusable += 1
                problem = "it repeats what was said before"
            else:
                return text
            complaint = {"role": "user", "content": prompt("follow_up_again", problem=problem)}
            messages = [*opening, {"role": "assistant", "content": text[:_LONGEST] or "(nothing)"}, complaint]
        self.tally.fell_back += 1
        return None

    async def _reply(self, messages: list[dict[str, str]], place: list[Any]) -> str:
        endpoint = self.usage.endpoint
        seed = int.from_bytes(hashlib.sha256(request_key(place).encode()).digest()[:4], "big") // 2  # 31 bits
        sampling = self.sampling(seed)
        key = request_key(endpoint.address, endpoint.model, messages, sampling, place)
        return (await self.usage.reply(messages, sampling, self.journal, key)).text


class LLMUser(ScriptedUser):
    """The scenario's user with its own openings and off-topic messages, whose follow-ups ``speaker`` words."""

    blocking = True

    def __init__(self, scenario: Scenario, seed: int, speaker: Speaker) -> None:
        super().__init__(scenario, seed)
        self.speaker = speaker
        self._asked: Future[str | None] | None = None
        self._closed = False

    def close(self) -> None:
        """Whoever waits for an answer in another thread gets CancelledError."""
        self._closed = True
        if self._asked is not None:
            self._asked.cancel()

    def follow_up(self, period: int, session: int, round: int, talk: Sequence[dict[str, str]] = ()) -> str:
        """The answer to ``talk``; blocks. EndpointError when the model's endpoint is of no use."""
        scripted = super().follow_up(period, session, round, talk)
        told = self.scenario.periods[period].sessions[session]
        if round <= len(told.off_topic):
            return scripted
        shown = [(message["role"], _TIME.sub("", message["content"])) for message in talk[-self.speaker.history :]]
        request = prompt(
            "follow_up",
            person=self._person(),
            time=told.session_time,
            conversation="\n".join(f"{_SPEAKERS[role]}: {text}" for role, text in shown),
            language=language_name(self.scenario.language),
            types=listed_types(self.scenario.state_schema),
        )
        place = [self.seed, self.scenario.id, period, session, round]
        said = [one for _, text in shown if (one := " ".join(text.split()))]
        self._asked = self.speaker.say(request, self.secrets(period, session), said, place)
        if self._closed:  # before there was anything to cancel
            self._asked.cancel()
        return self._asked.result() or scripted

    def secrets(self, period: int, session: int) -> list[str]:
        """The values that must not be named: all that are tracked, but for those that the opening itself exposes in words."""
        told = self.scenario.periods[period].sessions[session]
        exposed = set(told.exposed_states.values())
        values = dict.fromkeys(value for values in self.scenario.state_schema.values() for value in values)
        # a file that does not say what an opening exposes leaves it to the words
        return [value for value in values if not ((value in exposed or not exposed) and mentions(told.query, value))]

    def _person(self) -> str:
        profile = self.scenario.user_profile
        told = profile.get("formatted_str")
        return str(told) if told else "\n".join(f"{key}: {value}" for key, value in profile.items() if key != "uuid")


def echoes(text: str, said: str) -> bool:
    """Whether one of them is in the other, and long enough for that to be no accident."""
    return text == said or (min(len(text), len(said)) >= _TELLING and (text in said or said in text))


def spoken(text: str) -> str:
    """The message in a reply, on one line: without a reasoning model's thoughts, a speaker's name or quotation marks."""
    said = " ".join(text.rpartition("</think>")[2].split())
    if said.startswith("<think>"):  # cut off among its thoughts
        return ""
    while label := _LABEL.match(said):
        said = said[label.end() :]
    said = said.partition(f"{_SPEAKERS['assistant']}:")[0].strip()  # small models speak for both
    if len(said) > 1 and said[0] + said[-1] in _QUOTES and said[0] not in said[1:-1]:
        said = said[1:-1].strip()
    return said
