import asyncio
import json

import pytest

from amemgym_train.agents import build_agent
from amemgym_train.agents.awi import merge, read_updates
from amemgym_train.agents.base import ACKNOWLEDGEMENT
from amemgym_train.config.agent import AgentConfig
from amemgym_train.errors import Unscorable
from amemgym_train.policy.base import Sampling
from amemgym_train.policy.oracle import ScriptedPolicy


class Scripted(ScriptedPolicy):
    """Answers write requests from a list of replies, everything else with one text; keeps the requests."""

    def __init__(self, writes=(), other="{}"):
        super().__init__()
        self.writes = list(writes)
        self.other = other
        self.requests = []

    def reply(self, request):
        self.requests.append(request)
        if request.operation == "write":
            return self.writes.pop(0) if self.writes else "{}"
        return self.other


def session(number, exposed=None, period=0, round=0):
    return {
        "kind": "session",
        "ephemeral": False,
        "period": period,
        "session": number,
        "round": round,
        "rounds": 1,
        "exposed": exposed or {},
        "time": f"2020-10-{number + 1:02d} 09:00:00",
    }


QUESTION = {"kind": "question", "ephemeral": True, "period": 0, "question": 4, "choices": ["a", "b", "c"]}
PROBE = {
    "kind": "probe",
    "ephemeral": True,
    "period": 0,
    "question": 4,
    "schema": {"pet": ["cat", "dog"], "drink": ["tea", "milk"]},
}


def talk(agent, sessions, first=0):
    async def all_of_them():
        for number in range(first, first + sessions):
            await agent.act(f"fact {number}", session(number, {f"state {number}": f"value {number}"}))

    asyncio.run(all_of_them())


def awi(policy, **config):
    return build_agent(AgentConfig(name="awi", respond="fixed", **config), policy, "episode", 7, Sampling(temperature=0.5))


def writes(agent):
    return [turn for turn in agent.turns if turn.operation == "write"]


@pytest.mark.parametrize(
    ("update_bsz", "local_length", "sessions", "shown", "left"),
    [
        (2, 4, 2, [], 4),  # 4 messages: below 6
        (2, 4, 3, [[0]], 4),
        (2, 4, 5, [[0], [1], [2]], 4),
        (2, 0, 3, [[0], [1], [2]], 0),  # every session of one round at once
        (4, 0, 3, [[0, 1]], 2),
        (4, 2, 4, [[0, 1]], 4),
        (6, 2, 4, [[0, 1, 2]], 2),
        (3, 1, 3, [[0, 1]], 3),  # a batch may end inside a session ...
        (3, 1, 4, [[0, 1], [1, 2]], 2),  # ... whose rest is shown to the next call
        (1, 1, 2, [[0], [0], [1]], 1),
    ],
)
def test_when_a_write_happens_and_what_it_is_shown(update_bsz, local_length, sessions, shown, left):
    agent = awi(Scripted(), update_bsz=update_bsz, local_length=local_length)
    talk(agent, sessions)
    assert [turn.meta["sessions"] for turn in writes(agent)] == [[[0, number] for number in numbers] for numbers in shown]
    assert len(agent.recent) == left
    assert [turn.slot for turn in writes(agent)] == [f"write/p0/{i}" for i in range(len(shown))]
    exposed = [state for turn in writes(agent) for state in turn.meta["exposed"]]
    assert exposed == sorted(set(exposed))  # each opening is shown to one call only


def test_a_write_prompt_shows_its_batch_and_the_notes_only():
    policy = Scripted(['{"pet": "cat"}', "{}"])
    agent = awi(policy, local_length=0)
    talk(agent, 2)
    first, second = (request.messages[1]["content"] for request in policy.requests)
    assert "User: fact 0\nAssistant: " + ACKNOWLEDGEMENT in first and "pet" not in first
    assert "fact 0" not in second and "User: fact 1" in second and "pet: cat" in second
    assert policy.requests[1].facts == {"period": 0, "sessions": [[0, 1]], "exposed": {"state 1": "value 1"}}


def test_merge_appends_new_labels_and_moves_rewritten_ones_to_the_end():
    agent = awi(Scripted(['{"pet": "cat", "drink": "tea"}', '{"pet": "dog", "home": "flat"}']), local_length=0)
    talk(agent, 2)
    later = "2020-10-02 09:00:00"
    assert agent.entries == [
        {"label": "drink", "value": "tea", "timestamp": "2020-10-01 09:00:00"},
        {"label": "pet", "value": "dog", "timestamp": later},
        {"label": "home", "value": "flat", "timestamp": later},
    ]
    assert agent.notes == ["drink: tea", "pet: dog", "home: flat"]
    assert [(memory.turn, memory.period, len(memory.entries)) for memory in agent.memories] == [(0, 0, 2), (1, 0, 3)]
    assert merge(agent.entries, {}, "never") == agent.entries


def test_a_note_is_dated_by_the_last_message_of_its_batch():
    agent = awi(Scripted(['{"pet": "cat"}']), update_bsz=4, local_length=0)
    talk(agent, 2)
    assert agent.entries == [{"label": "pet", "value": "cat", "timestamp": "2020-10-02 09:00:00"}]


def test_what_is_saved_or_recorded_is_a_copy():
    agent = awi(Scripted(['{"pet": "cat"}']), local_length=2)
    talk(agent, 2)
    before = json.dumps(agent.save())
    for given_away in (agent.save()["entries"][0], agent.memories[0].entries[0]):
        given_away["value"] = "dog"
    agent.save()["recent"][0]["content"] = "dog"
    assert json.dumps(agent.save()) == before


def test_beyond_max_entries_the_oldest_notes_go():
    agent = awi(Scripted(['{"a": "1", "b": "2", "c": "3"}', '{"a": "4"}']), local_length=0, max_entries=2)
    talk(agent, 2)
    assert agent.notes == ["c: 3", "a: 4"]


@pytest.mark.parametrize("reply", ["I will remember that!", "", '{"pet": {"kind": "dog"}}', '{"pet": ["dog"]}', '{"pet": null}'])
def test_a_failed_write_leaves_the_memory_and_is_recorded(reply):
    agent = awi(Scripted(['{"pet": "cat"}', reply]), local_length=0)
    talk(agent, 1)
    before = agent.save()["entries"]
    talk(agent, 1, first=1)
    assert before and agent.save()["entries"] == before
    assert [turn.meta["parsed"] for turn in writes(agent)] == ["strict", "failed"]
    assert agent.memories[1].entries == before
    assert agent.recent == []  # the messages are gone all the same


@pytest.mark.parametrize(
    ("text", "notes", "how"),
    [
        ("{}", {}, "strict"),
        ('{"pet": "cat"}', {"pet": "cat"}, "strict"),
        ('{"rooms": 3, "own": true, "rent": 9.5}', {"rooms": "3", "own": "true", "rent": "9.5"}, "strict"),
        ('{" pet \\n name ": " tom\\tcat "}', {"pet name": "tom cat"}, "strict"),
        ('{"pet": "cat", "home": {"kind": "flat"}}', {"pet": "cat"}, "repaired"),
        ('{"pet": "cat", "": "flat", "job": " "}', {"pet": "cat"}, "repaired"),
        ('{"pet": "%s", "job": "cook"}' % ("x" * 11), {"job": "cook"}, "repaired"),
        ('{"%s": "cat"}' % ("x" * 11), {}, "failed"),
        ('{"pet": "%s"}' % ("x" * 10), {"pet": "x" * 10}, "strict"),
        ("no notes", {}, "failed"),
    ],
)
def test_reading_a_write_reply(text, notes, how):
    assert read_updates(text, 10) == (notes, how)


def test_flush_writes_what_is_left_before_a_question_but_only_when_asked_to():
    kept, flushed = awi(Scripted(), flush="never"), awi(Scripted(), flush="period")
    for agent in (kept, flushed):
        talk(agent, 2)
        asyncio.run(agent.act("Q?", QUESTION))
    assert (len(kept.recent), len(writes(kept))) == (4, 0)
    assert (len(flushed.recent), len(writes(flushed))) == (0, 2)
    assert flushed.turns[flushed.acted].operation == "answer"


@pytest.mark.parametrize("name", ["awi", "native"])
@pytest.mark.parametrize("reply", ['{"answer": 2}', '{"pet": "dog"}', "nonsense"])
def test_ephemeral_steps_leave_the_saved_state(name, reply):
    agent = build_agent(AgentConfig(name=name, respond="fixed"), Scripted(['{"pet": "cat"}'], other=reply), "episode")
    talk(agent, 4)
    before = json.dumps(agent.save())
    for info in (QUESTION, PROBE):
        asyncio.run(agent.act("text", info))
    assert json.dumps(agent.save()) == before


@pytest.mark.parametrize("name", ["awi", "native"])
def test_a_loaded_agent_asks_what_the_saved_one_asks(name):
    config = AgentConfig(name=name, respond="fixed")
    policies = [Scripted(['{"pet": "cat"}']), Scripted()]
    first, second = (build_agent(config, policy, "episode") for policy in policies)
    talk(first, 4)
    state = json.loads(json.dumps(first.save()))
    second.load(state)
    for agent in (first, second):
        asyncio.run(agent.act("Q?", QUESTION))
    assert policies[0].requests[-1] == policies[1].requests[-1]
    assert "fact 3" in policies[1].requests[-1].messages[1]["content"]
    second.recent.clear()
    assert state == first.save()  # what was saved and loaded is a copy
    second.load({})
    assert second.save() == build_agent(config, Scripted(), "other").save()


def test_actions_are_canonical_json_or_the_raw_text():
    fenced = '```json\n{"answer": 3}\n```'
    cases = [
        (QUESTION, '{"answer": 2}', '{"answer": 2}', "strict"),
        (QUESTION, fenced, '{"answer": 3}', "strict"),
        (QUESTION, '{"answer": "1"', '{"answer": 1}', "repaired"),
        (QUESTION, '{"answer": 4}', '{"answer": 4}', "failed"),
        (QUESTION, "the second", "the second", "failed"),
        (PROBE, '{"pet": "cat", "drink": "tea"}', '{"pet": "cat", "drink": "tea"}', "strict"),
        (PROBE, '{"pet": "cat", "drink": "beer"}', '{"pet": "cat"}', "strict"),
        (PROBE, '{"pet": "cat", "drink": "te', '{"pet": "cat"}', "repaired"),
        (PROBE, "a cat", "a cat", "failed"),
    ]
    for info, reply, action, parsed in cases:
        agent = awi(Scripted(other=reply))
        assert asyncio.run(agent.act("text", info)) == action
        assert agent.turns[agent.acted].meta["parsed"] == parsed
        assert agent.turns[agent.acted].text == reply


def test_a_call_is_recorded_with_its_request():
    policy = Scripted(other="fine")
    agent = build_agent(
        AgentConfig(name="native", max_new_tokens={"respond": 9}), policy, "episode", 7, Sampling(temperature=0.5)
    )
    assert asyncio.run(agent.act("hello", session(2, {"pet": "cat"}, period=1, round=3))) == "fine"
    assert asyncio.run(agent.act("Q?", QUESTION)) == "fine"
    respond, answer = policy.requests
    assert (respond.slot, respond.episode, respond.seed) == ("respond/p1/s2/r3", "episode", 7)
    assert respond.sampling == Sampling(max_new_tokens=9, temperature=0.5)
    assert answer.facts == {"period": 0, "question": 4, "choices": 3}
    assert [turn.slot for turn in agent.turns] == ["respond/p1/s2/r3", "answer/p0/q4"]
    assert agent.turns[0].meta == {
        "period": 1,
        "session": 2,
        "round": 3,
        "sampling": {"max_new_tokens": 9, "temperature": 0.5, "top_k": 0, "top_p": 1.0},
        "policy_version": "scripted",
    }


def test_a_fixed_reply_makes_no_call_and_has_no_acting_turn():
    policy = Scripted()
    agent = awi(policy, local_length=0)
    asyncio.run(agent.act("Q?", QUESTION))
    assert agent.acted == 0
    assert asyncio.run(agent.act("hello", session(0))) == ACKNOWLEDGEMENT
    assert [request.operation for request in policy.requests] == ["answer", "write"]
    assert agent.acted is None


def test_an_error_of_the_policy_reaches_the_caller():
    class Broken(ScriptedPolicy):
        def reply(self, request):
            raise Unscorable("server gone")

    with pytest.raises(Unscorable, match="server gone"):
        asyncio.run(awi(Broken()).act("Q?", QUESTION))


def test_an_unknown_step_is_refused():
    with pytest.raises(ValueError, match="kind 'end'"):
        asyncio.run(awi(Scripted()).act("text", {"kind": "end"}))


@pytest.mark.parametrize("prompts", ["default", "fewshot"])
def test_only_awi_hack_is_told_the_info_types(prompts):
    shown = {}
    for name in ("awi", "awi-hack"):
        policy = Scripted()
        agent = build_agent(AgentConfig(name=name, respond="fixed", local_length=0, prompts=prompts), policy, "episode")
        asyncio.run(agent.act("hello", {**session(0), "info_types": ["favourite drink", "pet"]}))
        shown[name] = policy.requests[0].messages[-1]["content"]
    assert "favourite drink, pet" in shown["awi-hack"] and "Topics" not in shown["awi"]
    assert shown["awi-hack"].endswith(shown["awi"])
