"""The agent that acts: what its prompts show of the past, and what is kept of its calls."""

import asyncio
import json

import pytest

from amemgym_train.agents import build_agent
from amemgym_train.config.agent import AgentConfig
from amemgym_train.policy.base import Sampling, TooLong
from amemgym_train.policy.oracle import ScriptedPolicy


class Saying(ScriptedPolicy):
    """Says what the step's number is; refuses prompts of more than ``most`` messages."""

    def __init__(self, most=1000, tokenizer=None):
        super().__init__(tokenizer)
        self.most, self.requests = most, []

    def reply(self, request):
        if len(request.messages) > self.most:
            raise TooLong("too long")
        self.requests.append(request)
        return f"Thought: so\nAction: do {request.slot.rpartition('/')[2]}"


INFO = {"kind": "act", "instruction": "Reach the goal.", "ephemeral": False}


def played(policy, steps=6, **config):
    agent = build_agent(AgentConfig(name="react", **config), policy, "episode", 3, Sampling(max_new_tokens=5))
    actions = [asyncio.run(agent.act(f"seen {number}", INFO)) for number in range(steps)]
    return agent, actions


def test_prompts_are_a_conversation_that_is_only_appended_to():
    policy = Saying()
    agent, actions = played(policy)
    assert actions == [f"do {number}" for number in range(6)]
    prompts = [request.messages for request in policy.requests]
    for before, after in zip(prompts, prompts[1:], strict=False):
        assert after[: len(before)] == before and [one["role"] for one in after[len(before) :]] == ["assistant", "user"]
    first = prompts[0][0]
    assert first["role"] == "user" and "Reach the goal." in first["content"] and first["content"].endswith("seen 0")
    assert all("Reach the goal." not in message["content"] for message in prompts[-1][1:])


def test_every_call_is_kept_with_what_it_answered():
    agent, _ = played(Saying(), max_new_tokens={"act": 9})
    assert [turn.slot for turn in agent.turns] == [f"act/{number}" for number in range(6)]
    assert {turn.operation for turn in agent.turns} == {"act"} and agent.acted == 5
    assert [turn.meta["observation"] for turn in agent.turns] == [f"seen {number}" for number in range(6)]
    instruction, *others = [turn.meta.get("instruction") for turn in agent.turns]
    assert others == [None] * 5 and f"{instruction}\n\nseen 0" == agent.policy.requests[0].messages[0]["content"]
    assert {turn.meta["sampling"]["max_new_tokens"] for turn in agent.turns} == {9}
    assert {turn.meta["parsed"] for turn in agent.turns} == {"strict"}


def test_a_window_shows_the_first_and_the_last_steps():
    policy = Saying()
    agent, _ = played(policy, history="window", window=2)
    shown = [[m["content"].rpartition("\n")[2] for m in request.messages if m["role"] == "user"] for request in policy.requests]
    assert shown[3] == ["seen 0", "seen 1", "seen 2", "seen 3"] and shown[5] == ["seen 0", "seen 3", "seen 4", "seen 5"]
    assert [turn.meta.get("left_out", 0) for turn in agent.turns] == [0, 0, 0, 0, 1, 2]
    for request in policy.requests:
        roles = [message["role"] for message in request.messages]
        assert roles == ["user", *["assistant", "user"] * (len(roles) // 2)]


def test_what_does_not_fit_is_left_out_from_the_oldest_on():
    policy = Saying(most=5)
    agent, _ = played(policy)
    assert max(len(request.messages) for request in policy.requests) == 5
    assert [turn.meta.get("left_out", 0) for turn in agent.turns] == [0, 0, 0, 1, 2, 3]
    with pytest.raises(TooLong):  # of two steps nothing can be left out
        played(Saying(most=2), steps=2)


def test_a_saved_agent_goes_on_alike():
    first, _ = played(Saying(), steps=3)
    state = json.loads(json.dumps(first.save()))
    policy = Saying()
    second = build_agent(AgentConfig(name="react"), policy, "episode", 3, Sampling())
    second.load(state)
    for agent in (first, second):
        asyncio.run(agent.act("seen 3", INFO))
    assert policy.requests[-1].messages == first.policy.requests[-1].messages
    second.load({})
    assert second.save() == {}


@pytest.mark.parametrize("style", ["function", "json"])
def test_the_layout_asked_for_is_told(style):
    policy = Saying()
    agent, actions = played(policy, steps=1, style=style)
    assert "JSON object" in policy.requests[0].messages[0]["content"]
    assert agent.turns[0].meta["parsed"] == "failed" and actions == [agent.turns[0].text]


def test_worked_examples_come_before_the_task(tmp_path):
    (tmp_path / "act.txt").write_text("Act.\n---\nA door.\n---\nAction: open door\n---\n{observation}\n")
    policy = Saying()
    played(policy, steps=2, prompts=str(tmp_path))
    assert [(m["role"], m["content"]) for m in policy.requests[1].messages] == [
        ("user", "Act.\n\nA door."),
        ("assistant", "Action: open door"),
        ("user", "seen 0"),
        ("assistant", "Thought: so\nAction: do 0"),
        ("user", "seen 1"),
    ]


def test_users_of_amemgym_are_for_other_agents():
    agent = build_agent(AgentConfig(name="react"), Saying(), "episode", 3, Sampling())
    with pytest.raises(ValueError, match="a step of kind 'session'; the react agent plays those of kind act"):
        asyncio.run(agent.act("Hi", {"kind": "session"}))
