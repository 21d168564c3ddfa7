"""Sessions of a generated user: which states an opening utterance tells, and in which words."""

from collections.abc import Sequence
from datetime import date
from random import Random

from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.generator.dates import session_times
from amemgym_envs.amemgym.generator.life import Schema, State, changes
from amemgym_envs.amemgym.languages import DIRECTNESS, Variable, phrased
from amemgym_envs.amemgym.records import Session


class Teller:
    """Words the states of one user. Each purpose has its stream: a setting that is off changes nothing else."""

    def __init__(self, config: GeneratorConfig, user: int, variables: dict[str, Variable], schema: Schema, name: str) -> None:
        self.config, self.words = config, config.words
        self.variables, self.schema = variables, schema
        self._rng = config.stream(user, "sessions")
        self._directness = config.stream(user, "directness")
        self._noise = config.stream(user, "noise")
        self._events = config.stream(user, "told events")
        people = [*self.words.personas["female"], *self.words.personas["male"]]
        self._people = [person for person in people if person not in name]

    def tell(self, period: int, states: list[State], begin: date | None, end: date) -> list[Session]:
        """The sessions of one period, from ``begin`` to ``end``: at first they tell lasting facts, later what changed."""
        now, first = states[period], period == 0
        changed = list(changes(states, period))
        names = self._rng.sample(changed, len(changed))
        per_session = self.config.states_per_session if first else self.config.changes_per_session
        sessions = [self._session(names[i : i + per_session], now, first) for i in range(0, len(names), per_session)]
        for session, time in zip(sessions, session_times(begin, end, len(sessions), self._rng), strict=True):
            session.session_time = time
        return sessions

    def summary(self, names: list[str], rng: Random) -> str:
        """What changed in a period, by topic."""
        return self._about(self.words.summaries, names, rng)

    def _session(self, names: list[str], now: State, first: bool) -> Session:
        parts = [self._rng.choice(self.words.openers if first else self.words.news_openers)]
        for name in names:
            if self._noise.random() < self.config.contradictions:
                wrong = self._noise.choice([value for value in self.schema[name] if value != now[name]])
                parts += [self._said(name, wrong, first, self._noise), self._phrase(self.words.corrections)]
            parts.append(self._said(name, now[name], first, self._rng))
        if self._noise.random() < self.config.distractor_values:
            parts.append(self._report(now))
        event = self._about(self.words.introductions if first else self.words.events, names, self._events)
        extra = {}
        if self.config.noise_rounds:
            off_topic = phrased(self.words.off_topic, self.config.phrasings)
            extra["off_topic"] = _dealt(off_topic, self.config.noise_rounds, self._noise)
        exposed = {name: now[name] for name in names}
        return Session(event, exposed, self.words.joiners.sentences.join(parts), [], "", extra)

    def _said(self, name: str, value: str, first: bool, rng: Random) -> str:
        """A sentence of the user that tells ``value``, as directly as the settings' mix has it."""
        kinds = [kind for kind in DIRECTNESS if self.config.mix[kind]]
        kind = kinds[0]
        if len(kinds) > 1:
            kind = self._directness.choices(kinds, [self.config.mix[k] for k in kinds])[0]
        return rng.choice(self.variables[name].sentences(value, kind, first=first, phrasings=self.config.phrasings))

    def _report(self, now: State) -> str:
        """Another person's value of something that is tracked for the user, never the user's own."""
        name = self._noise.choice(list(now))
        value = self._noise.choice([value for value in self.schema[name] if value != now[name]])
        said = self._noise.choice(self.variables[name].sentences(value, "direct", first=True, phrasings=self.config.phrasings))
        return self._phrase(self.words.reports).format(name=self._noise.choice(self._people), said=said)

    def _phrase(self, phrases: tuple[str, ...]) -> str:
        return self._noise.choice(phrased(phrases, self.config.phrasings))

    def _about(self, carriers: tuple[str, ...], names: list[str], rng: Random) -> str:
        return rng.choice(carriers).format(topics=self.words.listed([self.variables[name].asks for name in names]))


def _dealt(texts: Sequence[str], count: int, rng: Random) -> list[str]:
    """``count`` of them, none again before all were taken."""
    whole, rest = divmod(count, len(texts))
    return [text for _ in range(whole) for text in rng.sample(texts, len(texts))] + rng.sample(texts, rest)
