"""Where metrics go besides the run's own metrics.jsonl."""

from typing import Any, Literal

from pydantic import Field, field_validator

from amemgym_train.config.base import Section


class TrackingConfig(Section):
    """``wandb``: "offline" keeps the W&B run in the run's folder, for ``wandb sync``. ``entity`` None: your default one.

    ``episodes``: of each validation, those that W&B shows as a table with their diagnosis (0: none). ``artifacts``: whether W&B
    gets the adapter and the prompts of every iteration. ``report_to``: other boards that get the same metrics.
    """

    wandb: Literal["off", "offline", "online"] = "off"
    project: str = "amemgym-train"
    entity: str | None = None
    episodes: int = Field(32, ge=0)
    artifacts: bool = True
    report_to: list[Literal["tensorboard", "trackio"]] = []

    @field_validator("wandb", mode="before")
    @classmethod
    def _bare_off(cls, value: Any) -> Any:
        return "off" if value is False else value  # YAML reads a bare `off` as false
