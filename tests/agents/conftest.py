"""What the tests of agents share: users, steps of AMemGym, and a policy that writes what it is told and reads what it recalls."""

from dataclasses import dataclass, field

import pytest

from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.policy.base import Sampling
from amemgym_train.policy.oracle import ScriptedPolicy


@dataclass
class Replies(ScriptedPolicy):
    """Gives out ``writes`` one after the other to write calls, ``other`` to the rest; keeps the requests."""

    writes: list[str] = field(default_factory=list)
    other: str = "{}"
    requests: list = field(default_factory=list)
    tokenizer = None

    def reply(self, request):
        self.requests.append(request)
        return self.writes.pop(0) if request.operation == "write" and self.writes else self.other

    def of(self, step):
        return [request for request in self.requests if request.facts.get("step", request.operation) == step]


@pytest.fixture
def replies():
    return Replies


@pytest.fixture(scope="session")
def scenarios():
    """{id: scenario} of two users."""
    config = GeneratorConfig(seed=5, num_users=2, num_variables=6, num_periods=2, num_questions=4, num_changes_per_period=2)
    return {scenario.id: scenario for scenario in generate(config)}


@pytest.fixture
def make():
    def make(name, policy, **config):
        return build_agent(AgentConfig(name=name, **{"respond": "fixed"} | config), policy, "episode", 7, Sampling())

    return make


@pytest.fixture
def session():
    """A session's step: its info."""

    def info(number, exposed=None, period=0, round=0):
        place = {"period": period, "session": number, "round": round, "rounds": 1}
        return {"kind": "session", **place, "exposed": exposed or {}, "time": f"2020-{period + 1:02d}-{number + 1:02d} 09:00:00"}

    return info


@pytest.fixture
def question():
    return {"kind": "question", "period": 0, "question": 4, "choices": ["a", "b", "c"], "query": "Which pet?"}
