"""Where metrics go besides the run's own metrics.jsonl."""

from typing import Any, Literal

from pydantic import field_validator

from amemgym_train.config.base import Section


class TrackingConfig(Section):
    """``wandb``: "offline" keeps the W&B run in the run's folder, for ``wandb sync``. ``entity`` None: your default one."""

    wandb: Literal["off", "offline", "online"] = "off"
    project: str = "amemgym-train"
    entity: str | None = None

    @field_validator("wandb", mode="before")
    @classmethod
    def _bare_off(cls, value: Any) -> Any:
        return "off" if value is False else value  # YAML reads a bare `off` as false
