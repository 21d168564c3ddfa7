"""Whatever the generator writes is valid, and public data is told apart from it."""

import json
from dataclasses import replace
from statistics import fmean

import pytest

from amemgym_envs.amemgym.dataset import build
from amemgym_envs.amemgym.dataset.build import written
from amemgym_envs.amemgym.generator import GeneratorConfig, generate, preset, presets
from amemgym_envs.amemgym.generator.filling import conversation_tokens
from amemgym_envs.amemgym.scenario import ScenarioError
from amemgym_envs.amemgym.validation import validate

HARD = {
    "corrected": {"contradictions": 1.0},
    "distracted": {"distractor_values": 1.0},
    "noisy": {"noise_rounds": 3},
    "direct": {"difficulty": "direct"},
    "indirect": {"difficulty": "indirect"},
    "event": {"difficulty": "event"},
    "mixed": {"difficulty": "mixed"},
    "weighted": {"difficulty": {"direct": 1, "event": 3}},
    "everything": {"contradictions": 0.5, "distractor_values": 0.5, "noise_rounds": 1, "difficulty": "mixed", "phrasings": "all"},
    "held out": {"contradictions": 1.0, "distractor_values": 1.0, "difficulty": "mixed", "phrasings": "test"},
}


def problems(reports):
    return [str(fault) for report in reports for fault in report.violations]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", presets())
def test_every_preset_is_valid(tmp_path, name, language):
    for seed in range(3):
        settings = preset(name) | {"num_users": 2, "seed": seed, "language": language}
        path = tmp_path / f"{seed}.json"
        build(GeneratorConfig(**settings), path)
        [report] = validate(path)
        assert problems([report]) == [] and report.lacks == []
        assert report.figures["items"] == 2
        assert report.figures["longest user"] >= report.figures["tokens per user"] >= settings.get("target_tokens", 1)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("changes", HARD.values(), ids=HARD)
def test_every_difficulty_is_valid(tmp_path, noisy, changes, language):
    build(replace(noisy, **changes, states_per_session=3, language=language), tmp_path / "data.json")
    reports = validate(tmp_path / "data.json")
    assert problems(reports) == [] and reports[0].lacks == []


@pytest.mark.parametrize("disjoint", ["variables", "personas"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_folder_of_splits_is_valid_and_has_a_report_of_its_own(tmp_path, noisy, disjoint, language):
    for split in ("train", "validation", "test"):
        build(replace(noisy, split=split, disjoint=disjoint, language=language), tmp_path / f"{split}.json")
    reports = validate(tmp_path)
    assert [report.data for report in reports] == [
        *(str(tmp_path / f"{split}.json") for split in ("test", "train", "validation")),
        str(tmp_path),
    ]
    assert problems(reports) == [] and [report.lacks for report in reports] == [[], [], [], []]
    assert set(reports[-1].figures) == {f"variables in {split}.json" for split in ("train", "validation", "test")}
    assert all(6 <= count <= 18 for count in reports[-1].figures.values())


def test_compressed_data_is_read_too(tmp_path, noisy):
    build(noisy, tmp_path / "data.json.gz")
    reports = validate(tmp_path)
    assert problems(reports) == [] and len(reports) == 1


def test_one_user_without_later_periods_is_valid(tmp_path):
    least = ("users", "variables", "questions", "states_per_question", "changes_per_period")
    build(GeneratorConfig(**{f"num_{key}": 1 for key in least}, num_periods=0), tmp_path / "data.json")
    assert problems(validate(tmp_path / "data.json")) == []


def test_a_folder_without_data_is_told(tmp_path):
    (tmp_path / "data.manifest.json").write_text("{}")
    with pytest.raises(ScenarioError, match=r"no .json or .json.gz in it; make some with amemgym-train generate --out .*json"):
        validate(tmp_path)


def test_public_data_has_no_violations_and_the_report_says_what_it_lacks(real_path):
    [report] = validate(real_path)
    assert problems([report]) == []
    lacks = " ".join(report.lacks)
    assert "no exposed_states" in lacks and "no data.manifest.json" in lacks and "no generator key" in lacks
    assert report.figures["items"] == len(json.loads(real_path.read_text()))
    assert 0 < report.figures["random answers"] < report.figures["tokens per user"]


def test_progress_and_tokens_are_those_of_the_items(tmp_path, noisy):
    build(noisy, tmp_path / "data.json")
    users, told = generate(noisy), []
    [report] = validate(tmp_path / "data.json", count=len, advance=told.append)
    assert told == [1, 2, 3]
    lengths = [conversation_tokens(user, len) for user in users]
    assert (report.figures["tokens per user"], report.figures["longest user"]) == (round(fmean(lengths)), round(max(lengths)))
    assert report.figures["tokens per user"] > validate(tmp_path / "data.json")[0].figures["tokens per user"]


def test_a_report_is_json(items, validated):
    items[1]["periods"][2]["update_cnts"] = {}
    report = validated(items)
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["valid"] is report.valid is False
    [fault] = plain["violations"]
    assert (fault["item"], fault["period"], fault["field"]) == (items[1]["id"], 2, "periods[2].update_cnts")
    assert plain["lacks"] == ["no data.manifest.json: item hashes are not checked"]
    assert plain["figures"] == report.figures and plain["data"] == report.data
    assert validated([items[0]]).to_dict()["valid"] is True


def by_model(items):
    """The items as if a model had written their openings, in words that no template has."""
    for item in items:
        item["generator"]["writer"] = "llm"
        for period in item["periods"]:
            for session in period["sessions"]:
                if session["exposed_states"]:
                    session["query"] = f"My words: {sorted(session['exposed_states'])}"
    return items


def test_what_no_template_wrote_is_read_back_by_a_reader_or_said_to_be_unchecked(items, validated):
    sessions = [session for item in by_model(items) for period in item["periods"] for session in period["sessions"]]
    told = [session["exposed_states"] for session in sessions if session["exposed_states"]]
    report = validated(items)
    assert problems([report]) == []
    assert "no template wrote the sessions: name an endpoint to have a model read them back" in report.lacks
    answers, asked = iter(told), []

    def reader(utterances):
        asked.extend(utterances)
        return [next(answers) for _ in utterances]

    report = validated(items, reader=reader)
    assert problems([report]) == [] and len(report.lacks) == 1
    assert [sorted(allowed) for _, allowed in asked] == [sorted(states) for states in told]
    assert all(text == f"My words: {sorted(allowed)}" for text, allowed in asked)


def test_a_reader_who_takes_something_else_from_the_words_is_told(items, validated):
    by_model(items)
    report = validated(items, reader=lambda utterances: [dict.fromkeys(allowed) for _, allowed in utterances])
    telling = [
        (item["id"], p, f"periods[{p}].sessions[{s}].query")
        for item in items
        for p, period in enumerate(item["periods"])
        for s, session in enumerate(period["sessions"])
        if session["exposed_states"]
    ]
    assert [(fault.item, fault.period, fault.field) for fault in report.violations] == telling
    assert all("None" in fault.problem for fault in report.violations)


def test_an_item_is_valid_whoever_stands_beside_it(items, validated):
    assert validated(items[:1]).valid and validated(items[::-1]).valid
    assert written(generate(GeneratorConfig(num_users=1))[0])[1].id not in {item["id"] for item in items}
