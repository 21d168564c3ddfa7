"""AgentTraj-L and AgentEval: nothing is lost between reading and writing, and what is broken is told with its place."""

import json
import math

import pytest
from datasets import load_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.errors import UserError
from amemgym_train.formats import Message, Trajectory, read_item_ids, read_trajectories, write_item_ids, write_trajectories

KNOWN = {"conversations", "item_id", "reward", "success", "steps", "from", "role", "value", "content", "loss"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
EXTRA = st.dictionaries(st.text().filter(lambda key: key not in KNOWN), JSON, max_size=2)
LOSS = st.sampled_from([True, False, None])
MESSAGES = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text(), LOSS, EXTRA)
TRAJECTORIES = st.builds(
    Trajectory,
    st.text(),
    st.lists(MESSAGES, max_size=4),
    st.none() | st.integers(-100, 100) | st.floats(allow_nan=False, allow_infinity=False),
    LOSS,
    st.none() | st.lists(EXTRA, max_size=3),
    EXTRA,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(TRAJECTORIES, min_size=1, max_size=3), st.sampled_from([".json", ".jsonl"]), st.sampled_from([None, 4]))
def test_what_is_written_is_read_and_written_again_byte_for_byte(tmp_path_factory, trajectories, end, indent):
    folder = tmp_path_factory.mktemp("round")
    first, second = folder / f"first{end}", folder / f"second{end}"
    write_trajectories(first, trajectories, indent)
    again = read_trajectories(first)
    assert again == trajectories
    write_trajectories(second, again, indent)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_in_the_layout_of_agenttraj_comes_back_byte_for_byte(saved, conversation, tmp_path, indent):
    entries = [{"conversations": conversation, "item_id": item_id} for item_id in ("webshop_12", "textcraft_3")]
    path = saved("webshop_train.json", json.dumps(entries, ensure_ascii=False, indent=indent) + "\n")
    write_trajectories(tmp_path / "again.json", read_trajectories(path), indent)
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_roles_and_loss_are_taken_from_the_file(saved, conversation):
    [trajectory] = read_trajectories(saved("t.json", [{"conversations": conversation, "item_id": "webshop_1"}]))
    assert [message.role for message in trajectory.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert [message.loss for message in trajectory.messages] == [None, False, None, True, None]
    assert trajectory.trained == [3] and trajectory.messages[2].content == "You see a lamp. 灯"
    assert (trajectory.reward, trajectory.success, trajectory.steps) == (None, None, None)


def test_outcome_files_of_the_evaluator_are_read(saved, conversation):
    lines = [{"conversations": conversation, "item_id": f"babyai_{n}", "reward": n / 2, "success": n} for n in range(2)]
    path = saved("inference.jsonl", "\n".join(map(json.dumps, lines)) + "\n\n")
    read = read_trajectories(path)
    assert [(one.item_id, one.reward, one.success) for one in read] == [("babyai_0", 0.0, False), ("babyai_1", 0.5, True)]


def test_messages_of_api_agents_are_read(saved):
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning_content": None}]
    [trajectory] = read_trajectories(saved("t.json", [{"conversations": said, "item_id": "x_1"}]))
    assert trajectory.messages == [Message("user", "a"), Message("assistant", "b", extra={"reasoning_content": None})]


def test_a_byte_order_mark_is_no_mistake(saved, conversation):
    path = saved("t.json", "\ufeff" + json.dumps([{"conversations": conversation, "item_id": "webshop_1"}]))
    assert len(read_trajectories(path)) == 1


def test_datasets_loads_what_is_written(saved, conversation, tmp_path):
    entry = {"conversations": conversation, "item_id": "webshop_1", "reward": 0.5, "success": False, "steps": [{"reward": 0.5}]}
    path = tmp_path / "written.json"
    write_trajectories(path, read_trajectories(saved("t.json", [entry])))
    [row] = load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    assert row == entry


def test_half_a_surrogate_pair_in_an_unknown_key_is_handed_on(saved, conversation, tmp_path):
    path = saved("t.json", [{"conversations": conversation, "item_id": "webshop_1", "note": "\ud800"}])
    write_trajectories(tmp_path / "again.json", read_trajectories(path))
    assert read_trajectories(tmp_path / "again.json") == read_trajectories(path)


def entry(**changes):
    return {"conversations": [], "item_id": "webshop_1"} | changes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "t.json has no entry"),
        ([], "t.json has no entry"),
        ("[{]", "t.json: not JSON"),
        ('{"item_id": 1}\n{', "t.json, entry 1: item_id is a number, expected a text"),
        ("[" * 100_000, "t.json: nested too deep"),
        ([entry(), 3], "t.json, entry 2: a number, expected an object"),
        ([{"conversations": []}], r"t.json, entry 1: item_id is not there \(keys: conversations\)"),
        ([entry(), {"item_id": "webshop_2"}], "entry 2: conversations is not there"),
        ([entry(conversations=None)], r"entry 1 \(webshop_1\): conversations is null; a list of tasks \(AgentEval\)"),
        ([entry(conversations={})], "entry 1: conversations is an object"),
        ([entry(reward="1")], "entry 1: reward is a text, expected a number"),
        ([entry(reward=True)], "entry 1: reward is a truth value"),
        ([entry(reward=math.nan)], "NaN is no number"),
        ([entry(success=2)], "success is 2, expected true or false"),
        ([entry(steps=[1])], r"steps is \[1\], expected a list of objects"),
        ([entry(conversations=["hi"])], r"entry 1 \(webshop_1\), message 1: 'hi', expected an object"),
        (
            [entry(conversations=[{"from": "gpt", "value": "x"}, {"from": "bot", "value": "x"}])],
            "message 2: from is 'bot', expected one of human, gpt, system",
        ),
        ([entry(conversations=[{"role": "human", "content": "x"}])], "role is 'human', expected one of user, assistant, system"),
        ([entry(conversations=[{"from": "gpt", "value": None}])], "message 1: value is null, expected a text"),
        ([entry(conversations=[{"from": "gpt", "value": "x", "loss": 1}])], "loss is 1, expected true, false or null"),
        ([entry(conversations=[{"from": "gpt", "value": "\ud800"}])], "value has half a surrogate pair"),
    ],
)
def test_a_broken_file_is_told_with_the_entry(saved, content, message):
    with pytest.raises(UserError, match=message):
        read_trajectories(saved("t.json", content))


def test_no_file_and_no_text_are_told(tmp_path):
    with pytest.raises(UserError, match="there is no file .*none.json"):
        read_trajectories(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="bytes.json cannot be read"):
        read_trajectories(tmp_path / "bytes.json")


def test_lists_of_tasks_new_and_old(saved, tmp_path):
    path = saved("e.json", [{"item_id": "webshop_5", "conversations": None}, {"item_id": "webshop_2"}])
    assert read_item_ids(path) == ["webshop_5", "webshop_2"]
    write_item_ids(tmp_path / "out.json", ["webshop_5", "webshop_2", "webshop_5"])
    assert json.loads((tmp_path / "out.json").read_text()) == [{"item_id": "webshop_5"}, {"item_id": "webshop_2"}]
    with pytest.raises(UserError, match="e.json, entry 2: item_id is not there"):
        read_item_ids(saved("e.json", [{"item_id": "webshop_5"}, {"id": 3}]))
    with pytest.raises(UserError, match="expected <prefix>_<number>"):
        write_item_ids(tmp_path / "bad.json", ["webshop_x"])
    assert not (tmp_path / "bad.json").exists()
