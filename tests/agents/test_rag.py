import asyncio
import json

import pytest

from amemgym_train.agents.base import ACKNOWLEDGEMENT


@pytest.fixture
def talked(make, replies, session):
    """A RAG agent after some sessions of one exchange each, and its policy."""

    def talked(sessions, period=0, **config):
        policy = replies()
        agent = make("rag", policy, **config)

        async def talk():
            for number in range(sessions):
                await agent.act(f"I met animal{number} today", session(number, period=period))

        asyncio.run(talk())
        return agent, policy

    return talked


def test_messages_leave_the_prompt_for_the_store_without_a_call(talked, question):
    agent, policy = talked(5)
    assert len(agent.recent) == 4 and agent.turns == []
    entries = list(agent.store.entries.values())
    assert [entry["value"] for entry in entries] == [
        text for number in range(3) for text in (f"I met animal{number} today", ACKNOWLEDGEMENT)
    ]
    assert entries[2] == {"label": "User", "value": "I met animal1 today", "timestamp": "2020-01-02 09:00:00"}
    asyncio.run(agent.act("Q?", question))
    shown = policy.requests[0].messages[1]["content"]
    assert "[2020-01-02 09:00:00] User: I met animal1 today" in shown
    assert "User: I met animal4 today" in shown and "] User: I met animal4" not in shown  # still raw


def test_top_k_messages_are_shown_in_the_order_of_time(talked, question):
    agent, policy = talked(12, top_k=3, local_length=0)
    asyncio.run(agent.act("Q?", {**question, "query": "animal5, animal2 or animal9?"}))
    shown = policy.requests[0].messages[1]["content"]
    assert [f"animal{i} " in shown for i in range(12)] == [i in (2, 5, 9) for i in range(12)]
    assert shown.index("animal2 ") < shown.index("animal5 ") < shown.index("animal9 ")


def test_an_opening_that_tells_its_time_is_not_dated_again(make, replies, session):
    agent = make("rag", replies(), local_length=0)
    info = session(0)
    asyncio.run(agent.act(f"[Current Time: {info['time']}]\nHello", info))
    assert asyncio.run(agent.recall("hello")) == [
        f"User: [Current Time: {info['time']}]\nHello",
        f"[{info['time']}] Assistant: {ACKNOWLEDGEMENT}",
    ]


def test_a_snapshot_per_period_and_none_where_nothing_was_written(talked, question, session):
    agent, _ = talked(4)
    asyncio.run(agent.act("Q?", question))
    asyncio.run(agent.act("Q?", question))
    assert [(memory.turn, memory.period, len(memory.entries)) for memory in agent.memories] == [(None, 0, 4)]
    asyncio.run(agent.act("hello", session(0, period=1)))
    asyncio.run(agent.act("Q?", {**question, "period": 1}))
    assert [(memory.period, len(memory.entries)) for memory in agent.memories] == [(0, 4), (1, 6)]
    other, _ = talked(0)
    other.load(json.loads(json.dumps(agent.save())))
    asyncio.run(other.act("Q?", {**question, "period": 1}))
    assert other.memories == []  # of what it was given somebody else has told


def test_a_loaded_agent_recalls_the_same(talked, make, replies):
    agent, _ = talked(9, top_k=3)
    other = make("rag", replies(), top_k=3)
    state = json.loads(json.dumps(agent.save()))
    other.load(state)
    assert other.save() == state
    for query in ("animal1", "animal2 animal0", "?"):
        assert asyncio.run(other.recall(query)) == asyncio.run(agent.recall(query))
    other.load({})
    assert other.save() == make("rag", replies()).save()
