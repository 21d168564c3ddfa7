import gzip
import io
import json
import shutil
from itertools import product
from pathlib import Path

import pytest
from rich.console import Console

from amemgym_train.errors import UserError
from amemgym_train.evaluation.public import rescore
from amemgym_train.evaluation.table import render

REAL = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "amemgym_real"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="shared/data/amemgym_real is not beside the repository")

# agent, user: overall, upper, random, memory score, write, read, utilisation
PUBLISHED = {
    ("awi", "1aed28"): (0.382, 0.882, 0.234, 0.213, 0.282, 0.327, 0.100),
    ("awi", "513102"): (0.490, 0.848, 0.191, 0.457, 0.314, 0.348, 0.100),
    ("awi", "620171"): (0.257, 0.852, 0.208, 0.073, 0.462, 0.329, 0.071),
    ("native", "1aed28"): (0.427, 0.882, 0.234, 0.289, 0.355, 0.136, 0.127),
    ("native", "513102"): (0.410, 0.848, 0.191, 0.333, 0.400, 0.262, 0.129),
    ("native", "620171"): (0.310, 0.852, 0.208, 0.169, 0.281, 0.367, 0.148),
}
SCHEMA = {"pet": ["cat", "dog"], "drink": ["tea", "milk"]}
STATES = [{"pet": "cat", "drink": "tea"}, {"pet": "dog", "drink": "tea"}, {"pet": "dog", "drink": "milk"}]
REQUIRED = [["pet"], ["drink", "pet"]]
USERS = ("ann", "bob")


def figures(row):
    return (row.overall, row.upper, row.random, row.memory_score, row.write, row.read, row.utilisation)


@needs_real
@pytest.mark.parametrize("unparsable", ["wrong", "random"])
def test_real_results_give_the_published_figures(unparsable):
    rows = rescore(REAL / "data.json", REAL / "peer_results", unparsable)
    assert {(row.agent, row.user[:6]): tuple(round(value, 3) for value in figures(row)) for row in rows} == PUBLISHED
    assert all(row.unparsable["answer"] == row.unparsable["upper"] == 0 and row.note is None for row in rows)


@needs_real
def test_one_agent_or_one_user_gives_the_same_rows():
    rows = rescore(REAL / "data.json", REAL / "peer_results")
    assert rescore(REAL / "data.json", REAL / "peer_results" / "native") == rows[3:]
    assert rescore(REAL / "data.json", REAL / "peer_results" / "native" / rows[4].user) == [rows[4]]


def combinations(required):
    return [list(values) for values in product(*(SCHEMA[name] for name in required))]


def item_of(user):
    previous, periods = {}, []
    for state in STATES:
        updates = {name: {"old": previous.get(name), "new": state[name]} for name in state if previous.get(name) != state[name]}
        dates = {"period_start": None, "period_end": "2021-01-01", "period_summary": None}
        periods.append(dates | {"sessions": [], "state": state, "updates": updates, "update_cnts": dict.fromkeys(state, 0)})
        previous = state
    qas = [
        {
            "query": f"{user}, what fits my {' and '.join(required)}?",
            "required_info": required,
            "answer_choices": [{"state": state, "answer": " ".join(state), "type": "random"} for state in combinations(required)],
        }
        for required in REQUIRED
    ]
    return {"id": user, "start_time": "2020-10-01", "user_profile": {}, "state_schema": SCHEMA, "periods": periods, "qas": qas}


def answer_of(item, question, choice):
    required = item["qas"][question]["answer_choices"][choice]["state"]
    reply = json.dumps({"answer": choice + 1})
    return {"query": item["qas"][question]["query"], "answer_state": required, "raw_response": reply, "response": choice + 1}


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


@pytest.fixture
def public(tmp_path):
    """A data file and the results of one agent that knows everything, in the public layout."""
    items = [item_of(user) for user in USERS]
    write(tmp_path / "data.json", items)
    for item in items:
        folder = tmp_path / "results" / "agent" / item["id"]
        golden = [[combinations(r).index([state[name] for name in r]) for r in REQUIRED] for state in STATES]
        write(folder / "overall_results.json", [[answer_of(item, q, row[q]) for q in (0, 1)] for row in golden])
        probes = [[{"raw_response": json.dumps({name: state[name] for name in r})} for r in REQUIRED] for state in STATES]
        write(folder / "diagnosis_results.json", probes)
        upper = [[answer_of(item, q, choice) for choice in range(len(combinations(REQUIRED[q])))] for q in (0, 1)]
        write(tmp_path / "results" / "upperbound" / f"{item['id']}.json", upper)
    return tmp_path


def change(path, edit):
    value = json.loads(path.read_text())
    edit(value)
    write(path, value)


def run(public, **settings):
    return rescore(public / "data.json", public / "results", **settings)


def test_perfect_results_score_one(public):
    rows = run(public)
    assert [(row.agent, row.user) for row in rows] == [("agent", "ann"), ("agent", "bob")]
    for row in rows:
        assert figures(row) == (1, 1, pytest.approx((1 / 2 + 1 / 4) / 2), 1, 0, 0, 0)


def test_failures_are_told_apart(public):
    """ann: the dog is known at period 1, where it came, and forgotten at 2 (read); the milk is never noticed (write)."""
    folder = public / "results" / "agent" / "ann"

    def forget(value):
        value[2][0]["raw_response"] = '{"pet": "cat"}'
        value[2][1]["raw_response"] = '{"pet": "dog", "drink": "tea"}'

    def guess(value):
        value[0][0]["raw_response"] = '{"answer": 2}'

    change(folder / "diagnosis_results.json", forget)
    change(folder / "overall_results.json", guess)
    ann, bob = run(public)
    assert (ann.write, ann.read, ann.utilisation) == pytest.approx((1 / 6, 1 / 6, 1 / 6))
    assert ann.overall == pytest.approx(5 / 6)
    assert figures(bob)[4:] == (0, 0, 0)


def test_only_the_raw_replies_count(public):
    before = run(public)

    def lie(value):
        value[1][1] |= {"response": 1, "scores": {"accuracy": 0.0}, "response_state": ["?", "?"], "answer": 3}

    change(public / "results" / "agent" / "ann" / "overall_results.json", lie)
    assert run(public) == before
    assert run(public, unparsable="random") == before


def test_unparsable_answers_are_counted_and_wrong_or_get_a_choice(public):
    def mumble(value):
        for row in value:
            for item in row:
                item.update(raw_response="I would say the first one.", json_error=True)
        value[0][0]["json_error"] = False  # nothing was stored for this one: a choice is drawn

    answers = public / "results" / "agent" / "ann" / "overall_results.json"
    change(answers, mumble)
    wrong, drawn = run(public)[0], run(public, unparsable="random")[0]
    assert wrong.unparsable == drawn.unparsable == {"answer": 6, "read": 0, "upper": 0}
    assert wrong.overall == 0
    assert drawn.overall * 6 in (pytest.approx(5), pytest.approx(6))  # the five stored choices were right
    assert run(public, unparsable="random")[0] == drawn


def test_drawn_choices_cover_them_all_and_depend_on_the_place_only(public):
    def mumble(value):
        for row in value:
            for item in row:
                item["raw_response"] = "?"

    scores = set()
    for name in [f"agent{i}" for i in range(12)]:
        shutil.copytree(public / "results" / "agent", public / "more" / name)
        change(public / "more" / name / "ann" / "overall_results.json", mumble)
    everything = {row.agent: row for row in rescore(public / "data.json", public / "more", "random") if row.user == "ann"}
    for name, row in everything.items():
        assert rescore(public / "data.json", public / "more" / name / "ann", "random") == [row]
        scores.add(round(row.overall * 6))
    assert len(scores) > 2


def test_upper_bound_lowers_the_ceiling(public):
    def miss(value):
        value[1][0]["raw_response"] = '{"answer": 2}'  # tea and cat: asked at period 0 only

    change(public / "results" / "upperbound" / "ann.json", miss)
    row = run(public)[0]
    assert row.upper == pytest.approx(5 / 6)
    assert row.memory_score == pytest.approx(((1 - 3 / 8) / (1 / 2 - 3 / 8) + 1 + 1) / 3)


def test_periods_without_headroom_are_told(public):
    def fail(value):
        for item in [value[0][0], value[1][0]]:  # both questions of period 0
            item["raw_response"] = '{"answer": 2}'

    change(public / "results" / "upperbound" / "ann.json", fail)
    ann, bob = run(public)
    assert ann.memory_score == 1 and "1 periods left out" in ann.note
    assert bob.note is None


def test_a_missing_upper_bound_is_told_with_the_places_tried(public):
    (public / "results" / "upperbound" / "ann.json").unlink()
    ann, bob = run(public)
    assert (ann.upper, ann.memory_score, ann.overall) == (None, None, 1)
    assert str(public / "results" / "upperbound") in ann.note and "<user>.json" in ann.note
    assert bob.note is None and bob.memory_score == 1
    assert json.loads(json.dumps(ann.to_dict()))["memory_score"] is None


def test_upper_bound_may_lie_beside_the_agent_or_in_its_folder(public):
    before = run(public)
    (public / "results" / "upperbound" / "ann").mkdir()  # no run of an agent named upperbound
    assert run(public) == before
    shutil.move(public / "results" / "upperbound", public / "results" / "agent" / "upperbound")
    assert run(public) == before
    assert rescore(public / "data.json", public / "results" / "agent") == before


def test_gzipped_and_plain_files_are_alike(public):
    before = run(public)
    for path in (public / "results").rglob("*.json"):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert run(public) == before


def drop_period(value):
    value.pop()


def drop_question(value):
    value[1].pop()


def spoil_item(value):
    value[1][0] = "gone"


def spoil_reply(value):
    value[1][0]["raw_response"] = None


def spoil_query(value):
    value[2][1]["query"] = "Another question?"


def spoil_state(value):
    value[2][1]["answer_state"] = ["tea", "cat"]


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        (drop_period, "got 2 periods, expected 3"),
        (drop_question, "period 1: got 1 questions, expected 2"),
        (spoil_item, "period 1, question 0 is 'gone'"),
        (spoil_reply, "period 1, question 0: field raw_response is None"),
        (spoil_query, "period 2, question 1: field query is 'Another question\\?'"),
        (spoil_state, "period 2, question 1: field answer_state is"),
    ],
)
def test_results_that_do_not_fit_are_named(public, edit, place):
    change(public / "results" / "agent" / "bob" / "overall_results.json", edit)
    with pytest.raises(UserError, match=f"overall_results.json.*bob.*{place}"):
        run(public)


def cut(public):
    path = public / "results" / "agent" / "bob" / "overall_results.json"
    path.write_text(path.read_text()[:-40])


def cut_gzip(public):
    path = public / "results" / "agent" / "bob" / "overall_results.json"
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes())[:-20])
    path.unlink()


def no_text(public):
    (public / "results" / "agent" / "bob" / "overall_results.json").write_bytes(b"\xff\xfe[]")


def no_probes(public):
    (public / "results" / "agent" / "bob" / "diagnosis_results.json").unlink()


def empty(public):
    for path in (public / "results" / "agent" / "bob").iterdir():
        path.unlink()


def stranger(public):
    (public / "results" / "agent" / "bob").rename(public / "results" / "agent" / "zoe")


def nothing(public):
    shutil.rmtree(public / "results" / "agent")


def no_folder(public):
    shutil.rmtree(public / "results")


def no_data(public):
    (public / "data.json").unlink()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut, "overall_results.json: user bob: broken JSON at line 1, column"),
        (cut_gzip, "overall_results.json.gz: user bob: cannot be read"),
        (no_text, "overall_results.json: user bob: cannot be read"),
        (no_probes, "user bob of agent agent has no diagnosis_results.json"),
        (empty, "user bob of agent agent has no overall_results.json"),
        (stranger, "user id zoe is not in the data file.*ann, bob"),
        (nothing, "no results found"),
        (no_folder, "is not a folder"),
        (no_data, "data.json"),
    ],
)
def test_broken_folders_are_named(public, spoil, message):
    spoil(public)
    with pytest.raises(UserError, match=message):
        run(public)


def test_an_unknown_rule_is_refused(public):
    with pytest.raises(UserError, match="'skip'; expected one of wrong, random"):
        run(public, unparsable="skip")


def test_table_shows_rows_means_and_what_is_missing(public):
    (public / "results" / "upperbound" / "ann.json").unlink()
    out = io.StringIO()
    Console(file=out, width=80).print(render(run(public)))
    lines = {line.split()[1]: line.split() for line in out.getvalue().splitlines() if line.strip().startswith("agent ")}
    assert lines["ann"][2:] == ["1.000", "-", "0.375", "-", "0.000", "0.000", "0.000", "0/0/0"]
    assert lines["bob"][2:] == ["1.000", "1.000", "0.375", "1.000", "0.000", "0.000", "0.000", "0/0/0"]
    assert lines["mean"][3:] == ["1.000", "-", "0.375", "-", "0.000", "0.000", "0.000", "0/0/0"]
    assert "no upper bound" in out.getvalue()
