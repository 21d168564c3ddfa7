import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.errors import UserError
from amemgym_train.rollout.records import OPERATIONS, Answer, Episode, Memory, Probe, Turn
from amemgym_train.rollout.store import load_episodes, save_episodes

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)  # lone surrogates have no UTF-8 form
number = st.integers(0, 2**40)
real = st.floats(allow_nan=False)
plain = st.none() | st.booleans() | number | st.floats(allow_nan=False, allow_infinity=False) | text
json_values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=8
)
json_dicts = st.dictionaries(text, json_values, max_size=3)


@st.composite
def turns(draw):
    size = draw(st.integers(0, 4))
    return Turn(
        prompt_ids=draw(st.lists(number, max_size=4)),
        completion_ids=draw(st.lists(number, min_size=size, max_size=size)),
        logprobs=draw(st.lists(real, min_size=size, max_size=size)),
        text=draw(text),
        finish_reason=draw(text),
        operation=draw(st.sampled_from(OPERATIONS)),
        slot=draw(text),
        meta=draw(json_dicts),
    )


@st.composite
def episodes(draw):
    made = draw(st.lists(turns(), max_size=3))
    index = st.none() | st.integers(0, len(made) - 1) if made else st.none()
    states = draw(st.lists(text, max_size=3, unique=True))
    entry = st.fixed_dictionaries({"label": text, "value": text, "timestamp": text})
    answer = st.builds(Answer, number, number, number, number, st.none() | number, index)
    probe = st.builds(
        Probe,
        number,
        number,
        st.fixed_dictionaries(dict.fromkeys(states, text)),
        st.fixed_dictionaries(dict.fromkeys(states, st.none() | text)),
        st.fixed_dictionaries(dict.fromkeys(states, number)),
        index,
    )
    return Episode(
        environment=draw(text),
        task=draw(text),
        seed=draw(number),
        group=draw(text),
        turns=made,
        rewards=draw(st.lists(real, max_size=3)),
        score=draw(st.none() | real),
        success=draw(st.none() | st.booleans()),
        answers=draw(st.lists(answer, max_size=3)),
        probes=draw(st.lists(probe, max_size=3)),
        memories=[Memory(i, draw(number), draw(st.lists(entry, max_size=3))) for i in range(len(made))],
        states=draw(st.lists(json_dicts, max_size=3)),
        error=draw(st.none() | text),
    )


def sample() -> Episode:
    return Episode(
        "AMemGym-v0",
        "user",
        3,
        "user",
        turns=[
            Turn(
                [1, 2], [3], [-0.25], "{}", "stop", "write", "write/p0/0", {"period": 0, "exposed": {"coffee order": "oat milk"}}
            )
        ],
        rewards=[0.0, 1.0],
        score=1.0,
        success=True,
        answers=[Answer(0, 0, 4, 2, None, None), Answer(0, 1, 4, 2, 1, None, {"a": True, "b": False})],
        probes=[Probe(0, 0, {"coffee order": "oat milk"}, {"coffee order": None}, {"coffee order": 0}, 0)],
        memories=[Memory(0, 0, [{"label": "coffee order", "value": "oat milk", "timestamp": "2020-10-01 09:00:00"}])],
        states=[{"entries": []}],
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(episodes(), max_size=3))
def test_what_is_saved_is_loaded_again(tmp_path_factory, kept):
    path = tmp_path_factory.getbasetemp() / "store" / "episodes.parquet"
    save_episodes(path, kept)
    assert load_episodes(path) == kept
    assert [path] == list(path.parent.iterdir())


def test_datasets_reads_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    path = tmp_path / "episodes.parquet"
    save_episodes(path, [sample(), sample()])
    read = datasets.load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(read) == 2
    assert read[1]["task"] == "user"
    assert read[1]["turns"][0]["completion_ids"] == [3]
    assert json.loads(read[1]["turns"][0]["meta"])["exposed"] == {"coffee order": "oat milk"}
    assert read[1]["memories"][0]["entries"][0]["value"] == "oat milk"


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing_behind(tmp_path, monkeypatch):
    import pyarrow.parquet

    path = tmp_path / "episodes.parquet"
    save_episodes(path, [sample()])

    def full_disk(table, where, **options):
        where.write_bytes(b"PAR1 half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pyarrow.parquet, "write_table", full_disk)
    with pytest.raises(UserError, match=r"could not write 2 episodes to .*episodes\.parquet.*No space left"):
        save_episodes(path, [sample(), sample()])
    monkeypatch.undo()
    assert load_episodes(path) == [sample()]
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_replaced_and_never_rewritten_in_place(tmp_path):
    path = tmp_path / "episodes.parquet"
    save_episodes(path, [sample()])
    (tmp_path / "reader.parquet").hardlink_to(path)  # what somebody who opened it before still sees
    save_episodes(path, [])
    assert (load_episodes(path), load_episodes(tmp_path / "reader.parquet")) == ([], [sample()])


def test_a_path_below_a_file_is_a_user_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="could not write"):
        save_episodes(tmp_path / "file" / "episodes.parquet", [sample()])


@pytest.mark.parametrize("kept_bytes", [0, 3, 100, -1])
def test_a_file_cut_off_is_a_user_error(tmp_path, kept_bytes):
    path = tmp_path / "episodes.parquet"
    save_episodes(path, [sample()])
    path.write_bytes(path.read_bytes()[:kept_bytes])
    with pytest.raises(UserError, match="no complete parquet file"):
        load_episodes(path)


@pytest.mark.parametrize("damage", [{"meta": "{"}, {"operation": "sing"}, {"logprobs": []}])
def test_rows_that_are_no_episodes_are_a_user_error(tmp_path, damage):
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "episodes.parquet"
    save_episodes(path, [Episode("AMemGym-v0", "t", 0, "g", [Turn([1], [2], [-0.5], "x", "stop", "write", "write/p0/0")])])
    table = pyarrow.parquet.read_table(path)
    (row,) = table.to_pylist()
    row["turns"][0] |= damage
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row], schema=table.schema), path)
    with pytest.raises(UserError, match=rf"{path} is damaged .*play its episodes again"):
        load_episodes(path)


def test_an_absent_file_and_a_foreign_table_are_user_errors(tmp_path):
    import pyarrow
    import pyarrow.parquet

    with pytest.raises(UserError, match="no file of episodes"):
        load_episodes(tmp_path / "none.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"task": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(UserError, match="absent or of another type: environment, seed"):
        load_episodes(tmp_path / "other.parquet")


def test_an_entry_that_a_column_would_lose_is_refused(tmp_path):
    episode = sample()
    episode.memories[0].entries[0]["origin"] = "chat"
    with pytest.raises(ValueError, match="expected the keys label, timestamp, value"):
        save_episodes(tmp_path / "episodes.parquet", [episode])
