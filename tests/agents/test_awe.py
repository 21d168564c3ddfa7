import asyncio
import json

import pytest

from amemgym_train.agents.decisions import Decision, read_decisions, read_facts
from amemgym_train.credit.retention import losses
from amemgym_train.rollout.records import Episode, Probe


def facts(*texts):
    return json.dumps({"facts": texts})


def memory(*items):
    return json.dumps({"memory": items})


@pytest.fixture
def talked(make, replies, session):
    """An AWE agent that writes after each exchange, with these replies to its write calls; and its policy."""

    def talked(*writes, sessions=None, **config):
        policy = replies(list(writes))
        agent = make("awe", policy, **{"local_length": 0} | config)

        async def talk():
            for number in range(sessions or 1):
                await agent.act(f"news {number}", session(number, {f"state {number}": f"value {number}"}))

        asyncio.run(talk())
        return agent, policy

    return talked


def texts(agent):
    return [entry["value"] for entry in agent.store.entries.values()]


def test_first_facts_are_added_without_a_second_call(talked):
    agent, policy = talked(facts("pet: cat", "home: flat"))
    assert [turn.slot for turn in agent.turns] == ["write/p0/0/facts"]
    assert list(agent.store.entries.values()) == [
        {"label": "fact", "value": "pet: cat", "timestamp": "2020-01-01 09:00:00"},
        {"label": "fact", "value": "home: flat", "timestamp": "2020-01-01 09:00:00"},
    ]
    assert "User: news 0" in policy.requests[0].messages[1]["content"]


@pytest.mark.parametrize("told", [facts(), "no idea", facts("job: cook")])
def test_there_is_no_second_call_without_facts_or_without_similar_ones(talked, told):
    agent, _ = talked(facts("pet: cat", "home: flat"), told, sessions=2)
    assert [turn.slot for turn in agent.turns] == ["write/p0/0/facts", "write/p0/1/facts"]
    assert texts(agent) == ["pet: cat", "home: flat"] + (["job: cook"] if "job" in told else [])


def test_the_second_call_sees_the_similar_facts_under_small_numbers(talked):
    decision = memory({"event": "UPDATE", "id": "0", "text": "pet: dog"}, {"event": "ADD", "text": "job: cook"})
    agent, policy = talked(facts("home: flat", "pet: cat"), facts("pet: dog", "job: cook"), decision, sessions=2)
    shown = policy.of("decide")[0].messages[1]["content"]
    assert "pet: dog\njob: cook" in shown and "0. pet: cat" in shown and "flat" not in shown
    assert policy.of("decide")[0].facts["found"] == ["pet: cat"]
    assert texts(agent) == ["home: flat", "pet: dog", "job: cook"]  # what is newest stands last
    assert [entry["timestamp"][8:10] for entry in agent.store.entries.values()] == ["01", "02", "02"]
    assert asyncio.run(agent.recall("pet"))[1] == "[2020-01-02 09:00:00] pet: dog"


@pytest.mark.parametrize(
    ("reply", "left", "parsed"),
    [
        (memory({"event": "delete", "id": 0}), ["home: flat"], "strict"),
        (memory({"event": "none", "id": 0}), ["home: flat", "pet: cat"], "strict"),
        (memory(), ["home: flat", "pet: cat"], "strict"),
        (memory({"event": "delete", "id": 7}, {"event": "add", "text": "y"}), ["home: flat", "pet: cat", "y"], "repaired"),
        (memory({"event": "delete", "id": 0}, {"event": "update", "id": 0, "text": "x"}), ["home: flat"], "repaired"),
        (memory({"event": "update", "id": 7, "text": "x"}), ["home: flat", "pet: cat"], "failed"),
        ("I would update it", ["home: flat", "pet: cat"], "failed"),
    ],
)
def test_what_a_decision_does(talked, reply, left, parsed):
    agent, _ = talked(facts("home: flat", "pet: cat"), facts("pet: dog"), reply, sessions=2)
    assert texts(agent) == left
    assert agent.turns[-1].slot == "write/p0/1/decide" and agent.turns[-1].meta["parsed"] == parsed


def test_both_calls_say_what_they_were_shown(talked):
    agent, _ = talked(facts("pet: cat"), facts("pet: dog"), memory(), sessions=2)
    about = {"period": 0, "sessions": [[0, 1]], "exposed": {"state 1": "value 1"}}
    for turn in agent.turns[1:]:
        assert {key: turn.meta[key] for key in about} == about
    assert [(one.turn, len(one.entries)) for one in agent.memories] == [(0, 1), (2, 1)]


def test_a_snapshot_does_not_change_with_the_memory(talked):
    decision = memory({"event": "update", "id": 0, "text": "pet: dog"})
    agent, _ = talked(facts("pet: cat"), facts("pet: dog"), decision, sessions=2)
    assert [[entry["value"] for entry in one.entries] for one in agent.memories] == [["pet: cat"], ["pet: dog"]]


def test_a_loss_is_charged_to_the_call_that_decided(talked):
    """``credit.retention`` goes by the snapshots, which belong to the last call of a write."""
    agent, _ = talked(facts("pet: cat"), facts("pet: dog"), memory({"event": "delete", "id": 0}), sessions=2)
    agent.turns[0].meta["period"], agent.turns[1].meta["period"], agent.turns[2].meta["period"] = 0, 1, 1
    known, lost = (
        Probe(period, 0, {"pet": "cat"}, {"pet": response}, {"pet": 0}, None) for period, response in enumerate(["cat", None])
    )
    episode = Episode("AMemGym-v0", "task", 0, "task", agent.turns, probes=[known, lost], memories=agent.memories)
    assert losses(episode) == {2: ["pet"]}


def test_a_loaded_agent_goes_on_the_same(talked, make, replies, session):
    agent, _ = talked(facts("pet: cat", "home: flat"), facts("pet: dog"), memory({"event": "delete", "id": 0}), sessions=3)
    other = make("awe", replies(), local_length=0)
    state = json.loads(json.dumps(agent.save()))
    other.load(state)
    assert other.save() == state and asyncio.run(other.recall("home")) == asyncio.run(agent.recall("home"))
    for one in (agent, other):
        one.policy = replies([facts("home: house"), memory({"event": "update", "id": 0, "text": "home: house"})])
        asyncio.run(one.act("news", session(3, period=1)))
    assert other.save() == agent.save() and texts(other) == ["home: house"]


@pytest.mark.parametrize(
    ("text", "found", "how"),
    [
        (facts(), [], "strict"),
        (facts("pet: cat", " home:\n flat "), ["pet: cat", "home: flat"], "strict"),
        (facts("pet: cat", "pet: cat"), ["pet: cat"], "strict"),
        (facts({"fact": "pet: cat"}, {"text": "home: flat"}), ["pet: cat", "home: flat"], "strict"),
        (facts("pet: cat", "", 3, ["x"], None, {"pet": "dog"}, "x" * 21), ["pet: cat"], "repaired"),
        ('{"facts": ["pet: cat"', ["pet: cat"], "repaired"),
        (facts("x" * 21), [], "failed"),
        ('{"facts": "pet: cat"}', [], "failed"),
        ('{"pet": "cat"}', [], "failed"),
        ("a cat", [], "failed"),
    ],
)
def test_reading_facts(text, found, how):
    assert read_facts(text, 20) == (found, how)


@pytest.mark.parametrize(
    ("items", "found", "how"),
    [
        ([{"id": "1", "text": "a", "event": "UPDATE", "old_memory": "b"}], [Decision("update", 1, "a")], "strict"),
        ([{"id": 0, "text": "a", "event": "Delete"}], [Decision("delete", 0)], "strict"),
        ([{"id": "5", "text": "a", "event": "ADD"}], [Decision("add", text="a")], "strict"),
        ([{"id": "0", "text": "a", "event": "NONE"}, {"event": "none"}], [], "strict"),
        ([{"event": "add"}, {"event": "delete", "id": True}, {"event": "forget", "id": 0}, "add", None], [], "failed"),
        ([{"event": "delete", "id": 1}, {"event": "delete", "id": 1}], [Decision("delete", 1)], "repaired"),
        ([{"event": ["add"], "text": "a"}, {"event": "add", "text": "b"}], [Decision("add", text="b")], "repaired"),
        ([{"event": "update", "id": -1, "text": "a"}, {"event": "update", "id": 0.0, "text": "a"}], [], "failed"),
    ],
)
def test_reading_decisions(items, found, how):
    assert read_decisions(json.dumps({"memory": items}), 2, 20) == (found, how)
    assert read_decisions(json.dumps({"memory": {"0": items}}), 2, 20) == ([], "failed")
