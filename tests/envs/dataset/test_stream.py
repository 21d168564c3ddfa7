"""A data file that grows: the bytes of ``save_scenarios`` at the end, and after any kill a part to go on from."""

import json

import pytest

from amemgym_envs.amemgym.dataset.build import written
from amemgym_envs.amemgym.dataset.stream import Entry, ItemStream, canonical, digest, laid_out
from amemgym_envs.amemgym.generator import generate
from amemgym_envs.amemgym.scenario import ScenarioError, save_scenarios

ITEMS = [{"id": "a", "list": [1, 2]}, {"id": "b", "text": "tea & toast\n茶"}, {"id": "c", "empty": {}}]


def entry(item):
    return Entry(item["id"], digest(item), 1, 10)


def write(path, items, origin="settings"):
    with ItemStream(path, origin) as stream:
        for item in items:
            stream.append(laid_out(item), entry(item))
        stream.finish()


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_file_is_a_list_as_json_lays_it_out(tmp_path, count):
    write(tmp_path / "data.json", ITEMS[:count])
    assert (tmp_path / "data.json").read_text() == json.dumps(ITEMS[:count], indent=1, ensure_ascii=False)
    assert files(tmp_path) == ["data.json"]


@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_the_bytes_are_those_of_save_scenarios(tmp_path, config, suffix, content):
    users = generate(config)
    save_scenarios(tmp_path / f"saved.{suffix}", users)
    with ItemStream(tmp_path / f"grown.{suffix}", "") as stream:
        for user in users:
            stream.append(*written(user))
        stream.finish()
    assert content(tmp_path / f"grown.{suffix}") == content(tmp_path / f"saved.{suffix}")


def test_a_part_of_the_same_settings_is_continued_and_of_others_discarded(tmp_path):
    path = tmp_path / "data.json"
    for origin, kept in (("settings", 2), ("other settings", 0)):
        path.unlink(missing_ok=True)
        with ItemStream(path, "settings") as stream:
            for item in ITEMS[:2]:
                stream.append(laid_out(item), entry(item))
        assert files(tmp_path) == [".data.json.part", ".data.json.part.jsonl"]
        with ItemStream(path, origin) as stream:
            assert stream.entries == [entry(item) for item in ITEMS[:kept]]
            for item in ITEMS[kept:]:
                stream.append(laid_out(item), entry(item))
            stream.finish()
        assert json.loads(path.read_text()) == ITEMS
        assert files(tmp_path) == ["data.json"]


def test_what_follows_the_items_to_keep_is_cut_off(tmp_path):
    path = tmp_path / "data.json"
    with ItemStream(path, "settings") as stream:
        for item in ITEMS:
            stream.append(laid_out(item), entry(item))
    with ItemStream(path, "settings") as stream:
        stream.keep(1)
        assert stream.entries == [entry(ITEMS[0])]
    with ItemStream(path, "settings") as stream:  # cut off on disk too
        assert stream.entries == [entry(ITEMS[0])]
        stream.finish()
    assert json.loads(path.read_text()) == ITEMS[:1]


def test_a_part_without_its_journal_and_a_journal_without_its_part_are_begun_again(tmp_path):
    path = tmp_path / "data.json"
    for lost in (".data.json.part", ".data.json.part.jsonl"):
        with ItemStream(path, "settings") as stream:
            for item in ITEMS:
                stream.append(laid_out(item), entry(item))
        (tmp_path / lost).unlink()
        with ItemStream(path, "settings") as stream:
            assert stream.entries == []
    write(path, ITEMS)
    assert json.loads(path.read_text()) == ITEMS


def test_a_folder_under_the_name_is_left_alone(tmp_path):
    (tmp_path / "data.json").mkdir()
    with pytest.raises(ScenarioError, match="data.json: no regular file, so it is not replaced; choose another path"):
        write(tmp_path / "data.json", ITEMS)
    assert files(tmp_path) == ["data.json"]


def test_folders_are_made_and_a_file_in_the_way_is_told(tmp_path):
    write(tmp_path / "new" / "folder" / "data.json", ITEMS)
    assert json.loads((tmp_path / "new" / "folder" / "data.json").read_text()) == ITEMS
    (tmp_path / "file").write_text("")
    with pytest.raises(ScenarioError, match=r"file/data.json: cannot be written \(.+\); check the path and permissions"):
        write(tmp_path / "file" / "data.json", ITEMS)


def test_a_digest_does_not_depend_on_key_order_or_layout():
    item = {"b": [1, {"d": None, "c": "茶"}], "a": 0.5}
    turned = {"a": 0.5, "b": [1, {"c": "茶", "d": None}]}
    assert canonical(item) == canonical(turned) == '{"a":0.5,"b":[1,{"c":"茶","d":null}]}'
    assert digest(item) == digest(json.loads(json.dumps(turned, indent=3)))
    assert digest(item) != digest(item | {"a": 0.25})
    assert digest([1, 2]) != digest([2, 1])


def test_two_writers_of_one_file_do_not_mix(tmp_path):
    path = tmp_path / "data.json"
    with ItemStream(path, "settings") as stream:
        stream.append(laid_out(ITEMS[0]), entry(ITEMS[0]))
        for origin in ("settings", "other settings"):
            with pytest.raises(ScenarioError, match="data.json: another process is writing it"):
                ItemStream(path, origin).__enter__()
        stream.append(laid_out(ITEMS[1]), entry(ITEMS[1]))
        stream.finish()
    assert json.loads(path.read_text()) == ITEMS[:2]
    write(path, ITEMS)  # the lock ends with its holder
    assert json.loads(path.read_text()) == ITEMS
