"""Every registered environment keeps the contract."""

import pytest

from amemgym_envs.check import check, plan
from amemgym_envs.registry import CLASSES, class_of, lacking
from amemgym_envs.tasks import TaskEnv


@pytest.mark.parametrize("name", CLASSES)
def test_nothing_is_red(name):
    if missing := lacking(class_of(name).card):
        pytest.skip(f"{name} needs {', '.join(missing)}")
    found = list(check(plan(name, seeds=1, tasks=3, garbage=150, seconds=0.02, instances=20)))
    assert not [result for result in found if result.level == "red"]
    doubtful = [result.name for result in found if result.level == "yellow"]
    assert set(doubtful) <= ({"expert", "memory", "garbage"} if issubclass(class_of(name), TaskEnv) else {"expert", "random"})
