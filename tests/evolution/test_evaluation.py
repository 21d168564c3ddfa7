"""An evaluation that is kept: a chat model plays several agents, is killed, loses users, and ends as if nothing had been."""

import hashlib
import json
import re
import shutil
import signal
import subprocess
import threading
import time
from functools import partial
from pathlib import Path

import pytest
import yaml

from amemgym_train import cli
from amemgym_train.agents.templates import load_prompts
from amemgym_train.evaluation.public import rescore
from amemgym_train.rollout.store import load_episodes

USERS = {
    **{"num_users": 3, "num_variables": 4, "num_questions": 2, "num_periods": 1, "num_changes_per_period": 1},
    **{"num_states_per_question": 2, "rounds_update": 2},
}
INSTRUCTIONS = {prompt.instruction: operation for operation, prompt in load_prompts("default").items()}
UNLIKE = ("seconds.json", ".lock")  # the only files that differ between two runs of the same


def model(messages):
    """Picks the choice with most of the words that are noted or were said; what it cannot know depends on its prompt alone."""
    body = messages[-1]["content"]
    number = int(hashlib.sha256(body.encode()).hexdigest()[:8], 16)
    operation = INSTRUCTIONS.get(messages[0]["content"])
    told, _, asked = body.rpartition("\n\n")
    if operation == "answer":
        choices = re.findall(r"^\d+\. (.+)$", asked, re.MULTILINE)
        known = [sum(word in told.lower() for word in choice.lower().split() if len(word) > 4) for choice in choices]
        return "none of them" if number % 7 == 0 else {"answer": 1 + max(range(len(choices)), key=known.__getitem__)}
    if operation == "read":
        schema = json.loads(asked.partition("\n")[2])
        return {name: values[number % len(values)] for name, values in schema.items() if number % 5}
    if operation == "write":
        return {f"note {number % 4}": f"{number % 9} of {body.split()[-1]}"}
    return f"I see, {number % 50}."


@pytest.fixture
def server(chat_server):
    return chat_server(model)


@pytest.fixture
def recipe(server, tmp_path):
    """Writes the recipe of a chat model, with changes."""

    def write(**changes):
        sections = {
            "name": "kept",
            "output": str(tmp_path / "runs"),
            "policy": {"chat": {"base_url": server.url, "model": "strong", "retries": 0}},
            "agent": {"local_length": 2, "flush": "period"},
            "scenarios": {"test": USERS},
            "evaluation": {"upper": "model", "controls": ["random", "oracle", "scrambled", "empty", "instruction"]},
            "rollout": {"max_unscorable": 0.5},
        }
        path = tmp_path / "kept.yaml"
        path.write_text(yaml.safe_dump(sections | changes))
        return path

    return write


def evaluate(*words):
    return cli.main(["evaluate", *map(str, words)])


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in UNLIKE
    }


def report_of(folder):
    return json.loads((folder / "report.json").read_text())


AGENTS = ("--agents", "awi", "rag", "--seeds", 0, 4)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("shared")


@pytest.fixture
def whole(shared, recipe, server, tmp_path):
    """The folder of an evaluation that nothing disturbed, made once and copied for each test."""
    if not (shared / "calls").exists():
        assert evaluate(recipe(), "--out", shared / "whole", *AGENTS) == 0
        (shared / "calls").write_text(str(len(server.requests)))
    return shutil.copytree(shared / "whole", tmp_path / "whole")


def test_everything_is_written_and_the_public_files_give_the_same_figures(whole, capsys):
    report = report_of(whole)
    assert list(report["agents"]) == ["awi", "rag"] and report["seeds"] == [0, 4] and report["broken"] == []
    episodes = {name: load_episodes(whole / "episodes" / name / "seed-4.parquet") for name in report["agents"]}
    assert [episode.task for episode in episodes["rag"]] == report["users"] and len(report["users"]) == 3
    rows = {(row.agent, row.user): row for row in rescore(whole / "data.json", whole / "results")}
    assert {agent for agent, _ in rows} == {f"{name}{seed}" for name in report["agents"] for seed in ("", "-seed4")}
    for name, one in report["agents"].items():
        assert one["results"] == [name, f"{name}-seed4"] and one["episodes"] == 6
        for user, figures in one["per_user"].items():
            own = [rows[label, user] for label in one["results"]]
            for figure in ("overall", "upper", "random", "write", "read", "utilisation"):
                mean = sum(getattr(row, figure) for row in own) / 2
                assert figures[figure] == pytest.approx(mean, abs=1e-9), (name, user, figure)
            scores = [row.memory_score for row in own if row.memory_score is not None]
            assert figures["memory_score"] == (pytest.approx(sum(scores) / len(scores), abs=1e-9) if scores else None)
        of_agent = [row for row in rows.values() if row.agent in one["results"]]
        unread = {kind: sum(row.unparsable[kind] for row in of_agent) for kind in ("answer", "read")}
        assert unread == {kind: one["unread"][kind] for kind in unread} and unread["answer"] > 0
        for figure, found in one["figures"].items():
            values = [own[figure] for own in one["per_user"].values() if own[figure] is not None]
            assert found["mean"] == (pytest.approx(sum(values) / len(values)) if values else None)
            assert found["users"] == len(values)
            assert not values or found["low"] <= found["mean"] + 1e-9 and found["mean"] <= found["high"] + 1e-9
    assert report["controls"]["oracle"]["overall"] == 1.0 and report["controls"]["oracle"]["write"] == 0.0
    assert set(report["controls"]) == {"random", "oracle", "instruction"} | {
        f"{name}, {kind} memory" for name in report["agents"] for kind in ("scrambled", "empty")
    }
    [between] = report["differences"]
    means = {name: one["figures"]["overall"]["mean"] for name, one in report["agents"].items()}
    assert (between["of"], between["minus"]) == ("rag", "awi")
    assert between["figures"]["overall"]["mean"] == pytest.approx(means["rag"] - means["awi"])
    assert not (whole / "unfinished").exists()
    assert "| awi |" in (whole / "report.md").read_text()


def test_a_finished_evaluation_is_printed_and_nothing_is_asked(whole, recipe, server, capsys):
    capsys.readouterr()
    asked, before = len(server.requests), contents(whole)
    assert evaluate(recipe(), "--out", whole, *AGENTS, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert {user for label in shown.pop("seconds").values() for user in label} == set(report_of(whole)["users"])
    assert shown == report_of(whole)
    assert evaluate(recipe(), "--out", whole, *AGENTS) == 0
    assert f"all of it is in {whole}" in "".join(capsys.readouterr().out.splitlines())
    assert len(server.requests) == asked and contents(whole) == before


def test_a_report_that_was_lost_is_made_again_from_what_is_kept(whole, recipe, server):
    asked, before = len(server.requests), contents(whole)
    (whole / "report.json").unlink()
    shutil.rmtree(whole / "heatmaps", ignore_errors=True)
    assert evaluate(recipe(), "--out", whole, *AGENTS) == 0
    assert len(server.requests) == asked and contents(whole) == before


def test_without_new_flags_the_figures_are_the_same_and_nothing_is_kept(recipe, server, tmp_path, capsys, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = recipe(seed=4)
    assert evaluate(path, "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert evaluate(path, "--json", "--agents", "awi") == 0
    report = json.loads(capsys.readouterr().out)
    assert plain["usage"]["calls"] < report["usage"]["calls"] == len(server.requests)  # of this process
    for figure, found in report["agents"]["awi"]["figures"].items():
        assert found["mean"] == (None if plain["agent"][figure] is None else pytest.approx(plain["agent"][figure], abs=1e-9))
    names = {"scrambled": "awi, scrambled memory", "empty": "awi, empty memory"}
    for control in ("random", "oracle", "scrambled", "empty", "instruction"):
        found = report["controls"][names.get(control, control)]
        assert found == {figure: plain[control][figure] for figure in found}, control
    assert list((tmp_path / "here").iterdir()) == []


CHANGED = {
    "scenarios.test.num_users": (["scenarios.test.num_users=2"], AGENTS),
    "agents.rag": ([], ("--agents", "awi", "--seeds", 0, 4)),
    "agents.rag.config.update_bsz": (["agent.update_bsz=3"], AGENTS),
    "seeds": ([], AGENTS[:3]),
    "policy.chat.model": (["policy.chat.model=other"], AGENTS),
    "evaluation.upper": (["evaluation.upper=oracle"], AGENTS),
    "split": ([], (*AGENTS, "--split", "validation")),
}


@pytest.mark.parametrize("key", CHANGED)
def test_a_folder_of_another_evaluation_is_refused(whole, recipe, server, key, capsys):
    overrides, words = CHANGED[key]
    asked, before = len(server.requests), contents(whole)
    assert evaluate(recipe(), *overrides, "--out", whole, *words) == 2
    said = capsys.readouterr().err
    assert f"{whole} holds another evaluation; it differs in " in said and key in said.partition("differs in ")[2]
    assert len(server.requests) == asked and contents(whole) == before


def test_a_mistake_before_anything_is_played_binds_nobody(recipe, server, tmp_path, capsys):
    server.fails = lambda body: (401, {}, b"")
    assert evaluate(recipe(), "policy.chat.model=weak", "--out", tmp_path / "out") == 2
    server.fails = lambda body: None
    assert evaluate(recipe(), "--out", tmp_path / "out") == 0
    assert json.loads((tmp_path / "out" / "settings.json").read_text())["policy"]["chat"]["model"] == "strong"


def test_how_it_is_run_may_change(whole, recipe, capsys):
    overrides = ["rollout.concurrency=1", "policy.chat.retries=3", "policy.chat.timeout_s=9", "name=other"]
    assert evaluate(recipe(), *overrides, "--out", whole, *AGENTS) == 0


def test_a_folder_of_something_else_is_left_alone(recipe, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    assert evaluate(recipe(), "--out", tmp_path / "mine") == 2
    assert "holds files, but no settings.json" in capsys.readouterr().err
    (tmp_path / "mine" / "settings.json").write_text("{")
    assert evaluate(recipe(), "--out", tmp_path / "mine") == 2
    assert "settings.json cannot be read" in capsys.readouterr().err
    assert evaluate(recipe(), "--out", tmp_path / "mine" / "thesis.txt") == 2


def test_all_agents_and_seeds_share_the_places(recipe, server, tmp_path):
    """2 agents x 2 seeds x 3 users are in progress at once."""
    together = threading.Barrier(12)

    def meeting(messages):
        if not together.broken and len(server.requests) <= 12:
            together.wait(timeout=20)
        return model(messages)

    server.model = meeting
    assert evaluate(recipe(rollout={"concurrency": 12}), "--out", tmp_path / "out", *AGENTS) == 0
    assert not together.broken


@pytest.mark.parametrize("fault", [(500, {}, b"{}"), (429, {"Retry-After": "0"}, b""), (200, {}, b'{"choices": []}')])
def test_a_user_whom_the_endpoint_loses_is_named_and_played_on_from_his_period(whole, recipe, server, tmp_path, capsys, fault):
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


def test_more_lost_users_than_allowed_stop_the_command_after_all_is_kept(whole, recipe, server, tmp_path, capsys):
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
    return INSTRUCTIONS.get(instruction) == "answer" and asked.startswith("Question:")


INSTRUCTION = {"upper": "oracle", "controls": ["instruction"]}


def test_a_control_that_the_endpoint_broke_is_named_and_asked_again(recipe, server, tmp_path, capsys):
    path, out, lost = recipe(evaluation=INSTRUCTION), tmp_path / "out", iter([(500, {}, b"{}")])
    server.fails = lambda body: next(lost, None) if bare(body) else None
    assert evaluate(path, "--out", out) == 0
    [broken] = report_of(out)["broken"]
    assert (broken["results"], broken["period"]) == ("instruction", 0) and broken["error"].startswith("Unscorable: ")
    assert f"not played to the end: instruction, user {broken['user']}, stopped" in " ".join(capsys.readouterr().out.split())
    asked = len(server.requests)
    assert evaluate(path, "--out", out) == 0
    assert report_of(out)["broken"] == [] and len(server.requests) > asked and all(map(bare, server.requests[asked:]))


def test_a_control_that_nobody_could_play_ends_the_command_with_a_message(recipe, server, capsys):
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
    path = recipe(scenarios={"test": USERS | {"rounds_init": 2}, "user": {"chat": {"base_url": server.url, "model": "talker"}}})
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


def test_a_refused_key_ends_it_at_once_and_names_the_call(recipe, server, tmp_path, capsys):
    server.fails = lambda body: (401, {}, b'{"error": {"message": "bad key"}}')
    assert evaluate(recipe(), "--out", tmp_path / "out", *AGENTS) == 2
    said = capsys.readouterr().err
    assert "401" in said and re.search(r"episode AMemGym-v0/\w+/\d, respond/p0/s0/r0", said)


@pytest.mark.parametrize("after", [5, 80, 200])
def test_a_killed_process_goes_on_and_ends_with_the_same_bytes(whole, shared, recipe, server, amemgym_train, tmp_path, after):
    out = tmp_path / "out"
    words = ["evaluate", recipe(), "--out", out, *AGENTS]
    server.hold_after = len(server.requests) + after
    process = subprocess.Popen(
        amemgym_train.command(*words), env=amemgym_train.env | {"NO_PROXY": "127.0.0.1"}, stderr=subprocess.DEVNULL
    )
    assert server.held.wait(60)
    time.sleep(0.2)  # what is being written when the endpoint falls silent
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


def test_two_at_once_in_one_folder_are_refused(whole, recipe, tmp_path, capsys):
    import fcntl

    with (whole / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert evaluate(recipe(), "--out", whole, *AGENTS) == 2
    assert "another process works on this run; wait for it, or choose another --out" in capsys.readouterr().err


def test_what_was_said_can_be_replayed_by_another_agent(whole, recipe, server, tmp_path, capsys):
    """Off-policy: another agent hears the conversations of the first one, and writes them down as it heard them."""
    asked = len(server.requests)
    replayed = whole / "results" / "rag-seed4"
    assert evaluate(recipe(), "--out", tmp_path / "off", "--replay", replayed, "--agents", "native", "rag") == 0
    for user in report_of(whole)["users"]:
        said = (replayed / user / "interactions.json").read_bytes()
        assert json.loads(said)[1][0][1]["role"] == "assistant"
        for name in ("native", "rag"):
            assert (tmp_path / "off" / "results" / name / user / "interactions.json").read_bytes() == said
    instruction = load_prompts("default")["respond"].instruction
    assert not [body for body in server.requests[asked:] if body["messages"][0]["content"] == instruction]
    off = report_of(tmp_path / "off")["agents"]["rag"]
    for row in rescore(whole / "data.json", replayed):  # the agent whose words they were answers as it did then
        assert off["per_user"][row.user]["overall"] == pytest.approx(row.overall, abs=1e-9)
    assert evaluate(recipe(), "--out", tmp_path / "off", "--agents", "native", "rag") == 2
    assert "it differs in hashes.replay" in capsys.readouterr().err


def test_a_recording_that_does_not_fit_is_told_before_anything_is_asked(whole, recipe, server, tmp_path, capsys):
    asked, users = len(server.requests), report_of(whole)["users"]
    folder = shutil.copytree(whole / "results" / "awi", tmp_path / "recorded")
    path = folder / users[1] / "interactions.json"
    said = json.loads(path.read_text())
    said[1][0][0]["content"] += " Indeed."
    path.write_text(json.dumps(said))
    assert evaluate(recipe(), "--replay", folder) == 2
    assert f"--replay: {path}: user {users[1]}, period 1, session 0: begins with " in capsys.readouterr().err
    shutil.rmtree(folder / users[1])
    assert evaluate(recipe(), "--replay", folder) == 2
    assert f"no recording of user {users[1]}" in capsys.readouterr().err
    assert len(server.requests) == asked


def test_a_public_config_is_played_under_its_name_and_its_key_goes_nowhere(recipe, server, tmp_path, capsys):
    llm = {"llm_model": "gpt-9", "api_key": "sk-secret", "temperature": 0.5, "max_tokens": 99}
    config = {"type": "awi", "name": "awi (4, 2)", "llm_config": llm, "agent_config": {"update_bsz": 4, "local_length": 2}}
    path = tmp_path / "agent.json"
    path.write_text(json.dumps(config))
    assert evaluate(recipe(), "--out", tmp_path / "out", "--agents", "native", path) == 0
    captured = capsys.readouterr()
    said = " ".join(captured.out.split())
    assert "awi (4, 2): llm_model gpt-9 and its base_url are not asked: the recipe's model strong answers" in said
    written = b"".join(contents(tmp_path / "out").values())
    assert b"sk-secret" not in written and "sk-secret" not in captured.out + captured.err + str(server.requests)
    assert (tmp_path / "out" / "results" / "awi (4, 2)").is_dir()
    assert {body["temperature"] for body in server.requests} == {0, 0.5}
    path.write_text(json.dumps(config | {"type": "gpt"}))
    assert evaluate(recipe(), "--out", tmp_path / "other", "--agents", path) == 2
    assert "type is 'gpt', expected one of native, awi" in capsys.readouterr().err


def test_greedy_seeds_that_change_nothing_are_told(recipe, tmp_path, capsys):
    """One round in a session leaves the user no words of its own, and the seed of a greedy agent nothing to change."""
    silent = recipe(scenarios={"test": USERS | {"rounds_update": 1}})
    assert evaluate(silent, "--out", tmp_path / "out", "--seeds", 0, 1) == 0
    assert "awi: seed 1 gave the answers of seed 0; it is greedy" in " ".join(capsys.readouterr().out.split())


def test_a_seed_named_twice_or_below_zero_is_refused(recipe, tmp_path, capsys):
    assert evaluate(recipe(), "--out", tmp_path / "out", "--seeds", 1, 0, 0) == 2
    assert "two results would be called awi-seed0" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        evaluate(recipe(), "--seeds", -1)


def test_the_model_of_this_process_gets_the_same_figures_as_without_a_folder(write_recipe, tmp_path, capsys):
    path = write_recipe(tmp_path)
    assert evaluate(path, "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    out = tmp_path / "out"
    assert evaluate(path, "--out", out) == 0
    found = report_of(out)
    assert found["agents"]["awi"]["figures"]["overall"]["mean"] == pytest.approx(plain["agent"]["overall"], abs=1e-9)
    assert found["agents"]["awi"]["figures"]["memory_score"]["mean"] == pytest.approx(plain["agent"]["memory_score"], abs=1e-9)
    assert found["controls"]["awi, scrambled memory"]["overall"] == plain["scrambled"]["overall"]
    assert min(found["agents"]["awi"]["tokens"]) > 0
    assert all(Path(path).stat().st_size for path in out.glob("heatmaps/*.png"))
