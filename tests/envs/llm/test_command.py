"""The command line with a model: users written, validated by being read back, and filled to a length."""

import asyncio
import json

import pytest

from amemgym_envs.amemgym.generator.filling import conversation_tokens
from amemgym_envs.amemgym.languages.words import mentions
from amemgym_envs.amemgym.llm import read_openings
from amemgym_envs.amemgym.scenario import load_scenarios
from amemgym_train import cli

SETTINGS = ["num_questions=3", "num_variables=5", "num_periods=2", "num_changes_per_period=2", "num_choices_per_state=3"]


@pytest.fixture
def model_flags(server):
    return ["--model", "strong", "--base-url", server.url]


def generate(out, model_flags, *words):
    return cli.main(["generate", "--out", str(out), "--users", "1", "--tries", "4", *model_flags, *SETTINGS, *words])


def test_users_are_written_reported_and_found_valid_by_the_model_itself(tmp_path, model_flags, server, capsys):
    out = tmp_path / "data.json"
    assert generate(out, [*model_flags, "--price-in", "1", "--price-out", "2"]) == 0
    printed = capsys.readouterr().out
    assert "users: 1 written" in printed and "cost: " in printed and f"{out}: 1 user" in printed
    report = json.loads((tmp_path / "data.manifest.json").read_text())["settings"]["writer"]
    assert report["calls"] == len(server.requests) and report["failures"] == []

    assert cli.main(["validate", str(out)]) == 0
    assert "no template wrote the sessions: name an endpoint" in " ".join(capsys.readouterr().out.split())
    before = len(server.requests)
    assert cli.main(["validate", str(out), *model_flags]) == 0
    assert "name an endpoint" not in capsys.readouterr().out
    openings = sum(bool(s.exposed_states) for p in load_scenarios(out)[0].periods for s in p.sessions)
    assert len(server.requests) == before + openings
    assert cli.main(["validate", str(out), *model_flags]) == 0 and len(server.requests) == before + openings  # from the journal


def test_an_opening_that_tells_something_else_is_found_by_the_model(tmp_path, model_flags, capsys):
    out = tmp_path / "data.json"
    generate(out, model_flags)
    content = json.loads(out.read_text())
    sessions = content[0]["periods"][1]["sessions"]
    sessions[0]["query"] = "Nothing is new."
    out.write_text(json.dumps(content))
    (tmp_path / "data.manifest.json").unlink()
    capsys.readouterr()
    assert cli.main(["validate", str(out), "--json", *model_flags]) == 1
    (violation,) = json.loads(capsys.readouterr().out)[0]["violations"]
    assert (violation["field"], violation["period"]) == ("periods[1].sessions[0].query", 1)
    assert "None" in violation["problem"]


def test_a_users_life_is_filled_to_the_length_asked_for_without_a_word_of_its_schema(tmp_path, model_flags):
    out = tmp_path / "data.json"
    assert generate(out, model_flags, "target_tokens=20000", "rounds_init=2", "rounds_update=2") == 0
    (user,) = load_scenarios(out)
    assert 20_000 <= conversation_tokens(user) < 20_700
    filling = [s for period in user.periods for s in period.sessions if not s.exposed_states]
    values = [value for allowed in user.state_schema.values() for value in allowed]
    assert len(filling) > 30 and not any(mentions(session.query, value) for session in filling for value in values)
    assert cli.main(["validate", str(out)]) == 0


def test_a_user_who_cannot_be_written_leaves_the_others_and_an_exit_code(tmp_path, model_flags, model, capsys):
    out = tmp_path / "data.json"
    generate(out, model_flags)
    (user,) = load_scenarios(out)
    capsys.readouterr()
    model.junk = [user.user_profile["name"]]
    other = tmp_path / "other.json"
    assert generate(other, model_flags, "num_users=2") == 2
    captured = capsys.readouterr()
    assert "user 0 failed at stage propose" in captured.out
    assert f"1 of 2 users are in {other}" in captured.err and "Traceback" not in captured.err
    assert len(load_scenarios(other)) == 1


def test_a_model_needs_an_address_and_a_server(tmp_path, capsys):
    out = tmp_path / "data.json"
    assert generate(out, ["--model", "strong"]) == 2
    assert "--model strong needs --base-url" in capsys.readouterr().err
    assert generate(out, ["--model", "strong", "--base-url", "ftp://x"]) == 2
    assert "base_url: got 'ftp://x'" in capsys.readouterr().err
    assert not out.exists()


def test_openings_are_read_once_and_silence_is_no_value(tmp_path, chatter):
    replies = iter(['{"tea": "green_tea"}', "hm", "hm", "hm"])
    model, journal = chatter(lambda messages: next(replies)), tmp_path / "journal.jsonl"
    openings = [("I drink green tea.", {"tea": ["green_tea", "black_tea"]}), ("Hello.", {"cup": ["red_cup", "blue_cup"]})]
    expected = [{"tea": "green_tea"}, {"cup": None}]
    for opening, found in zip(openings, expected, strict=True):
        assert asyncio.run(read_openings(model, journal, [opening])) == [found]
    assert asyncio.run(read_openings(model, journal, openings)) == expected  # no reply is left to give
