"""Does an environment keep the contract? Checks that need the environment and nothing else."""

from amemgym_envs.check.plan import Plan, plan
from amemgym_envs.check.result import Result
from amemgym_envs.check.run import check

__all__ = ["Plan", "Result", "check", "plan"]
