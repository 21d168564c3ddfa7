"""The user that a recipe names: a chat model in a rollout."""

import json

import pytest

from amemgym_envs.amemgym.simulator import ScriptedUser
from amemgym_train import cli
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evaluation.controls import GREEDY, agents, environment, play_scripted
from amemgym_train.evaluation.users import speaker, user_factory
from amemgym_train.policy.oracle import RandomPolicy
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.runner import play

USERS = {"num_users": 2, "num_variables": 3, "num_questions": 3, "num_periods": 1, "num_changes_per_period": 1, "rounds_init": 3}
AGENT = {"local_length": 0, "flush": "period", "respond": "fixed"}


@pytest.fixture
def server(chat_server):
    return chat_server(lambda messages: f"What of the {len(messages[0]['content'])} others?")  # another one in each round


@pytest.fixture
def recipe(server, tmp_path):
    def make(**keys):
        chat = {"base_url": server.url, "model": "talker", "retries": 0, "cache": str(tmp_path / "users.jsonl")} | keys
        return Recipe.model_validate({"name": "x", "agent": AGENT, "scenarios": {"test": USERS, "user": {"chat": chat}}})

    return make


def played(recipe):
    scenarios = recipe.scenarios.test.build()
    tasks = [Task(scenario.id, scenario.id, 0) for scenario in scenarios]
    factory = agents(recipe, RandomPolicy(0), GREEDY)
    return play(environment(recipe, "test", scenarios), tasks, factory, concurrency=1, label=None)


def test_the_script_is_the_default():
    assert user_factory(None) is ScriptedUser


def test_a_recipes_user_talks_in_a_rollout_and_not_to_scripted_policies(server, recipe):
    ours = recipe()
    episodes = played(ours)
    sessions = sum(len(user.periods[0].sessions) for user in ours.scenarios.test.build())
    assert [episode.error for episode in episodes] == [None, None]
    assert len(server.requests) == 2 * sessions  # two follow-ups in each session of the first period
    assert speaker(ours.scenarios.user).to_dict()["asked"] == 2 * sessions
    assert played(ours) == episodes and len(server.requests) == 2 * sessions
    play_scripted(ours, "random", "test", ours.scenarios.test.build())
    assert len(server.requests) == 2 * sessions


@pytest.mark.parametrize("fault", [(500, {}, b"{}"), (200, {}, b'{"choices": []}'), (200, {"Content-Length": 99}, b"{"), "hang"])
def test_an_episode_whose_user_is_lost_is_kept_with_its_error(server, recipe, fault):
    server.faults.extend([None, fault])
    first, second = played(recipe(timeout_s=0.3))
    named = f"Unscorable: user {first.task}, period 0, session 0, round 2: scenarios.user.chat {server.url}/chat/completions: "
    assert first.error.startswith(named) and first.score is None and second.error is None
    before = len(server.requests)
    assert [episode.error for episode in played(recipe())] == [None, None]
    assert 0 < len(server.requests) - before < before  # what the first run was told is not asked again


def test_a_user_who_may_not_speak_stops_the_run(server, recipe):
    server.faults.append((401, {}, b"no"))
    with pytest.raises(UserError, match=r"user \w+, period 0, session 0, round 1: scenarios.user.chat .* OPENAI_API_KEY"):
        played(recipe())


def test_a_cache_that_cannot_be_used_is_the_users_to_mend(recipe, tmp_path):
    (tmp_path / "broken.jsonl").write_text("junk\n")
    with pytest.raises(UserError, match="scenarios.user.chat.cache: .*broken.jsonl, line 1"):
        played(recipe(cache=str(tmp_path / "broken.jsonl")))
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UserError, match="scenarios.user.chat.cache: .*cannot be"):
        played(recipe(cache=str(tmp_path / "file" / "users.jsonl")))


def test_evaluate_shows_leaks(server, chat_server, recipe, tmp_path, capsys):
    agent = chat_server(lambda messages: '{"answer": 1}')
    users = recipe().scenarios.test.build()
    said = server.model
    values = [value for user in users for values in user.state_schema.values() for value in values]
    server.model = lambda messages: values[0].replace("_", " ") if len(messages) == 1 else said(messages)
    sections = {"name": "x", "agent": AGENT, "evaluation": {"controls": []}, "scenarios": {"test": USERS}}
    chats = {"policy": {"chat": {"base_url": agent.url, "model": "strong"}}}
    path = tmp_path / "recipe.yaml"
    path.write_text(json.dumps(sections | chats))
    user = f"scenarios.user={{chat: {{base_url: '{server.url}', model: talker}}}}"
    assert cli.main(["evaluate", str(path), "--json", user]) == 0
    shown = capsys.readouterr()
    told = json.loads(shown.out)["user_simulator"]
    assert told["leaked"] > 0 and told["asked"] == told["calls"] == len(server.requests) and told["fell_back"] == 0
    assert f"scenarios.user: talker: {told['calls']} calls" in shown.err and "messages leaked" in shown.err
