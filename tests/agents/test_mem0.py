"""The real package mem0 behind our policy: two calls per write, no service, no message of its own to anybody."""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys

import pytest

from amemgym_train.errors import Unscorable
from amemgym_train.policy.oracle import ScriptedPolicy

if importlib.util.find_spec("mem0") is None:  # importing it here would switch its telemetry on
    pytest.skip("the package mem0ai is not installed (extra mem0)", allow_module_level=True)


def facts(*texts):
    return json.dumps({"facts": texts})


def memory(*items):
    return json.dumps({"memory": items})


@pytest.fixture
def talked(make, replies, session):
    def talked(*writes, sessions=1, agent=None, **config):
        policy = replies(list(writes))
        agent = agent or make("mem0", policy, **{"local_length": 0} | config)
        agent.policy = policy

        async def talk():
            for number in range(sessions):
                await agent.act(f"news {number}", session(number, {f"state {number}": f"value {number}"}))

        asyncio.run(talk())
        return agent, policy

    return talked


ADDED = (facts("pet: cat"), memory({"id": "0", "event": "ADD", "text": "pet: cat"}))


def test_both_calls_of_mem0_go_through_the_policy(talked):
    agent, policy = talked(*ADDED, facts("pet: dog"), memory({"id": "0", "event": "UPDATE", "text": "pet: dog"}), sessions=2)
    assert [turn.slot for turn in agent.turns] == [f"write/p0/{n}/{step}" for n in (0, 1) for step in ("facts", "decide")]
    assert [turn.meta["parsed"] for turn in agent.turns] == ["strict"] * 4
    assert agent.turns[2].meta["exposed"] == {"state 1": "value 1"}
    assert "news 1" in policy.of("facts")[1].messages[-1]["content"]  # mem0's own words around it
    assert "pet: cat" in policy.of("decide")[1].messages[-1]["content"]
    assert [one.entries for one in agent.memories] == [
        [{"label": "memory", "value": "pet: cat", "timestamp": "2020-01-01 09:00:00"}],
        [{"label": "memory", "value": "pet: dog", "timestamp": "2020-01-02 09:00:00"}],
    ]
    assert [one.turn for one in agent.memories] == [1, 3]
    assert asyncio.run(agent.recall("pet")) == ["[2020-01-02 09:00:00] pet: dog"]
    assert asyncio.run(agent.recall(" ")) == []


@pytest.mark.parametrize("reply", ["no JSON", facts()])
def test_a_reply_without_facts_leaves_the_memory(talked, reply):
    agent, _ = talked(*ADDED, reply, sessions=2)
    assert len(agent.turns) == 3 and [one.entries[0]["value"] for one in agent.memories] == ["pet: cat"] * 2


def test_a_loaded_agent_recalls_and_goes_on_the_same(talked, make, replies):
    three = (facts("a", "b", "c"), memory(*[{"id": str(i), "event": "ADD", "text": f"{t} cat"} for i, t in enumerate("abc")]))
    agent, _ = talked(*three)
    other = make("mem0", replies(), local_length=0)
    state = json.loads(json.dumps(agent.save()))
    other.load(state)
    for one in (agent, other):
        assert asyncio.run(one.recall("b cat")) == [f"[2020-01-01 09:00:00] {t} cat" for t in "abc"]
        talked(facts("d"), memory({"id": "0", "event": "ADD", "text": "d dog"}), agent=one)
    assert other.save() == agent.save() and len(other.save()["entries"]) == 4
    other.load({})
    assert other.save()["entries"] == [] and asyncio.run(other.recall("cat")) == []


def test_a_loaded_agent_keeps_the_order_in_which_memories_were_made(talked, make, replies):
    agent, _ = talked(facts("a", "b"), memory(*[{"id": str(i), "event": "ADD", "text": f"{t} cat"} for i, t in enumerate("ab")]))
    update = [{"id": "0", "event": "UPDATE", "text": "a cat now"}, {"id": "1", "event": "UPDATE", "text": "b cat now"}]
    talked("none", facts("a cat"), memory(update[0]), sessions=2, agent=agent)  # a is newer than b now, though made first
    assert [entry["value"] for entry in agent.memories[-1].entries] == ["b cat", "a cat now"]
    other = make("mem0", replies(), local_length=0)
    other.load(agent.save())
    assert asyncio.run(other.recall("cat")) == asyncio.run(agent.recall("cat"))
    for one in (agent, other):
        talked("none", "none", facts("a cat"), memory(*update), sessions=3, agent=one)
    assert other.memories[-1].entries == agent.memories[-1].entries and other.save() == agent.save()
    assert [entry["value"] for entry in agent.memories[-1].entries] == ["a cat now", "b cat now"]


def test_an_agents_thread_ends_with_it(talked):
    agent, _ = talked(*ADDED)
    [thread] = agent.thread._threads
    del agent
    thread.join(10)
    assert not thread.is_alive()


def test_no_folder_is_left(tmp_path):
    code = "from amemgym_train.agents.mem0 import open_store; from amemgym_train.agents.retrieval.embedders import embedder; "
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code + "open_store(embedder(None))"], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_policy_ends_the_write_though_mem0_would_go_on(make, session):
    class Broken(ScriptedPolicy):
        def reply(self, request):
            if request.facts["step"] == "decide":
                raise Unscorable("server gone")
            return facts("pet: cat")

    with pytest.raises(Unscorable, match="server gone"):
        asyncio.run(make("mem0", Broken(), local_length=0).act("news", session(0)))


def test_many_agents_at_once_that_wait_for_each_other(make, session):
    """A batching policy answers when all of them have asked: that needs a thread for each."""
    count = 40

    class Together(ScriptedPolicy):
        waiting, ready = 0, None

        def reply(self, request):
            return {"facts": facts("pet: cat"), "decide": ADDED[1]}[request.facts["step"]]

        async def complete(self, request):
            self.waiting += 1
            if self.waiting % count == 0:
                self.ready, ready = asyncio.Event(), self.ready
                ready.set()
            else:
                await self.ready.wait()
            return await super().complete(request)

    async def live():
        policy = Together()
        policy.ready = asyncio.Event()
        agents = [make("mem0", policy, local_length=0) for _ in range(count)]
        await asyncio.wait_for(asyncio.gather(*[agent.act("news", session(0)) for agent in agents]), 60)
        assert all(len(agent.memories[0].entries) == 1 for agent in agents)

    asyncio.run(live())


def test_nothing_is_sent_anywhere(talked, monkeypatch):
    import socket

    import mem0.memory.main
    import mem0.memory.telemetry

    tried = []
    monkeypatch.setattr(socket.socket, "connect", lambda self, address: tried.append(address))
    for module in (mem0.memory.main, mem0.memory.telemetry):  # as if somebody had imported mem0 before
        monkeypatch.setattr(module, "MEM0_TELEMETRY", True)
    talked(*ADDED)
    assert not mem0.memory.main.MEM0_TELEMETRY and not mem0.memory.telemetry.MEM0_TELEMETRY
    assert tried == []
