"""Agents that fail as they are told to, unless a reflection reminds them."""

import json

import pytest

from amemgym_envs.amemgym.environment import AMemGymEnv
from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.config.scenarios import ScenarioConfig
from amemgym_train.policy.oracle import OraclePolicy
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.runner import play

AGENT = AgentConfig(name="awi", local_length=0, flush="period", respond="fixed")
USERS = ScenarioConfig.model_validate({"num_users": 3, "num_variables": 4, "num_questions": 3, "num_periods": 1})
SAID = "Do not forget", "The choice that fits", "You will be asked", "This choice is wrong"


class Forgetful(OraclePolicy):
    """Reads what its prompt says, answers right, and gets the operations ``fails`` wrong. ``obeys``: which a reflection mends."""

    def __init__(self, scenario, tokenizer, fails, obeys):
        super().__init__(scenario, tokenizer)
        self.fails, self.obeys, self.seen = fails, obeys, []

    def reply(self, request):
        said = request.messages[-1]["content"]
        hint = next((word for word in SAID if word in said), None)
        if hint:
            self.seen.append((request.slot, said))
        right = json.loads(super().reply(request))
        if request.operation == "read":  # of a note or a hint
            right = {state: value for state, value in right.items() if f"{state}: {value}" in said}
        if request.operation not in self.fails or (request.operation in self.obeys and hint):
            return json.dumps(right)
        if request.operation == "write":
            return json.dumps({"topic": "forgotten"})
        if request.operation == "read":
            return "{}"
        return json.dumps({"answer": right["answer"] % request.facts["choices"] + 1})


class Both:
    """The policy of each user's own, as one."""

    version = "both"

    def __init__(self, policies):
        self.policies = policies

    def enter(self, episode):
        pass

    leave = enter

    async def complete(self, request):
        return await self.policies[request.episode.split("/")[1]].complete(request)


@pytest.fixture(scope="session")
def users():
    return {scenario.id: scenario for scenario in USERS.build()}


@pytest.fixture
def environment(users):
    return lambda task: AMemGymEnv([users[task.id]])


@pytest.fixture
def forgetful(users, tokenizer):
    """Makes the policy of agents that get the given operations wrong."""

    def make(*fails, obeys=("write", "read", "answer")):
        return Both({name: Forgetful(one, tokenizer, fails, obeys) for name, one in users.items()})

    return make


@pytest.fixture
def agents():
    return lambda policy: lambda task, episode, seed: build_agent(AGENT, policy, episode, seed)


@pytest.fixture
def first(users, environment, agents):
    """Plays groups of two with a policy."""
    tasks = [Task(name, name, number) for name in users for number in range(2)]
    return lambda policy: play(environment, tasks, agents(policy), label=None)
