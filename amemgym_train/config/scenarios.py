"""Which users are played: read from a data file, or generated."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from amemgym_train.config.base import Section
from amemgym_train.config.user import UserConfig
from amemgym_train.errors import UserError

if TYPE_CHECKING:
    from amemgym_envs.amemgym.generator import GeneratorConfig
    from amemgym_envs.amemgym.scenario import Scenario

PLAYED = {"rounds_init", "rounds_update"}  # also how a scenario is played; every other key says which scenarios
FROM_FILE = {"data", "users"}
ROLES: dict[str, dict[str, Any]] = {
    "train": {"split": "train", "phrasings": "train", "user_offset": 0},
    "validation": {"split": "validation", "phrasings": "test", "user_offset": 1_000_000},
    "test": {"split": "test", "phrasings": "test", "user_offset": 2_000_000},
}


class ScenarioConfig(Section):
    """``data`` (a data.json, with ``users`` to choose ids from it) or the keys of the generator, never both.

    ``rounds_init`` and ``rounds_update``: exchanges per session in the first period and in the later ones (default: as the data
    says it was made for, else 1). The generator's keys are those of ``amemgym_envs.amemgym.generator.GeneratorConfig`` and mean
    the same; ``preset`` sets many of them at once, and keys of the public generator are taken under their own names too.
    """

    data: str | None = None
    users: list[str] | None = Field(None, min_length=1)

    seed: int = Field(0, ge=0)
    num_users: int = Field(8, ge=1)
    split: Literal["train", "validation", "test", "all"] = "train"
    phrasings: Literal["train", "test", "all"] = "train"
    num_variables: int = Field(8, ge=1)
    num_periods: int = Field(3, ge=0)
    num_questions: int = Field(6, ge=1)
    num_states_per_question: int = Field(2, ge=1)
    num_changes_per_period: int = Field(2, ge=1)
    max_changes_per_state: int = Field(2, ge=1)
    num_choices: int = Field(4, ge=2)
    states_per_session: int = Field(2, ge=1)
    changes_per_session: int = Field(1, ge=1)
    start_date: str = Field("2020-10-01", pattern=r"^\d{4}-\d\d-\d\d$")
    num_months_per_period: int = Field(3, ge=1)
    user_offset: int = Field(0, ge=0)
    language: str = "en"
    pool: int = Field(0, ge=0)
    disjoint: Literal["variables", "personas"] = "variables"
    domains: list[str] = Field(default_factory=list)
    personas: str = ""
    num_choices_per_state: int = Field(4, ge=2)
    difficulty: str | dict[str, float] = "direct"
    noise_rounds: int = Field(0, ge=0)
    target_tokens: int = Field(0, ge=0)
    reply_tokens: int = Field(150, ge=0)
    distractor_values: float = Field(0.0, ge=0, le=1)
    contradictions: float = Field(0.0, ge=0, le=1)

    preset: str | None = None
    rounds_init: int | None = Field(None, ge=1)
    rounds_update: int | None = Field(None, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _own_names(cls, section: Any) -> Any:
        if not isinstance(section, dict):
            return section
        from amemgym_envs.amemgym.generator import PUBLIC_KEYS, preset

        named, keys = {}, {}
        for key, value in section.items():
            own = PUBLIC_KEYS.get(key, key)
            if own in named:
                both = " and ".join(sorted([keys[own], key]))
                raise ValueError(f"{both} are the same setting: remove one")
            named[own], keys[own] = value, key
        settings = preset(str(named["preset"])) if named.get("preset") is not None else {}
        return settings | named

    @field_validator("difficulty", mode="before")
    @classmethod
    def _weights(cls, value: Any) -> Any:
        if isinstance(value, dict) and any(isinstance(weight, bool) for weight in value.values()):
            raise ValueError(f"got {value}, expected weights that are numbers")  # true would pass for 1
        return value

    @field_validator("start_date", mode="before")
    @classmethod
    def _bare_date(cls, value: Any) -> Any:
        return value.isoformat() if isinstance(value, date) else value  # YAML reads an unquoted date as one

    @model_validator(mode="after")
    def _one_source(self) -> ScenarioConfig:
        given = self.model_fields_set - PLAYED - FROM_FILE
        if self.data is not None and given:
            keys, whole = ", ".join(sorted(given)), f"{{data: {self.data}}}"
            raise ValueError(f"data names a file, and generator keys do not apply: remove {keys}, or override all with {whole}")
        if self.data is None and self.users is not None:
            raise ValueError("users chooses ids from a file: add data, or remove users (the generator takes num_users)")
        return self

    def at(self, iteration: int) -> ScenarioConfig:
        """The same scenarios with the next users: iteration i skips ``i * num_users`` of them. A file stays as it is."""
        if self.data is not None:
            return self
        return self.model_copy(update={"user_offset": self.user_offset + iteration * self.num_users})

    def generator(self) -> GeneratorConfig:
        """The generator's own configuration. Raises ValueError where ``data`` is set."""
        from amemgym_envs.amemgym.generator import GeneratorConfig

        if self.data is not None:
            raise ValueError(f"the scenarios come from {self.data}, not from the generator")
        settings = self.model_dump(exclude=PLAYED | FROM_FILE | {"preset"})
        return GeneratorConfig(**settings, rounds_init=self.rounds_init or 1, rounds_update=self.rounds_update or 1)

    def build(self) -> list[Scenario]:
        """The scenarios, in the order of their file or generator.

        Raises UserError for a file that is absent, broken or lacks a user, and for keys that the generator cannot satisfy.
        """
        from amemgym_envs.amemgym.generator import generate
        from amemgym_envs.amemgym.scenario import ScenarioError, load_scenarios

        try:
            if self.data is None:
                return generate(self.generator())
            scenarios = {scenario.id: scenario for scenario in load_scenarios(self.data)}
        except ScenarioError as error:
            raise UserError(str(error)) from error
        absent = [user for user in self.users or [] if user not in scenarios]
        if absent:
            raise UserError(f"{self.data} has no user {', '.join(absent)}; its users: {', '.join(scenarios)}")
        return [scenario for scenario in scenarios.values() if self.users is None or scenario.id in self.users]


class RolesConfig(Section):
    """One source of users per role. Unless said otherwise each role generates from its own variables, phrasings and users."""

    train: ScenarioConfig
    validation: ScenarioConfig
    test: ScenarioConfig

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_role(cls, sections: Any) -> Any:
        if not isinstance(sections, dict):
            return sections
        return sections | {role: _with_defaults(sections.get(role, {}), defaults) for role, defaults in ROLES.items()}


class ScenariosConfig(RolesConfig):
    """``user``: who plays all users, those of ``environments`` too; None: a script."""

    user: UserConfig | None = None


def _with_defaults(section: Any, defaults: dict[str, Any]) -> Any:
    if not isinstance(section, dict) or section.get("data") is not None:
        return section
    return defaults | section
