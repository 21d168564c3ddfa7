"""Every registered environment keeps the contract."""

import pytest

from amemgym_envs.check import check, plan
from amemgym_envs.registry import CLASSES, class_of, lacking
from amemgym_envs.tasks import TaskEnv


@pytest.mark.parametrize("name", CLASSES)
def test_nothing_is_red(name):
    if missing := lacking(class_of(name).card):
        pytest.skip(f"{name} needs {', '.join(missing)}")
    found = {one.name: one for one in check(plan(name, seeds=1, tasks=3, garbage=150, seconds=0.02, instances=20))}
    assert not [result for result in found.values() if result.level == "red"]
    assert found["gymnasium"].level == found["processes"].level == "green"
    if issubclass(class_of(name), TaskEnv):
        assert found["expert"].figures["share"] > 0.5 and found["random"].figures["episodes"] == 9
