"""Proof that a data file can be played, scored and trusted."""

from amemgym_envs.amemgym.validation.report import Report
from amemgym_envs.amemgym.validation.validate import validate

__all__ = ["Report", "validate"]
