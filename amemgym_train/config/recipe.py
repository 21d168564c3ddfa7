"""A recipe: everything that decides a run, in one validated value."""

from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from amemgym_train.config.agent import AgentConfig
from amemgym_train.config.base import Section
from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.environments import EnvironmentConfig, Name
from amemgym_train.config.evaluation import EvaluationConfig
from amemgym_train.config.evolution import EvolutionConfig
from amemgym_train.config.policy import PolicyConfig
from amemgym_train.config.reflection import ReflectionConfig
from amemgym_train.config.rollout import RolloutConfig
from amemgym_train.config.sampling import SamplingConfig
from amemgym_train.config.scenarios import ScenariosConfig
from amemgym_train.config.tasks import DEFAULTS, TasksConfig
from amemgym_train.config.tracking import TrackingConfig
from amemgym_train.config.training import TrainingConfig


class Recipe(Section):
    """``name`` is also the folder of the run, under ``output``. ``environments``: several sources of users, in
    place of that of ``scenarios``; ``tasks``: an environment with a goal, in place of users."""

    name: str = Field(pattern=r"^\w[\w.-]*$")
    seed: int = Field(0, ge=0, lt=2**32)
    output: str = "runs"
    policy: PolicyConfig = PolicyConfig()
    agent: AgentConfig = AgentConfig()
    sampling: SamplingConfig = SamplingConfig()
    scenarios: ScenariosConfig = Field(default_factory=lambda: ScenariosConfig.model_validate({}))
    environments: dict[Name, EnvironmentConfig] = {}
    tasks: TasksConfig | None = None
    rollout: RolloutConfig = RolloutConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    credit: CreditConfig = CreditConfig()
    reflection: ReflectionConfig = ReflectionConfig()
    training: TrainingConfig = TrainingConfig()
    evolution: EvolutionConfig = EvolutionConfig()
    tracking: TrackingConfig = TrackingConfig()

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_tasks(cls, sections: Any) -> Any:
        """Other agents play tasks, and other calls are paid, than AMemGym's: what a recipe leaves out is what tasks need."""
        given = sections if isinstance(sections, dict) else {}
        if not isinstance(given.get("tasks"), dict):
            return sections
        defaults = DEFAULTS | ({"evaluation": {"controls": []}} if given["tasks"].get("server") else {})
        found = {key: given.get(key, {}) for key in defaults}
        return given | {key: defaults[key] | one if isinstance(one, dict) else one for key, one in found.items()}

    @model_validator(mode="before")
    @classmethod
    def _loss_of_method(cls, sections: Any) -> Any:
        """Dr. GRPO is a baseline and a way to weigh tokens: who asks for it gets both, unless the recipe says otherwise."""
        given = sections if isinstance(sections, dict) else {}
        training, credit = given.get("training"), given.get("credit", {})
        if isinstance(training, dict) and training.get("method") == "dr_grpo" and isinstance(credit, dict):
            return given | {"credit": {"loss": "dr_grpo"} | credit}
        return sections

    @property
    def measure(self) -> str:
        """The figure of an evaluation that says how good an agent is."""
        return "memory_score" if self.tasks is None else "score"

    @property
    def played(self) -> str:
        """What its episodes are of, in words."""
        return "users" if self.tasks is None else "tasks"

    @property
    def run_dir(self) -> Path:
        return Path(self.output) / self.name
