"""What to generate: the generator's settings, and what follows from them for one user."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import blake2s
from random import Random
from typing import NoReturn

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.generator.limits import check_limits
from amemgym_envs.amemgym.languages import DIRECTNESS, Variable, Wording, wording

# Keys of the public generator that are called otherwise here.
PUBLIC_KEYS = {
    "num_user_profiles": "num_users",
    "min_state_variants": "num_choices",
    "num_rounds_init": "rounds_init",
    "num_rounds_update": "rounds_update",
    "lang": "language",
}
# Neither how many users there are nor from which domains their variables come is part of an id: recipes may narrow a grown pack.
_IDS_LEAVE_OUT = ("num_users", "user_offset", "domains")
_SINCE_FIRST = (  # settings that came later: at their default they leave ids as they were
    "pool",
    "disjoint",
    "personas",
    "num_choices_per_state",
    "rounds_init",
    "rounds_update",
    "difficulty",
    "noise_rounds",
    "target_tokens",
    "reply_tokens",
    "distractor_values",
    "contradictions",
)
_ONLY_FILLING = ("rounds_init", "rounds_update", "reply_tokens")  # they change a user only through target_tokens


@dataclass(frozen=True)
class GeneratorConfig:
    """What to generate; ScenarioError for a combination that cannot hold. docs/scenarios.md explains every key.

    ``num_periods`` counts the periods after the initial one. ``split`` says for whom the users are; ``disjoint`` what no two
    splits share: ``variables`` (a user has variables of the split only) or ``personas`` (all variables, other people).
    ``phrasings`` says which wordings they use, ``difficulty`` how directly they speak: one of DIRECTNESS, ``mixed``, or weights
    like {"direct": 1, "event": 3}. ``domains`` keeps only these domains (empty: all), ``pool`` only so many variables, from as
    many domains as there are (0: all). ``num_choices_per_state`` values stand in the schema for each variable.
    ``states_per_session`` facts are told per session at first, ``changes_per_session`` later.

    ``noise_rounds`` off-topic messages follow the opening of each session. ``target_tokens`` (0: off) adds off-topic sessions
    until the conversation, played with ``rounds_init`` and ``rounds_update`` user messages per session and assistant replies of
    ``reply_tokens`` tokens, is that long. ``distractor_values``: share of sessions that quote another person's value;
    ``contradictions``: share of told states that are first told wrong and then corrected. ``personas``: a file of personas.
    ``user_offset`` is the number of the first user.
    """

    seed: int = 42
    num_users: int = 20
    split: str = "train"
    phrasings: str = "train"
    num_variables: int = 20
    num_periods: int = 10
    num_questions: int = 10
    num_states_per_question: int = 2
    num_changes_per_period: int = 4
    max_changes_per_state: int = 3
    num_choices: int = 4
    states_per_session: int = 2
    changes_per_session: int = 1
    start_date: str = "2020-10-01"
    num_months_per_period: int = 3
    user_offset: int = 0
    language: str = "en"
    pool: int = 0
    disjoint: str = "variables"
    domains: tuple[str, ...] = ()
    personas: str = ""
    num_choices_per_state: int = 4
    rounds_init: int = 1
    rounds_update: int = 1
    difficulty: str | Mapping[str, float] = "direct"
    noise_rounds: int = 0
    target_tokens: int = 0
    reply_tokens: int = 150
    distractor_values: float = 0.0
    contradictions: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "domains", tuple(self.domains))  # a list when it comes from YAML
        check_limits(self)

    @property
    def words(self) -> Wording:
        return wording(self.language)

    @property
    def mix(self) -> dict[str, float]:
        """The share of each directness in what the user tells."""
        if self.difficulty == "mixed":
            return {kind: 1 / len(DIRECTNESS) for kind in DIRECTNESS}
        weights = {self.difficulty: 1.0} if isinstance(self.difficulty, str) else dict(self.difficulty)
        return {kind: weights.get(kind, 0) / sum(weights.values()) for kind in DIRECTNESS}

    def stream(self, user: int, purpose: str) -> Random:
        """The random stream of one purpose for one user; adding draws to one purpose leaves the others as they are."""
        part = f"/{self.split}" if self.disjoint == "personas" else ""  # else the same lives in every split
        return Random(f"{self.seed}/{user}/{purpose}{part}")

    def available(self) -> tuple[Variable, ...]:
        """The variables of the domains and the split, whatever the pool."""
        everything = self.words.split(self.split if self.disjoint == "variables" else "all")
        return tuple(v for v in everything if not self.domains or v.domain in self.domains)

    def variables(self) -> tuple[Variable, ...]:
        """The variables a user may have: the split's, or ``pool`` of them, dealt in turn from each domain."""
        everything = self.available()
        if not self.pool:
            return everything
        domains = [v.domain for v in everything]
        turns = [domains[:i].count(domain) for i, domain in enumerate(domains)]  # how many of its domain stand before it
        return tuple(everything[i] for i in sorted(range(len(turns)), key=turns.__getitem__)[: self.pool])

    def user_id(self, user: int, persona: str = "") -> str:
        """32 hex digits; users of different settings have different ids, the number of users is no such setting."""
        defaults = {f.name: f.default for f in fields(self)}
        settings = {key: value for key, value in asdict(self).items() if key not in _IDS_LEAVE_OUT}
        for key in _SINCE_FIRST:
            if settings[key] == defaults[key] or (key in _ONLY_FILLING and not self.target_tokens):
                del settings[key]
        if "personas" in settings:
            settings["personas"] = persona  # who the user is, not where the file lies
        return blake2s(f"{settings}/{user}".encode(), digest_size=16).hexdigest()

    def fail(self, name: str, expected: str) -> NoReturn:
        raise ScenarioError(f"generator setting {name}: got {getattr(self, name)!r}, expected {expected}")
