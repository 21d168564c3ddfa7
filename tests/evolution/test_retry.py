"""Second tries in a run of the tiny model: played, learned from, counted, kept, and gone on with after a kill."""

import json

import pytest

from amemgym_train.config.load import load_recipe
from amemgym_train.errors import UserError
from amemgym_train.evolution.plays import load_folder

TRIES = ("reflection.retry.episodes=2", "evolution.iterations=1", "evaluation.controls=[]")


@pytest.fixture(scope="module")
def run(write_recipe, in_process, tmp_path_factory):
    folder = tmp_path_factory.mktemp("retry")
    result = in_process("evolve", write_recipe(folder), *TRIES)
    assert result.returncode == 0, result.stderr
    return folder / "runs" / "tiny"


def test_a_run_tries_again_what_failed_and_counts_it(run):
    summary = json.loads((run / "summary.json").read_text())
    [entry] = summary["iterations"]
    tried, rows = entry["retry"], json.loads((run / "iterations/001/rows.json").read_text())
    seconds = load_folder(run / "iterations/001/retries")
    assert tried["tries"] == len(seconds) > 0 and tried["tokens_sampled"] > 0
    again = {episode.id for episode in seconds}
    assert entry["training"]["rows_of_retries"] == sum(row["episode"] in again for row in rows)
    assert again.isdisjoint(episode.id for episode in load_folder(run / "iterations/001/episodes"))
    stages = [json.loads(line)["stage"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert "retry" in stages


def test_a_group_has_as_many_second_tries_as_asked_for_at_most(run):
    firsts, seconds = (load_folder(run / "iterations/001" / name) for name in ("episodes", "retries"))
    for group in {episode.group for episode in firsts}:
        numbers = [episode.seed for episode in seconds if episode.group == group]
        assert len(numbers) <= 2 and all(4 <= number < 8 for number in numbers)  # the rollout's are 0 to 3


def test_a_finished_stage_of_second_tries_is_not_played_again(run, in_process):
    book = run / "iterations/001/manifest.json"
    before = json.loads(book.read_text())["retry"]
    (run / "iterations/001/rows.json").unlink()  # as if training had not finished
    result = in_process("evolve", run.parents[1] / "tiny.yaml", *TRIES)
    assert result.returncode == 0, result.stderr
    assert json.loads(book.read_text())["retry"] == before and "iteration 1 of 1: retry" not in result.stdout
    assert (run / "iterations/001/rows.json").is_file()


def test_a_chat_model_may_write_the_reflections(write_recipe, in_process, chat_server, tmp_path):
    server = chat_server(lambda messages: messages[-1]["content"].rpartition("\n")[2])  # what it was told was wrong
    reflector = f"{{kind: chat, chat: {{base_url: '{server.url}', model: adviser, retries: 0}}}}"
    words = [*TRIES, "reflection.retry.written=reflector", f"reflection.reflector={reflector}"]
    result = in_process("evolve", write_recipe(tmp_path), *words)
    assert result.returncode == 0, result.stderr
    [entry] = json.loads((tmp_path / "runs/tiny/summary.json").read_text())["iterations"]
    hinted = sum(count for key, count in entry["retry"].items() if key.startswith("hints_"))
    assert 0 < len(server.requests) <= hinted and entry["retry"]["tries"] > 0
    assert "reflection.reflector.chat: adviser" in result.stderr  # what it has cost is told
    asked = server.requests[0]["messages"]
    assert "will try again" in asked[0]["content"] and "Its reply:" in asked[-1]["content"]


@pytest.mark.parametrize(
    "override, problem",
    [
        ("reflection={retry: {episodes: 2, written: reflector}, reflector: {kind: scripted}}", "rewrites prompts only"),
        ("reflection={retry: {episodes: 2, written: reflector}, reflector: {kind: chat}}", "so it must be given"),
        ("rollout.group_size=1", "2 is more than the 1 episodes of a group"),
        ("training.method=ppo", "training.method ppo does not learn from second tries"),
        ("reflection.retry={episodes: 2, weight: 0.5}", "rft has no loss beside the one of its rows"),
        ("agent.name=mem0", "mem0 words its own"),
    ],
)
def test_second_tries_that_nobody_could_use_are_refused(write_recipe, tmp_path, override, problem):
    with pytest.raises(UserError, match=problem):
        load_recipe(write_recipe(tmp_path), ["reflection.retry.episodes=2", override])


def test_no_other_model_is_loaded_while_one_trains(write_recipe, tmp_path):
    words = ["reflection={retry: {episodes: 2, written: reflector}, reflector: {kind: model, model: smollm2}}"]
    assert load_recipe(write_recipe(tmp_path), words).reflection.asks
    with pytest.raises(UserError, match="while this one trains"):
        load_recipe(write_recipe(tmp_path), [*words, "training.method=grpo"])
