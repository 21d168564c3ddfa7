"""Prompts that an agent rewrites within an episode: after each period, and forgotten with it."""

import json
from dataclasses import replace

import pytest

from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.recipe import Recipe
from amemgym_train.evaluation.controls import agents
from amemgym_train.policy.base import Sampling
from amemgym_train.reflection import period as module
from amemgym_train.reflection import room
from amemgym_train.rollout.pieces import Pieces
from amemgym_train.rollout.pool import Task
from amemgym_train.rollout.runner import Inquiry, ask_again, play

SECTIONS = {
    "name": "x",
    "agent": {"name": "awi", "local_length": 0, "flush": "period", "respond": "fixed"},
    "reflection": {"prompts": {"cadence": "period", "targets": ["write", "answer"]}, "reflector": {"kind": "scripted"}},
}
RECIPE = Recipe.model_validate(SECTIONS)
RULES = Sampling()


@pytest.fixture
def played(users, environment, forgetful):
    """Plays every user once with an agent that notes nothing of use."""

    def run(recipe=RECIPE):
        factory = agents(recipe, forgetful("write"), RULES, list(users.values()))
        return play(environment, [Task(name, name, 0) for name in users], factory, label=None), factory

    return run


def test_prompts_change_after_each_period_but_the_last_and_are_saved_with_the_agent(played, users):
    episodes, _ = played()
    for episode in episodes:
        first, last = episode.states[0], episode.states[-1]
        rewrites = last["rewrites"]
        assert [(one["period"], one["target"]) for one in rewrites] == [(0, "write"), (0, "answer")]
        assert {one["verdict"] for one in rewrites} == {"rewritten"} and all(one["changes"] for one in rewrites)
        assert "prompts" not in first and "rewrites" not in first  # its questions were answered with the prompts as given
        assert set(last["prompts"]) == {"write", "answer"} and last["prompts"]["write"] != load_prompts()["write"].text
        assert episode.error is None and len(episode.states) == len(users[episode.task].periods)


def test_what_is_asked_again_is_asked_with_the_prompts_of_its_time(played, users):
    episodes, factory = played()
    inquiries = [Inquiry(Task(one.task, one.task, 0), users[one.task], one.states) for one in episodes]
    again = ask_again(inquiries, factory, label=None)
    for one, other in zip(episodes, again, strict=True):
        assert [answer.response for answer in one.answers] == [answer.response for answer in other.answers]
        prompts = [turn.prompt_ids for turn in one.turns if turn.operation == "answer"]
        assert prompts == [turn.prompt_ids for turn in other.turns]
    forgotten = ask_again([replace(one, states=[{}] * len(one.states)) for one in inquiries], factory, label=None)
    assert all("prompts" not in state for episode in forgotten for state in episode.states)


def test_the_reflector_is_told_of_this_period_alone_and_of_this_user_alone(played, users, monkeypatch):
    asks = []

    class Listening:
        async def reply(self, ask):
            asks.append(ask)
            return "nonsense"

    monkeypatch.setattr(module, "reflector_of", lambda *_: Listening())
    episodes, _ = played()
    assert len(asks) == 2 * len(users)
    for ask in asks:
        questions = len(next(iter(users.values())).questions)
        assert ask.feedback.counts["asked"] == questions and ask.draw == 0
    for episode in episodes:
        assert {one["verdict"] for one in episode.states[-1]["rewrites"]} == {"refused_unreadable"}
        assert "prompts" not in episode.states[-1]


def test_a_prompt_that_would_be_a_memory_is_refused(played, users, monkeypatch):
    class Cheating:
        async def reply(self, ask):
            told = "; ".join(value for user in users.values() for value in user.periods[0].state.values())
            return json.dumps({"new_prompt": f"Remember: {told}. {ask.prompt.text}"})

    monkeypatch.setattr(module, "reflector_of", lambda *_: Cheating())
    episodes, _ = played()
    assert {one["verdict"] for episode in episodes for one in episode.states[-1]["rewrites"]} == {"refused_leak"}
    flagging = Recipe.model_validate(
        SECTIONS | {"reflection": SECTIONS["reflection"] | {"prompts": SECTIONS["reflection"]["prompts"] | {"leaks": "flag"}}}
    )
    episodes, _ = played(flagging)
    found = [one for episode in episodes for one in episode.states[-1]["rewrites"]]
    assert {one["verdict"] for one in found} == {"rewritten"} and all("gives away" in one["message"] for one in found)


def test_an_episode_that_goes_on_in_a_later_period_rewrites_what_it_had_rewritten(users, environment, forgetful, tmp_path):
    whole = agents(RECIPE, forgetful("write"), RULES, list(users.values()))
    tasks = [Task(name, name, 0) for name in users]
    first = play(environment, tasks, whole, label=None, pieces=lambda task: Pieces(tmp_path / task.id))
    for name in users:
        (tmp_path / name / "period_001.parquet").unlink()
    again = play(environment, tasks, whole, label=None, pieces=lambda task: Pieces(tmp_path / task.id))
    assert again == first


def test_a_rewrite_that_leaves_no_room_in_the_window_is_refused(played, monkeypatch):
    monkeypatch.setattr(room, "leaves_room", lambda policy, prompt: False)
    episodes, _ = played()
    assert {one["verdict"] for episode in episodes for one in episode.states[-1]["rewrites"]} == {"refused_long"}
