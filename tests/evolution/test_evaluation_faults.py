"""An evaluation that is kept is killed, interrupted, loses users and controls, and ends as if nothing had been."""

import json
import re
import signal
import subprocess
import threading
from functools import partial

import pytest

from amemgym_train.agents.templates import load_prompts

AGENTS = ("--agents", "awi", "rag", "--seeds", 0, 4)


def test_a_mistake_before_anything_is_played_binds_nobody(evaluate, recipe, server, tmp_path, capsys):
    server.fails = lambda body: (401, {}, b"")
    assert evaluate(recipe(), "policy.chat.model=weak", "--out", tmp_path / "out") == 2
    server.fails = lambda body: None
    assert evaluate(recipe(), "--out", tmp_path / "out") == 0
    assert json.loads((tmp_path / "out" / "settings.json").read_text())["policy"]["chat"]["model"] == "strong"


def test_a_folder_of_something_else_is_left_alone(evaluate, recipe, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    assert evaluate(recipe(), "--out", tmp_path / "mine") == 2
    assert "holds files, but no settings.json" in capsys.readouterr().err
    (tmp_path / "mine" / "settings.json").write_text("{")
    assert evaluate(recipe(), "--out", tmp_path / "mine") == 2
    assert "settings.json cannot be read" in capsys.readouterr().err
    assert evaluate(recipe(), "--out", tmp_path / "mine" / "thesis.txt") == 2


@pytest.mark.parametrize("fault", [(500, {}, b"{}"), (429, {"Retry-After": "0"}, b""), (200, {}, b'{"choices": []}')])
def test_a_user_whom_the_endpoint_loses_is_named_and_played_on_from_his_period(
    evaluate, contents, report_of, whole, recipe, server, tmp_path, capsys, fault
):
    out, users = tmp_path / "out", report_of(whole)["users"]
    data = {item["id"]: item for item in json.loads((whole / "data.json").read_text())}
    lost = f"[Current Time: {data[users[1]]['periods'][1]['sessions'][0]['session_time']}]"
    server.fails = lambda body: fault if lost in body["messages"][-1]["content"] else None
    capsys.readouterr()
    assert evaluate(recipe(), "--out", out, *AGENTS) == 0
    report, said = report_of(out), " ".join(capsys.readouterr().out.split())
    assert {(one["results"], one["user"], one["period"]) for one in report["broken"]} == {
        (f"{name}{seed}", users[1], 1) for name in ("awi", "rag") for seed in ("", "-seed4")
    }
    assert f"not played to the end: awi, user {users[1]}, stopped in period 1: Unscorable" in said
    assert report["agents"]["awi"]["unscorable"] == 2 and list(report["agents"]["awi"]["per_user"]) == [users[0], users[2]]
    assert set(report["controls"]) == {"random", "oracle", "instruction"}
    server.fails = lambda body: None
    asked = len(server.requests)
    assert evaluate(recipe(), "--out", out, *AGENTS) == 0
    assert contents(out) == contents(whole)
    again = [body["messages"][-1]["content"] for body in server.requests[asked:]]
    first = f"[Current Time: {data[users[1]]['periods'][0]['sessions'][0]['session_time']}]"
    assert not [text for text in again if text.endswith(first)]  # his first period is not played again


def test_more_lost_users_than_allowed_stop_the_command_after_all_is_kept(
    evaluate, contents, whole, recipe, server, tmp_path, capsys
):
    out = tmp_path / "out"
    server.faults.extend([None] * 80 + [(503, {}, b"")] * 1000)
    assert evaluate(recipe(), "--out", out, *AGENTS) == 2
    said = capsys.readouterr().err
    assert re.search(r"\d+ of 12 episodes could not be played to their end", said)
    assert "rollout.max_unscorable allows 50.0%" in said and "the same command again" in said
    assert list(out.glob("unfinished/*/*/period_000.parquet"))
    server.faults.clear()
    assert evaluate(recipe(), "--out", out, *AGENTS) == 0
    assert contents(out) == contents(whole)


def bare(body):
    """Whether nothing but a question is asked, as the control "instruction" does."""
    instruction, asked = (body["messages"][place]["content"] for place in (0, -1))
    return instruction == load_prompts("default")["answer"].instruction and asked.startswith("Question:")


INSTRUCTION = {"upper": "oracle", "controls": ["instruction"]}


def test_a_control_that_the_endpoint_broke_is_named_and_asked_again(evaluate, report_of, recipe, server, tmp_path, capsys):
    path, out, lost = recipe(evaluation=INSTRUCTION), tmp_path / "out", iter([(500, {}, b"{}")])
    server.fails = lambda body: next(lost, None) if bare(body) else None
    assert evaluate(path, "--out", out) == 0
    [broken] = report_of(out)["broken"]
    assert (broken["results"], broken["period"]) == ("instruction", 0) and broken["error"].startswith("Unscorable: ")
    assert f"not played to the end: instruction, user {broken['user']}, stopped" in " ".join(capsys.readouterr().out.split())
    asked = len(server.requests)
    assert evaluate(path, "--out", out) == 0
    assert report_of(out)["broken"] == [] and len(server.requests) > asked and all(map(bare, server.requests[asked:]))


def test_a_control_that_nobody_could_play_ends_the_command_with_a_message(evaluate, recipe, server, capsys):
    server.fails = lambda body: (500, {}, b"{}") if bare(body) else None
    assert evaluate(recipe(evaluation=INSTRUCTION)) == 2
    assert "3 of 3 episodes could not be played to their end" in capsys.readouterr().err


@pytest.mark.parametrize("silent", ["strong", "talker"])
def test_an_interrupt_does_not_wait_for_an_endpoint_that_hangs(recipe, server, amemgym_train, tmp_path, silent):
    """Neither for that of the agent nor for that of the user, whom threads wait for."""
    begun = threading.Event()

    def fails(body):
        if body["model"] == silent:
            begun.set()
            return "hang"

    server.fails = fails
    user = {"chat": {"base_url": server.url, "model": "talker"}}
    path = recipe(scenarios={"test": recipe.users | {"rounds_init": 2}, "user": user})
    words = amemgym_train.command("evaluate", path, "--out", tmp_path / "out")
    environment = amemgym_train.env | {"NO_PROXY": "127.0.0.1"}
    # a shell starts what runs in its background deaf to interrupts, and so would be what the tests start
    hearing = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=hearing)
    assert begun.wait(60)
    process.send_signal(signal.SIGINT)
    try:
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130 and "interrupted; with --out, finished periods are kept" in said
    assert "Traceback" not in said


def test_a_refused_key_ends_it_at_once_and_names_the_call(evaluate, recipe, server, tmp_path, capsys):
    server.fails = lambda body: (401, {}, b'{"error": {"message": "bad key"}}')
    assert evaluate(recipe(), "--out", tmp_path / "out", *AGENTS) == 2
    said = capsys.readouterr().err
    assert "401" in said and re.search(r"episode AMemGym-v0/\w+/\d, respond/p0/s0/r0", said)


@pytest.mark.parametrize("after", [5, 80, 200])
def test_a_killed_process_goes_on_and_ends_with_the_same_bytes(
    contents, whole, shared, recipe, server, amemgym_train, tmp_path, after
):
    out = tmp_path / "out"
    words = ["evaluate", recipe(), "--out", out, *AGENTS]
    server.hold_after = len(server.requests) + after
    process = subprocess.Popen(
        amemgym_train.command(*words), env=amemgym_train.env | {"NO_PROXY": "127.0.0.1"}, stderr=subprocess.DEVNULL
    )
    assert server.held.wait(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.hold_after = None
    server.released.set()
    assert not (out / "report.json").exists()
    assert after < 50 or list(out.glob("unfinished/*/*/period_*.parquet")) or list(out.glob("episodes/*/*.parquet"))
    asked = len(server.requests)
    result = amemgym_train(*words)
    assert result.returncode == 0, result.stderr
    assert contents(out) == contents(whole)
    assert after < 50 or len(server.requests) - asked < int((shared / "calls").read_text())


def test_two_at_once_in_one_folder_are_refused(evaluate, whole, recipe, tmp_path, capsys):
    import fcntl

    with (whole / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert evaluate(recipe(), "--out", whole, *AGENTS) == 2
    assert "another process works on this run; wait for it, or choose another --out" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "content"), [("seconds.json", "[1]"), ("settings.json", "3"), ("report.json", "[]")])
def test_a_file_of_another_shape_is_named(evaluate, whole, recipe, name, content, capsys):
    (whole / name).write_text(content)
    assert evaluate(recipe(), "--out", whole, *AGENTS) == 2
    assert f"{whole / name} holds a {type(json.loads(content)).__name__}, expected a dict; delete it" in capsys.readouterr().err


def test_a_report_that_says_nothing_is_made_again(evaluate, contents, whole, recipe, server):
    asked, before = len(server.requests), contents(whole)
    (whole / "report.json").write_text("{}")
    assert evaluate(recipe(), "--out", whole, *AGENTS) == 0
    assert len(server.requests) == asked and contents(whole) == before
