import json

import pytest

from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError
from amemgym_train.evaluation.controls import GREEDY, RANDOM_EPISODES, agents, ask_with_memory, environment, play_scripted
from amemgym_train.evaluation.memory import report
from amemgym_train.policy.oracle import OraclePolicy
from amemgym_train.rollout.runner import Inquiry, Task, ask_again, play

USERS = {"num_users": 12, "num_variables": 6, "num_questions": 6, "num_periods": 2, "num_changes_per_period": 2}


def recipe(**changes):
    agent = {"local_length": 0, "flush": "period", "respond": "fixed"}
    return Recipe.model_validate({"name": "x", "agent": agent, "scenarios": {"test": USERS}} | changes)


class Reader(OraclePolicy):
    """Writes what it is told, and answers from the notes in its prompt alone: the choice with most of the noted values."""

    def __init__(self, scenarios):
        super().__init__(None)
        self.scenarios = {scenario.id: scenario for scenario in scenarios}
        self.schema = {state for scenario in scenarios for state in scenario.state_schema}

    def reply(self, request):
        self.scenario = self.scenarios[request.episode.split("/")[1]]
        if request.operation != "answer":
            return super().reply(request)
        lines = request.messages[-1]["content"].splitlines()
        noted = [value for name, _, value in (line.partition(": ") for line in lines) if name in self.schema]
        choices = [line for line in lines if line[0:1].isdigit()]
        return json.dumps({"answer": 1 + max(range(len(choices)), key=lambda i: sum(value in choices[i] for value in noted))})


@pytest.fixture(scope="module")
def users():
    return recipe().scenarios.test.build()


@pytest.fixture(scope="module")
def played(users):
    tasks = [Task(user.id, user.id, 0) for user in users]
    factory = agents(recipe(), Reader(users), GREEDY)
    return play(environment(recipe(), "test", users), tasks, factory, label=None)


def test_the_oracle_scores_one_and_a_random_agent_zero(users):
    oracle, random = (report(play_scripted(recipe(), name, "test", users)) for name in ("oracle", "random"))
    assert (oracle.memory_score, oracle.overall, oracle.correct) == (1.0, 1.0, 1.0)
    assert oracle.answers == 12 * 3 * 6 and random.answers == RANDOM_EPISODES * oracle.answers
    assert sum(random.parse_failures.values()) == 0
    assert abs(random.memory_score) < 0.06  # four standard errors of 1728 answers
    assert 0.2 < random.overall < 0.3 and random.random == 0.25


def test_scripted_play_does_not_depend_on_concurrency_and_the_random_agent_on_the_seed(users):
    one = recipe(rollout={"concurrency": 1})
    for name in ("oracle", "random"):
        assert play_scripted(one, name, "test", users) == play_scripted(recipe(), name, "test", users)
    first, second = (play_scripted(recipe(seed=seed), "random", "test", users) for seed in (0, 1))
    assert [episode.answers for episode in first] != [episode.answers for episode in second]


def test_without_its_memory_an_agent_loses_what_it_knew(users, played):
    own = report(played)
    assert own.memory_score == own.correct == 1.0
    for name in ("empty", "scrambled"):
        control = report(ask_with_memory(recipe(), name, Reader(users), users, played))
        assert control.answers == own.answers and control.diagnosed == 0
        assert control.memory_score < 0.35, name


def test_an_empty_memory_holds_nothing(users, played):
    inquiries = [Inquiry(Task(user.id, user.id, 0), user, [{}] * len(user.periods)) for user in users]
    nothing = ask_again(inquiries, agents(recipe(), Reader(users), GREEDY), label=None)
    assert ask_with_memory(recipe(), "empty", Reader(users), users, played) == nothing


def test_instruction_only_is_what_any_agent_answers_from_nothing(users, played):
    """It is asked of everybody, in every period, and no episode is needed for it."""
    asked = []

    class Listening(Reader):
        def reply(self, request):
            asked.append(request.messages[-1]["content"])
            return super().reply(request)

    rag = recipe(agent={"name": "rag", "local_length": 0, "respond": "fixed"})
    found = ask_with_memory(rag, "instruction", Listening(users), users, [])
    assert len(asked) == len(users) * 3 * 6 and not [text for text in asked if "notes" in text or "Conversation" in text]
    assert [episode.answers for episode in found] == [
        episode.answers for episode in ask_with_memory(recipe(), "empty", Reader(users), users, played)
    ]


@pytest.mark.parametrize("name", ["scrambled", "empty", "instruction"])
def test_controls_asked_at_once_are_the_same(users, played, name):
    one_by_one, at_once = (ask_with_memory(recipe(), name, Reader(users), users, played, together=way) for way in (False, True))
    assert one_by_one == at_once


def test_a_scrambled_memory_is_the_next_users(users, played):
    scrambled = ask_with_memory(recipe(), "scrambled", Reader(users), users, played)
    following = [episode.states for episode in played[1:] + played[:1]]
    inquiries = [Inquiry(Task(user.id, user.id, 0), user, states) for user, states in zip(users, following, strict=True)]
    assert scrambled == ask_again(inquiries, agents(recipe(), Reader(users), GREEDY), label=None)
    itself = [Inquiry(Task(user.id, user.id, 0), user, episode.states) for user, episode in zip(users, played, strict=True)]
    again = ask_again(itself, agents(recipe(), Reader(users), GREEDY), label=None)
    assert [episode.answers for episode in again] != [episode.answers for episode in scrambled]
    assert report(again).memory_score == 1.0


def test_users_without_an_episode_are_passed_over(users, played):
    broken = [*played[:1], type(played[1])("AMemGym-v0", users[1].id, 0, users[1].id, error="OSError: gone"), *played[2:]]
    scrambled = ask_with_memory(recipe(), "scrambled", Reader(users), users, broken)
    assert [episode.task for episode in scrambled] == [user.id for user in [*users[:1], *users[2:]]]
    inquiry = Inquiry(Task(users[0].id, users[0].id, 0), users[0], played[2].states)
    assert scrambled[:1] == ask_again([inquiry], agents(recipe(), Reader(users), GREEDY), label=None)


def test_the_roles_own_number_of_rounds_is_played(users):
    config = recipe(scenarios={"test": USERS | {"rounds_init": 2, "rounds_update": 3}})
    made = environment(config, "test", users)(Task(users[0].id, "g", 0))
    _, info = made.reset(options={"task": users[0].id})
    rounds = {}
    while info["kind"] != "end":
        if info["kind"] == "session":
            rounds[info["period"]] = info["rounds"]
        _, _, _, _, info = made.step("{}")
    assert rounds == {0: 2, 1: 3, 2: 3}


def test_a_scrambled_memory_needs_a_second_user(tmp_path):
    from amemgym_train.evolution.stages import evaluate

    lonely = Recipe.model_validate({"name": "x", "policy": {"model": "no/model"}, "scenarios": {"test": {"num_users": 1}}})
    with pytest.raises(UserError, match="scrambled answers from another user's memory, but there is 1 test user"):
        evaluate(lonely, "test", None, "base", tmp_path, "x", ["scrambled"])


def test_nobody_is_given_the_own_memory_as_scrambled(users):
    played = play_scripted(recipe(), "oracle", "test", users[:2])
    played[0].error = "OSError: lost"
    with pytest.raises(UserError, match="1 of 2 users could be played"):
        ask_with_memory(recipe(), "scrambled", OraclePolicy(users[1]), users[:2], played)
