"""All checks of one environment, one after the other."""

from collections.abc import Callable, Iterator
from traceback import extract_tb

from amemgym_envs.check.abuse import by_garbage
from amemgym_envs.check.contract import gymnasium, rewards, tasks
from amemgym_envs.check.plan import Plan
from amemgym_envs.check.players import by_chance, by_expert
from amemgym_envs.check.result import Fault, Result, short
from amemgym_envs.check.sameness import determinism, instances, processes
from amemgym_envs.check.speed import memory, speed

CHECKS: dict[str, Callable[[Plan], Result]] = {
    "gymnasium": gymnasium,
    "tasks": tasks,
    "rewards": rewards,
    "determinism": determinism,
    "processes": processes,
    "instances": instances,
    "expert": by_expert,
    "random": by_chance,
    "garbage": by_garbage,
    "speed": speed,
    "memory": memory,
}


def check(plan: Plan) -> Iterator[Result]:
    """A result of each check; what an environment raises is one, too. Whatever its arguments refuse is raised."""
    plan.build()
    for name, one in CHECKS.items():
        try:
            yield one(plan)
        except Fault as fault:
            yield Result(name, "red", str(fault), fault.remedy)
        except Exception as error:
            place = extract_tb(error.__traceback__)[-1]
            told = f"{type(error).__name__} at {place.name}, line {place.lineno} of {place.filename}: {short(str(error), 300)}"
            yield Result(name, "red", told, "mend what it raises: reset and step raise for wrong tasks only")
