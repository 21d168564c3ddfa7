"""Real runs on an environment with a goal: every method, several processes, and a kill."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from amemgym_train.config.recipe import Recipe
from amemgym_train.evaluation.goals import goal_report, play_guided
from amemgym_train.evolution.plays import load_folder
from amemgym_train.policy.guide import GuidePolicy

FILES = Path(__file__).resolve().parents[2] / "accelerate_configs"
SECTIONS = {
    "name": "goals",
    "policy": {"max_batch_size": 16, "lora": {"r": 4, "alpha": 8}},
    "agent": {"prompts": "bare", "max_new_tokens": {"act": 16}},
    "tasks": {
        "environment": "TextCraft",
        "options": {"depths": [1], "distractors": 1},
        "max_steps": 4,
        **{role: {"num_tasks": 3} for role in ("train", "validation", "test")},
    },
    "sampling": {"temperature": 0.9},
    "training": {"learning_rate": 1e-3, "batch_size": 4, "grpo": {"steps": 2}, "ppo": {"steps": 2}},
    "evolution": {"iterations": 1},
}


SAME = {"new_users_each_iteration": False, "group_size": 8}  # tasks whose solution the model has seen, and may miss


class Recording(GuidePolicy):
    calls: list = []

    def reply(self, request):
        self.calls.append((request.messages, super().reply(request)))
        return self.calls[-1][1]


@pytest.fixture(scope="module")
def write(warmed_up, monkeypatch_module):
    """Writes the recipe of a model that has seen how its tasks are done, and does some of them."""
    from amemgym_train.evaluation import goals

    monkeypatch_module.setattr(goals, "GuidePolicy", Recording)
    recipe = Recipe.model_validate(SECTIONS)
    for role in ("train", "validation", "test"):
        play_guided(recipe, "oracle", recipe.tasks.goals(role))
    model = warmed_up(Recording.calls, steps=120)

    def write(folder, **changes):
        path = folder / "goals.yaml"
        sections = SECTIONS | {"output": str(folder / "runs"), "policy": SECTIONS["policy"] | {"model": str(model)}}
        sections |= {key: sections.get(key, {}) | value for key, value in changes.items()}
        path.write_text(yaml.safe_dump(sections))
        return path

    return write


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def whole(write, amemgym_train, tmp_path_factory):
    """The folder of an rft run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    result = amemgym_train("evolve", write(folder))
    assert result.returncode == 0, result.stderr
    assert "test tasks before and after" in result.stdout and "success" in result.stdout
    return folder / "runs" / "goals"


@pytest.fixture
def server(amemgym_train):
    """Starts ``amemgym-train serve`` with the options of the recipe; gives its address and its process."""
    started = []

    def start():
        options = {"depths": "1", "distractors": "1", "max_steps": "4"}
        words = [word for key, value in options.items() for word in ("--option", f"textcraft.{key}={value}")]
        command = amemgym_train.command("serve", "textcraft", "--port", "0", *words)
        env = amemgym_train.env | {"PYTHONUNBUFFERED": "1"}
        started.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
        return started[-1].stdout.readline().split()[-1], started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def served(path, url, **changes):
    """The recipe in ``path``, played on a server."""
    sections = yaml.safe_load(path.read_text())
    tasks = {key: value for key, value in sections["tasks"].items() if key not in ("options", "max_steps")}
    path.write_text(yaml.safe_dump(sections | {"tasks": tasks | {"server": {"urls": [url]}} | changes}))
    return path


def test_a_server_changes_nothing_but_where_episodes_are_played(tmp_path, write, server, amemgym_train, whole, outcome):
    url, _ = server()
    result = amemgym_train("evolve", served(write(tmp_path), url))
    assert result.returncode == 0, result.stderr
    (summary, metrics, adapter), (other, _, same) = outcome(tmp_path / "runs" / "goals"), outcome(whole)
    assert summary["iterations"] == other["iterations"] and adapter == same and metrics
    assert all(summary["test"][when] == other["test"][when] for when in ("before", "after"))


def test_agentgym_s_protocol_plays_the_same_tasks_by_number(tmp_path, write, server, amemgym_train, whole):
    url, _ = server()
    environment = Recipe.model_validate(SECTIONS).tasks.build()
    order = [environment.item(number) for number in range(len(environment.tasks))]
    played = [e.task for e in load_folder(whole / "test" / "before_episodes")]
    ids = {role: {"ids": [str(order.index(task)) for task in tasks]} for role, tasks in
           {"train": environment.splits["train"][:2], "validation": environment.splits["validation"][:2], "test": played}.items()}
    path = served(write(tmp_path), url, max_steps=4, server={"urls": [url], "protocol": "agentgym"}, **ids)
    result = amemgym_train("evaluate", path, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)["agent"]
    before = json.loads((whole / "summary.json").read_text())["test"]["before"]
    assert (found["score"], found["steps"]) == (before["score"], before["steps"])


def test_a_server_that_is_gone_is_no_failure_of_the_agent(tmp_path, write, server, amemgym_train, whole, outcome):
    url, process = server()
    recipe = served(write(tmp_path), url)
    with (tmp_path / "stderr").open("w") as log:
        evolving = subprocess.Popen(amemgym_train.command("evolve", recipe), env=amemgym_train.env, stderr=log)
    while not (tmp_path / "runs/goals/iterations/000/manifest.json").exists() and evolving.poll() is None:
        pass
    process.kill()  # and there are episodes to come
    assert evolving.wait(120) == 2
    told = (tmp_path / "stderr").read_text()
    assert "Connection" in told and "Traceback" not in told  # met while it played, or before
    assert "episodes could not be played to their end" in told or "start it with: amemgym-train serve TextCraft" in told
    again, _ = server()
    result = amemgym_train("evolve", recipe, f"tasks.server.urls=[{again}]")
    assert result.returncode == 0, result.stderr
    assert outcome(tmp_path / "runs" / "goals")[2] == outcome(whole)[2]


def test_successes_are_trained_on_and_the_figures_are_those_of_the_episodes(whole):
    summary = json.loads((whole / "summary.json").read_text())
    assert summary["test"]["controls"]["oracle"]["success"] == 1.0 > summary["test"]["controls"]["random"]["success"]
    evaluated = load_folder(whole / "test" / "after_episodes")
    assert summary["test"]["after"] == goal_report(evaluated).to_dict() and {e.environment for e in evaluated} == {"TextCraft-v0"}
    played = load_folder(whole / "iterations" / "001" / "episodes")
    assert all(len(e.turns) == len(e.rewards) <= 4 and sum(e.rewards) == e.score for e in played)
    rows = json.loads((whole / "iterations" / "001" / "rows.json").read_text())
    successes = {e.id for e in played if e.success}
    assert rows and {row["episode"] for row in rows} <= successes < {e.id for e in played}


def test_the_report_speaks_of_tasks(whole, tmp_path, amemgym_train):
    result = amemgym_train("report", whole, "--out", tmp_path)
    assert result.returncode == 0, result.stderr
    told = (tmp_path / "report.md").read_text()
    assert "Score of test tasks: **" in told and "| oracle | 1.000 | 1.000 | " in told and "users" not in told
    card = (tmp_path / "model_card.md").read_text()
    assert "name: TextCraft test tasks" in card and "memory" not in card


def test_an_evaluation_of_users_is_not_one_of_tasks(tmp_path, write, amemgym_train):
    result = amemgym_train("evaluate", write(tmp_path), "--out", tmp_path / "kept")
    assert result.returncode == 2 and "Traceback" not in result.stderr and "leave them out for tasks" in result.stderr


@pytest.mark.parametrize("place", ["iterations/001/.rollout.partial/", "iterations/001/.train.partial/"])
def test_a_killed_run_ends_like_the_whole_one(tmp_path, write, halting, amemgym_train, whole, outcome, place):
    recipe = write(tmp_path)
    process = halting(recipe, place, "os.rename" if "train" in place else "open os.mkdir")
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    result = amemgym_train("evolve", recipe)
    assert result.returncode == 0, result.stderr
    assert outcome(tmp_path / "runs" / "goals") == outcome(whole)


def test_two_processes_make_what_one_makes(tmp_path, write, amemgym_train, whole):
    launch = {"launcher": "accelerate", "launch": {"file": str(FILES / "cpu_ddp.yaml")}}
    result = amemgym_train("evolve", write(tmp_path, evolution=launch))
    assert result.returncode == 0, result.stderr
    run = tmp_path / "runs" / "goals"
    rows = [json.loads((one / "iterations/001/rows.json").read_text()) for one in (run, whole)]
    assert rows[0] == rows[1]
    scores = [json.loads((one / "iterations/000/eval_users.json").read_text()) for one in (run, whole)]
    assert scores[0] == scores[1] and len(scores[0]) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"training": {"method": "grpo"}},
        {"training": {"method": "ppo"}, "credit": {"scheme": "return"}},
        {"training": {"method": "rloo"}, "agent": {"history": "window", "window": 1}},
    ],
    ids=lambda changes: changes["training"]["method"],
)
def test_on_policy_methods_take_steps(tmp_path, write, amemgym_train, changes):
    recipe = write(tmp_path, evaluation={"controls": []}, sampling={"temperature": 1.3}, rollout=SAME, **changes)
    result = amemgym_train("evolve", recipe)
    assert result.returncode == 0, result.stderr
    log = json.loads((tmp_path / "runs/goals/iterations/001/training.json").read_text())
    steps = [entry for entry in log if "tokens_sampled" in entry]
    assert len(steps) == 2 and all(0 <= step["shares/success"] <= 1 and "reward/act" in step for step in steps)
    assert any(step.get("grad_norm", 0) > 0 for step in log)
    metrics = (tmp_path / "runs/goals/metrics.jsonl").read_text()
    assert '"success/validation"' in metrics and '"shares/score"' in metrics


def test_the_plan_is_told(tmp_path, write, amemgym_train):
    recipe = write(tmp_path, training={"method": "grpo"})
    plan = amemgym_train("evolve", recipe, "--dry-run")
    assert plan.returncode == 0, plan.stderr
    assert "3 tasks x 4 in a group = 12 episodes a step" in plan.stdout and "4 trained calls each" in plan.stdout
