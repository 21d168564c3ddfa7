"""The journal: nothing is asked twice, and a torn line is no loss."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.llm.endpoint import Reply
from amemgym_envs.amemgym.llm.journal import Journal, request_key


def ask(journal, key, text="hi \u4f60\n\u2028", calls=None):
    async def model():
        if calls is not None:
            calls.append(key)
        await asyncio.sleep(0)
        return Reply(text, 3, None)

    return asyncio.run(journal.reply(key, model))


def test_a_reply_outlives_the_process(tmp_path):
    path = tmp_path / "work" / "user_0.jsonl"
    journal, calls = Journal(path), []
    assert ask(journal, "a", calls=calls) == (Reply("hi \u4f60\n\u2028", 3, None), True)
    assert ask(journal, "a", "other", calls) == (Reply("hi \u4f60\n\u2028", 3, None), False)
    ask(journal, "b", calls=calls)
    journal.close()
    again = Journal(path)
    assert len(again) == 2 and ask(again, "b", "other", calls) == (Reply("hi \u4f60\n\u2028", 3, None), False)
    assert calls == ["a", "b"]


COUNTS = st.none() | st.integers(0)


@given(st.dictionaries(st.text(), st.builds(Reply, st.text(), COUNTS, COUNTS, st.none() | st.text()), max_size=5), st.integers(0))
def test_every_reply_comes_back_and_a_cut_costs_the_last_one_only(replies, cut):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j.jsonl"

        async def told(journal, key):
            async def model():
                return replies[key]

            return await journal.reply(key, model)

        journal = Journal(path)
        assert [asyncio.run(told(journal, key)) for key in replies] == [(reply, True) for reply in replies.values()]
        journal.close()
        again = Journal(path)
        assert [asyncio.run(told(again, key)) for key in replies] == [(reply, False) for reply in replies.values()]
        if replies:
            whole = path.read_bytes()
            last = len(whole.splitlines(keepends=True)[-1])
            path.write_bytes(whole[: len(whole) - 1 - cut % last])
            assert len(Journal(path)) == len(replies) - 1


def test_a_line_of_a_journal_without_finish_reasons_is_read(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_text('{"key": "a", "text": "hi", "tokens_in": 1, "tokens_out": null}\n')
    assert ask(Journal(path), "a", "other") == (Reply("hi", 1, None), False)


def test_lines_are_on_disk_before_the_next_call(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    ask(journal, "a")
    assert len(Journal(tmp_path / "j.jsonl")) == 1
    journal.close()


@pytest.mark.parametrize("kept", [1, 20, 60])
def test_a_torn_last_line_is_cut_off(tmp_path, kept):
    path = tmp_path / "j.jsonl"
    journal = Journal(path)
    ask(journal, "a")
    whole = path.read_bytes()
    ask(journal, "b")
    journal.close()
    path.write_bytes(path.read_bytes()[: len(whole) + kept])
    again = Journal(path)
    assert len(again) == 1 and path.read_bytes() == whole
    assert ask(again, "b")[1]
    again.close()
    assert len(Journal(path)) == 2


@pytest.mark.parametrize("content", [b'{"users": []}', b"a: 1\nb: 2", b"a: 1\n\xff"])
def test_a_file_of_something_else_is_left_as_it_is(tmp_path, content):
    path = tmp_path / "data.json"
    path.write_bytes(content)
    with pytest.raises(ScenarioError, match="data.json is no journal"):
        Journal(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "line", [b"junk", b"{}", b"[]", b'{"key": "a", "text": 3, "tokens_in": 0, "tokens_out": 0}', b"\xff", b""]
)
def test_a_line_that_no_journal_writes_is_named(tmp_path, line):
    path = tmp_path / "j.jsonl"
    ask(Journal(path), "a")
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(ScenarioError, match=r"j.jsonl, line 2: no line of a journal .* delete the line"):
        Journal(path)


def test_the_same_request_at_one_time_is_made_once(tmp_path):
    journal, calls = Journal(tmp_path / "j.jsonl"), []

    async def model():
        calls.append(1)
        await asyncio.sleep(0)
        return Reply("once")

    async def twice():
        return await asyncio.gather(journal.reply("a", model), journal.reply("a", model))

    assert asyncio.run(twice()) == [(Reply("once"), True), (Reply("once"), False)]
    assert calls == [1]
    journal.close()


def test_one_loop_may_ask_after_the_other_and_a_failure_is_nobody_elses(tmp_path):
    journal, calls = Journal(tmp_path / "j.jsonl"), []

    async def failing_first():
        calls.append(1)
        await asyncio.sleep(0)
        if len(calls) == 1:
            raise ValueError("lost")
        return Reply("found")

    async def together(key):
        return await asyncio.gather(*(journal.reply(key, failing_first) for _ in range(3)), return_exceptions=True)

    lost, *found = asyncio.run(together("a"))
    assert isinstance(lost, ValueError) and found == [(Reply("found"), True), (Reply("found"), False)]
    for key in ("b", "c"):
        assert asyncio.run(together(key)) == [(Reply("found"), True)] + [(Reply("found"), False)] * 2
    assert len(calls) == 4
    journal.close()


def test_whoever_waits_does_not_go_down_with_whoever_asks(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")

    async def model():
        await asyncio.sleep(0)
        return Reply("once")

    async def cancelled():
        asking, waiting = (asyncio.create_task(journal.reply("a", model)) for _ in range(2))
        await asyncio.sleep(0)
        asking.cancel()
        return await waiting

    assert asyncio.run(cancelled()) == (Reply("once"), True)
    journal.close()


def test_a_folder_that_cannot_be_written_is_an_error_with_its_path(tmp_path):
    (tmp_path / "work").write_text("no folder")
    with pytest.raises(ScenarioError, match="work/user_0.jsonl: cannot be"):
        ask(Journal(tmp_path / "work" / "user_0.jsonl"), "a")


def test_keys_tell_requests_apart():
    parts = ["strong", [{"role": "user", "content": "hi"}], {"temperature": 0.7}, (0, 1)]
    keys = {request_key(*parts)}
    for i, other in enumerate(["weak", [{"role": "user", "content": "ho"}], {"temperature": 0.0}, (1, 1)]):
        keys.add(request_key(*parts[:i], other, *parts[i + 1 :]))
    assert len(keys) == 5 and request_key(*parts) in keys
