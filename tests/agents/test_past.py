"""Prompts past the model's window: what is left out, how it is counted, and that nothing breaks."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.agents.past import HEADROOM, Past, Transcript, transcript
from amemgym_train.policy.base import TooLong
from amemgym_train.policy.oracle import ScriptedPolicy


def said(*texts):
    return [{"role": ("user", "assistant")[i % 2], "content": text, "exposed": {}} for i, text in enumerate(texts)]


class Window(ScriptedPolicy):
    """A model whose prompts may have ``room`` characters; it tells how long they are, or only that they are too long."""

    def __init__(self, room, tells=True):
        super().__init__()
        self.room, self.tells, self.requests, self.refused = room, tells, [], 0

    def reply(self, request):
        length = sum(len(message["content"]) for message in request.messages)
        if length > self.room:
            self.refused += 1
            raise TooLong("the prompt is too long", length if self.tells else None, self.room if self.tells else None)
        self.requests.append(request)
        return '{"facts": []}' if request.facts.get("step") == "facts" else "I see."


def test_notes_go_first_then_messages_each_oldest_first():
    past = Past(said("one1", "two2", "tri3"), ("aaaa", "bbbb"), kept=1)
    shown = []
    while True:
        shown.append((past.shown()["notes"], past.shown()["conversation"]))
        try:
            past = past.shorter(TooLong("", 100, 99))
        except TooLong as over:
            assert (over.tokens, over.room) == (100, 99)
            break
    assert shown == [
        ("aaaa\nbbbb", "User: one1\nAssistant: two2\nUser: tri3"),
        ("bbbb", "User: one1\nAssistant: two2\nUser: tri3"),
        ("", "User: one1\nAssistant: two2\nUser: tri3"),
        ("", "Assistant: two2\nUser: tri3"),
        ("", "User: tri3"),
    ]


def test_what_goes_leaves_headroom_for_the_next_prompts():
    past = Past(said(*["x" * 10] * 100))
    assert past.shorter(TooLong("", 1000, 900)).left_out == round(100 * (1 - 0.9 * (1 - HEADROOM)))
    assert past.shorter(TooLong("")).left_out == 50  # nobody says by how much
    assert past.shorter(TooLong("", 10, 20)).left_out == 50  # or what was said makes no sense


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(st.lists(st.text(max_size=30), max_size=12), st.integers(0, 3), st.integers(0, 5), st.data())
def test_leaving_out_ends_and_only_ever_leaves_out_more(texts, notes, kept, data):
    past, steps = Past(said(*texts), ["note"] * notes, kept=kept), 0
    total = len(texts) + notes
    while True:
        tokens = data.draw(st.none() | st.integers(0, 2000))
        try:
            shorter = past.shorter(TooLong("", tokens, data.draw(st.integers(0, 2000))))
        except TooLong:
            break
        assert past.left_out < shorter.left_out <= total - kept
        past, steps = shorter, steps + 1
    assert steps <= total and past.left_out >= total - kept


def test_a_lengthened_transcript_is_the_transcript():
    told, messages = Transcript(), said("one", "two")
    for first in (0, 0, 1, 1):
        messages += said("more", "\n\n", "")
        assert told.text(messages, first) == transcript(messages[first:])
        assert told.text(messages, first) == transcript(messages[first:])
    assert told.text(messages, len(messages)) == told.text([], 0) == ""
    assert told.text(messages[:2], 0) == transcript(messages[:2])  # fewer again
    assert told.text(said("one", "two", "three"), 0) == transcript(said("one", "two", "three"))  # others


@pytest.fixture
def talk(make, session):
    def talk(name, policy, sessions, first=0, agent=None, **config):
        agent = agent or make(name, policy, respond="model", **config)

        async def all_of_them():
            for number in range(first, first + sessions):
                await agent.act(f"news {number:03d} " + "x" * 40, session(number))

        asyncio.run(all_of_them())
        return agent

    return talk


@pytest.mark.parametrize("tells", [True, False])
def test_a_native_agent_past_the_window_goes_on_without_its_oldest_messages(talk, question, tells):
    policy = Window(1500, tells)
    agent = talk("native", policy, 60)
    shown = [request.messages[1]["content"] for request in policy.requests]
    left_out = [turn.meta.get("left_out", 0) for turn in agent.turns]
    assert left_out[0] == 0 and left_out[-1] > 60 and left_out == sorted(left_out)
    for number, (text, gone) in enumerate(zip(shown, left_out, strict=True)):
        assert f"news {number:03d}" in text  # what is replied to
        assert ("news 000" in text) == (gone == 0)
        present = [i for i in range(number + 1) if f"news {i:03d}" in text]
        assert present == list(range(-(-gone // 2), number + 1))  # the newest, without a gap
    assert policy.refused < 30  # headroom: not every prompt is refused first
    asyncio.run(agent.act("Which?", question))
    assert agent.turns[-1].meta["left_out"] >= left_out[-1] and len(agent.recent) == 120  # nothing is lost from the state


def test_a_resumed_agent_asks_what_the_uninterrupted_one_asks(talk, make, question):
    whole = Window(1500)
    agent = talk("native", whole, 30)
    resumed = Window(1500)
    other = make("native", resumed, respond="model")
    state = json.loads(json.dumps(agent.save()))
    assert state["passed"] > 0
    other.load(state)
    for one, policy in ((agent, whole), (other, resumed)):
        del policy.requests[:]
        one.acted = None
        talk("native", policy, 12, first=30, agent=one)
        asyncio.run(one.act("Which?", question))
    assert [request.messages for request in resumed.requests] == [request.messages for request in whole.requests]
    assert other.save() == agent.save()


def test_a_message_that_fits_no_window_is_told_with_its_size(talk):
    with pytest.raises(TooLong) as caught:
        talk("native", Window(60), 1)
    assert caught.value.tokens > caught.value.room == 60


@pytest.mark.parametrize("name", ["awi", "awe", "rag"])
def test_recent_messages_and_recalled_ones_give_way_too(talk, question, name):
    policy = Window(500)
    agent = talk(name, policy, 40, update_bsz=6, local_length=6)
    asyncio.run(agent.act("Which?", question))
    assert any(turn.meta.get("left_out") for turn in agent.turns)
    if name == "rag":
        last = policy.requests[-1].messages[1]["content"]
        assert agent.turns[-1].meta["left_out"] > 0 and "news 039" in last


def test_the_quickstart_like_model_is_not_asked_for_more_than_its_window(make_llama, tokenizer, make, session, question):
    """The real local policy says how long a prompt is, and the native agent makes it fit."""
    from amemgym_train.policy.local import LocalPolicy

    policy = LocalPolicy(make_llama(max_position_embeddings=192), tokenizer)
    agent = make("native", policy, respond="fixed", max_new_tokens={"answer": 4})

    async def live():
        for number in range(20):
            await agent.act(f"news {number}", session(number))
        await agent.act("1. a\n2. b", question)

    asyncio.run(live())
    [turn] = agent.turns
    assert 0 < turn.meta["left_out"] < 40
    assert len(turn.prompt_ids) + 4 <= 192
