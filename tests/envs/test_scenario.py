"""Scenario files: nothing is lost on the way through, and every mistake is named by item and field."""

import copy
import errno
import json
from pathlib import Path

import pytest

from amemgym_envs.amemgym.scenario import ScenarioError, load_scenarios, save_scenarios


@pytest.fixture
def content(users, tmp_path):
    """The JSON content of a valid file of three users."""
    path = tmp_path / "valid.json"
    save_scenarios(path, users)
    return json.loads(path.read_text(encoding="utf-8"))


def write(tmp_path: Path, content) -> Path:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_the_real_file_survives_byte_for_byte(real_path, tmp_path):
    save_scenarios(tmp_path / "again.json", load_scenarios(real_path))
    assert json.loads((tmp_path / "again.json").read_bytes()) == json.loads(real_path.read_bytes())
    assert (tmp_path / "again.json").read_bytes() == real_path.read_bytes()


def test_the_real_file_has_the_known_shape(real):
    assert [len(s.periods) for s in real] == [11, 21, 21]
    assert all(len(s.questions) == 10 for s in real)
    assert all(session.exposed_states == {} for s in real for p in s.periods for session in p.sessions)


@pytest.mark.parametrize("name", ["data.json", "data.json.gz"])
def test_generated_users_survive(users, tmp_path, name):
    save_scenarios(tmp_path / name, users)
    assert load_scenarios(tmp_path / name) == users


def test_equal_content_gives_equal_gzip_bytes(users, tmp_path):
    for name in ("a.json.gz", "b.json.gz"):
        save_scenarios(tmp_path / name, users)
    first, second = ((tmp_path / n).read_bytes() for n in ("a.json.gz", "b.json.gz"))
    assert first == second
    assert first[4:8] == bytes(4)  # the time field of a gzip header (RFC 1952)


def test_unknown_keys_survive(content, tmp_path):
    item = content[1]
    item["lang"] = "en"
    item["periods"][0]["note"] = [1, None]
    item["periods"][0]["sessions"][0]["mood"] = "calm"
    item["qas"][0]["topic"] = {"a": 1}
    item["qas"][0]["answer_choices"][0]["source"] = 3
    save_scenarios(tmp_path / "again.json", load_scenarios(write(tmp_path, content)))
    assert json.loads((tmp_path / "again.json").read_bytes()) == content


def test_a_failed_write_leaves_the_old_file_and_no_rest(users, tmp_path, monkeypatch):
    path = tmp_path / "data.json"
    save_scenarios(path, users[:1])
    before = path.read_bytes()

    def full(self, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(ScenarioError, match="data.json: cannot be written .No space left"):
        save_scenarios(path, users)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_golden_and_write_period_follow_the_states(users):
    for user in users:
        for p, period in enumerate(user.periods):
            for q, question in enumerate(user.questions):
                choice = question.answer_choices[user.golden(p, q)]
                assert choice.state == [period.state[name] for name in question.required_info]
            for name, value in period.state.items():
                w = user.write_period(p, name)
                assert user.periods[w].updates[name]["new"] == value
                assert all(name not in later.updates for later in user.periods[w + 1 : p + 1])


def test_a_type_required_twice_is_allowed_as_in_the_real_file(real):
    twice = [(s, q) for s in real for q, question in enumerate(s.questions) if len(set(question.required_info)) == 1]
    assert twice
    for scenario, q in twice:
        golden = scenario.questions[q].answer_choices[scenario.golden(0, q)]
        assert golden.state == list(scenario.required_state(0, q).values()) * 2


def test_saving_checks_first(users, tmp_path):
    users[0].periods[1].state.popitem()
    with pytest.raises(ScenarioError, match=rf"item {users[0].id}, field periods\[1\].state"):
        save_scenarios(tmp_path / "data.json", users)
    assert list(tmp_path.iterdir()) == []


def delete(*path):
    def mutate(item):
        for key in path[:-1]:
            item = item[key]
        del item[path[-1]]

    return mutate


def put(value, *path):
    def mutate(item):
        for key in path[:-1]:
            item = item[key]
        item[path[-1]] = value

    return mutate


def put_state(item):
    name = next(iter(item["state_schema"]))
    item["periods"][2]["state"][name] = "nothing known"


def put_unknown_update(item):
    item["periods"][1]["updates"]["shoe size"] = {"old": None, "new": "large"}


def drop_update(item):
    item["periods"][1]["updates"].popitem()


def keep_one_choice(item):
    del item["qas"][1]["answer_choices"][1:]


def drop_golden(item):
    required, state = item["qas"][0]["required_info"], item["periods"][0]["state"]
    golden = [state[name] for name in required]
    item["qas"][0]["answer_choices"] = [c for c in item["qas"][0]["answer_choices"] if c["state"] != golden]


def repeat_golden(item):
    required, state = item["qas"][0]["required_info"], item["periods"][0]["state"]
    choice = next(c for c in item["qas"][0]["answer_choices"] if c["state"] == [state[name] for name in required])
    item["qas"][0]["answer_choices"].append(copy.deepcopy(choice))


def repeat_value(item):
    values = next(iter(item["state_schema"].values()))
    values.append(values[0])


CHOICE = r"qas\[0\].answer_choices\[1\]"
EXPOSED = r"periods\[0\].sessions\[0\].exposed_states"
MISTAKES = {
    "missing key": (delete("state_schema"), r"field 'state_schema' is missing"),
    "missing key of a period": (delete("periods", 1, "updates"), r"field 'updates' of periods\[1\] is missing"),
    "missing key of a session": (
        delete("periods", 0, "sessions", 1, "query"),
        r"field 'query' of periods\[0\].sessions\[1\] is missing",
    ),
    "missing key of a choice": (delete("qas", 0, "answer_choices", 1, "answer"), f"'answer' of {CHOICE} is missing"),
    "no periods": (put([], "periods"), r"field periods: got \[\], expected a list of at least 1"),
    "no questions": (put([], "qas"), r"field qas: got \[\], expected a list of at least 1"),
    "one choice": (keep_one_choice, r"field qas\[1\].answer_choices: got .*, expected a list of at least 2"),
    "query is a number": (put(3, "qas", 0, "query"), r"field qas\[0\].query: got 3, expected a string"),
    "profile is a list": (put([], "user_profile"), r"field user_profile: got \[\], expected an object"),
    "count is a bool": (put({"pet": True}, "periods", 0, "update_cnts"), r"field periods\[0\].update_cnts.pet: got True"),
    "repeated value": (repeat_value, r"field state_schema\..*expected distinct values"),
    "state not in schema": (put_state, r"field periods\[2\].state\..*: got 'nothing known', expected one of \["),
    "state of no variable": (put("x", "periods", 2, "state", "mood"), r"field periods\[2\].state: got 'mood', expected an info"),
    "update of no variable": (put_unknown_update, r"field periods\[1\].updates: got 'shoe size', expected an info type"),
    "missing update": (drop_update, r"field periods\[1\].updates\..*: got None, expected \{'old'"),
    "exposed value unknown": (
        put({"mood": "loud"}, "periods", 0, "sessions", 0, "exposed_states"),
        f"field {EXPOSED}: got 'mood', expected an info type",
    ),
    "required unknown": (put("mood", "qas", 2, "required_info", 0), r"field qas\[2\].required_info: got 'mood', expected"),
    "choice too short": (delete("qas", 0, "answer_choices", 1, "state", 0), f"field {CHOICE}.state: got .*, expected 2 values"),
    "choice not in schema": (
        put("nothing known", "qas", 0, "answer_choices", 1, "state", 0),
        rf"field {CHOICE}.state\..*: got 'nothing known', expected one of",
    ),
    "choice of no type": (put("golden", "qas", 0, "answer_choices", 1, "type"), f"field {CHOICE}.type: got 'golden', expected"),
    "no golden choice": (drop_golden, r"qas\[0\].answer_choices: 0 choices have the state .* of period 0, expected exactly"),
    "two golden choices": (repeat_golden, r"qas\[0\].answer_choices: 2 choices have the state .* of period 0, expected exactly"),
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_a_mistake_is_named_by_item_and_field(content, tmp_path, mistake):
    mutate, message = MISTAKES[mistake]
    mutate(content[1])
    with pytest.raises(ScenarioError, match=message) as caught:
        load_scenarios(write(tmp_path, content))
    assert content[1]["id"] in str(caught.value)


def test_two_items_with_one_id_are_refused(content, tmp_path):
    content[2]["id"] = content[0]["id"]
    with pytest.raises(ScenarioError, match=f"item {content[0]['id']}, field id"):
        load_scenarios(write(tmp_path, content))


@pytest.mark.parametrize("whole", [[], {}, 3])
def test_a_file_without_items_is_refused(tmp_path, whole):
    with pytest.raises(ScenarioError, match="expected a list of at least one scenario"):
        load_scenarios(write(tmp_path, whole))


def test_truncated_json_gives_line_and_column(content, tmp_path):
    path = tmp_path / "data.json"
    path.write_text(json.dumps(content, indent=1)[:5000], encoding="utf-8")
    lines = path.read_text(encoding="utf-8").split("\n")
    with pytest.raises(ScenarioError, match=r"data.json: invalid JSON at line \d+, column \d+") as caught:
        load_scenarios(path)
    assert any(f"line {n}," in str(caught.value) for n in (len(lines), len(lines) - 1))


def test_truncated_gzip_wrong_encoding_and_absent_file(users, tmp_path):
    path = tmp_path / "data.json.gz"
    save_scenarios(path, users)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ScenarioError, match="data.json.gz: truncated or no .gz file"):
        load_scenarios(path)
    path.write_bytes(b"[]")
    with pytest.raises(ScenarioError, match="data.json.gz: truncated or no .gz file"):
        load_scenarios(path)
    (tmp_path / "latin.json").write_bytes("[\"é\"]".encode("latin-1"))
    with pytest.raises(ScenarioError, match="latin.json: not UTF-8 text"):
        load_scenarios(tmp_path / "latin.json")
    with pytest.raises(ScenarioError, match="absent.json: cannot be read"):
        load_scenarios(tmp_path / "absent.json")


def test_a_byte_order_mark_is_read_over_and_senseless_json_is_told(users, tmp_path):
    path = tmp_path / "data.json"
    save_scenarios(path, users)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_scenarios(path) == users
    for content in ("[" * 100_000, "[" + "9" * 5000 + "]"):
        path.write_text(content)
        with pytest.raises(ScenarioError, match="data.json: no sensible JSON"):
            load_scenarios(path)


def test_what_is_no_file_is_not_replaced(users, tmp_path):
    with pytest.raises(ScenarioError, match="no regular file"):
        save_scenarios(tmp_path, users)
    with pytest.raises(ScenarioError, match="cannot be written"):
        save_scenarios(Path("/proc/none/data.json"), users)
