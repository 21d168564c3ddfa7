"""Off-topic sessions that make a conversation as long as it is asked to be."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from statistics import fmean

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.generator.config import GeneratorConfig
from amemgym_envs.amemgym.generator.dates import other_times
from amemgym_envs.amemgym.generator.periods import Window
from amemgym_envs.amemgym.languages import phrased, wording
from amemgym_envs.amemgym.languages.words import mentions
from amemgym_envs.amemgym.records import Scenario, Session

Count = Callable[[str], float]  # the tokens of a text


def session_tokens(session: Session, rounds: int, reply_tokens: int, count: Count, follow_up: float) -> float:
    """Tokens of one session: its opening, off-topic messages, follow-ups of ``follow_up`` tokens, and a reply to each message."""
    off_topic = session.off_topic
    said = sum(map(count, [session.query, *off_topic])) + (rounds - 1) * follow_up
    return said + (rounds + len(off_topic)) * reply_tokens


def conversation_tokens(scenario: Scenario, count: Count | None = None) -> float:
    """Tokens of the whole conversation, as its item says it is to be played (else as the generator's defaults say).

    ``count`` counts those of a text; None: an estimate from its bytes. A chat template's own tokens come on top.
    """
    words, origin = wording(scenario.language), scenario.origin
    follow_up = words.follow_up_tokens if count is None else fmean(map(count, words.follow_ups))
    first, later = (origin.get(name, getattr(GeneratorConfig, name)) for name in ("rounds_init", "rounds_update"))
    rounds = [first, *[later] * (len(scenario.periods) - 1)]
    reply = origin.get("reply_tokens", GeneratorConfig.reply_tokens)
    return sum(
        session_tokens(session, r, reply, count or words.tokens, follow_up)
        for r, period in zip(rounds, scenario.periods, strict=True)
        for session in period.sessions
    )


def fill(
    config: GeneratorConfig, user: int, told: list[list[Session]], windows: list[Window], avoid: Sequence[str] = ()
) -> list[list[Session]]:
    """Off-topic sessions for each period, dealt evenly, until the whole conversation has ``target_tokens``.

    No text that mentions a phrase of ``avoid`` is used: a schema from elsewhere may have everyday words for values.
    """
    filling: list[list[Session]] = [[] for _ in told]
    if not config.target_tokens:
        return filling
    rng = config.stream(user, "filling")
    for number, text in enumerate(_texts(config, told, avoid, rng)):
        filling[number % len(told)].append(Session(None, {}, text, [], ""))
    for own, others, (begin, end) in zip(filling, told, windows, strict=True):
        times = other_times(begin, end, len(own), {session.session_time for session in others}, rng)
        for session, time in zip(own, times, strict=True):
            session.session_time = time
    return filling


def _texts(config: GeneratorConfig, told: list[list[Session]], avoid: Sequence[str], rng: Random) -> Iterator[str]:
    """Opening utterances for period 0, 1, ..., 0, 1, ... until the target is reached."""
    words, rounds = config.words, [config.rounds_init, *[config.rounds_update] * (len(told) - 1)]

    def cost(session: Session, period: int) -> float:
        return session_tokens(session, rounds[period], config.reply_tokens, words.tokens, words.follow_up_tokens)

    missing = config.target_tokens - sum(cost(session, p) for p, period in enumerate(told) for session in period)
    texts = [t for t in phrased(words.off_topic, config.phrasings) if not any(mentions(t, phrase) for phrase in avoid)]
    if not texts:
        raise ScenarioError(
            f"every off-topic text of language {config.language!r} mentions a value of the schema; add neutral ones"
        )
    costs = {text: [cost(Session(None, {}, text, [], ""), p) for p in range(min(len(told), 2))] for text in texts}
    deck: list[str] = []
    period = 0
    while missing > 0:
        if not deck:
            deck = rng.sample(texts, len(texts))  # like cards: nothing is said again before everything was said
        text = deck.pop()
        missing -= costs[text][min(period, 1)]
        period = (period + 1) % len(told)
        yield text
