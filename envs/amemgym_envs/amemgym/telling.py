"""Sessions of a generated user: which states an opening utterance tells, and in which words."""

from random import Random

from amemgym_envs.amemgym.questions import listed
from amemgym_envs.amemgym.records import Session
from amemgym_envs.amemgym.templates import Variable, Wording, phrased


def tell(
    states: dict[str, str],
    variables: dict[str, Variable],
    per_session: int,
    *,
    first: bool,
    words: Wording,
    phrasings: str,
    rng: Random,
) -> list[Session]:
    """Sessions, still without times, that tell ``states`` in random order: as lasting facts when ``first``, else as changes."""
    names = rng.sample(list(states), len(states))
    sessions = []
    for i in range(0, len(names), per_session):
        told = names[i : i + per_session]
        sentences = [rng.choice(words.openers if first else words.news_openers)]
        for name in told:
            carriers = variables[name].says if first else variables[name].changes
            sentences.append(rng.choice(phrased(carriers, phrasings)).format(value=states[name]))
        event = "introduction" if first else f"change of {listed(told, ' and ')}"
        sessions.append(Session(event, {name: states[name] for name in told}, " ".join(sentences), [], ""))
    return sessions
