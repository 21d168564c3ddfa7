"""The section of a recipe that plays environments with a goal."""

import pytest

from amemgym_train.config.description import describe
from amemgym_train.config.environments import alike, training_users, users
from amemgym_train.config.load import load_recipe
from amemgym_train.errors import UserError

TASKS = ["name=goals", "tasks.environment=TextCraft", "tasks.train.num_tasks=4"]


@pytest.fixture
def load(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text("{}")
    return lambda *words: load_recipe(path, [*TASKS, *words])


def ids(goals):
    return [goal.id for goal in goals]


def test_other_sections_begin_with_what_tasks_need(load):
    recipe = load()
    assert (recipe.agent.name, recipe.credit.scheme, recipe.credit.operations) == ("react", "outcome", ["act"])
    assert recipe.training.operations == ["act"] and recipe.measure == "score"
    assert load("credit.scheme=return", "credit.discount=0.5").credit.operations == ["act"]
    assert "4 tasks of TextCraft x 4 in a group = 16 episodes" in describe(recipe)


def test_roles_have_their_splits_and_training_goes_on_to_the_next_tasks(load):
    recipe = load()
    splits = recipe.tasks.build().splits
    for role in ("validation", "test"):
        assert len(set(ids(users(recipe, role)))) == 16 and set(ids(users(recipe, role))) <= set(splits[role])
    rounds = [ids(training_users(recipe, number)) for number in range(len(splits["train"]) // 4)]
    played = [task for some in rounds for task in some]
    assert len(set(played)) == len(played) and set(played) <= set(splits["train"])
    assert rounds[0] == ids(users(recipe, "train")) == ids(training_users(load("rollout.new_users_each_iteration=false"), 9))
    assert ids(alike(recipe, "train")) == rounds[0][:1]
    assert ids(users(load("tasks.seed=1"), "test")) != ids(users(recipe, "test"))


def test_the_training_split_begins_again_where_it_ends(load):
    recipe = load("tasks.train.num_tasks=400")
    size = len(recipe.tasks.build().splits["train"])
    first, second = (ids(training_users(recipe, number)) for number in (0, 1))
    assert 400 < size < 800 and second[size - 400 :] == first[: 800 - size]


def test_tasks_can_be_named(load):
    recipe = load("tasks.test.ids=[cyan_bed]")
    assert ids(users(recipe, "test")) == ["cyan_bed"] and recipe.tasks.test.size == 1


def test_a_horizon_may_grow(load):
    from amemgym_train.config.curriculum import longest, scheduled

    recipe = load("evolution.iterations=3", "evolution.curriculum.max_steps=[4, 8]", "tasks.max_steps=12")
    assert [scheduled(recipe, iteration).tasks.max_steps for iteration in (1, 2, 3)] == [4, 8, 8]
    assert longest(recipe).tasks.max_steps == 8 and recipe.tasks.build().max_steps == 12


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tasks.environment=chess"], "tasks.environment (override tasks.environment=chess): no environment 'chess'; there are "),
        (["tasks.options.colour=red"], "TextCraft refuses them (no option colour; there are "),
        (["tasks.options.depths=[9]"], "TextCraft refuses them ("),
        (["tasks.test.split=exam"], "TextCraft has no split exam; it has train, validation, test"),
        (["tasks.test.num_tasks=9999"], "9999 tasks after the first 0 are wanted, split test has "),
        (["tasks.test.ids=[cyan_bed, moon]"], "TextCraft has no task moon"),
        (["tasks.test.split=train"], "shares 12 tasks with tasks.train, such as "),
        (["agent.name=awi"], "awi plays AMemGym's users; environments with a goal are played by react"),
        (["agent.prompts=short"], "short has no act, which react needs; take default"),
        (["agent.retrieval=hybrid"], "the react agent does not look at it; remove it"),
        (["credit.scheme=operation"], "operation pays for what AMemGym's diagnosis tells; set outcome or return"),
        (["credit.discount=0.5"], "has no effect with credit.scheme outcome"),
        (["credit.operations=[write]"], "all calls in environments with a goal are acts; set it to [act]"),
        (["evaluation.controls=[random, scrambled]"], "scrambled are of a memory; expected random or oracle"),
        (["evaluation.upper=model"], "is of the memory score; remove it"),
        (["reflection.retry.episodes=1"], "reflects on AMemGym's diagnosis"),
        (["scenarios.test.num_users=3"], "tasks are played in place of users; remove one of the two"),
        (["tasks.server.urls=[ftp://a]"], "tasks.server.urls"),
        (["tasks.server.urls=[http://127.0.0.1:9]"], "refused, tried 5 times; start it with: amemgym-train serve TextCraft"),
        (["tasks.server.urls=[http://127.0.0.1:9]", "tasks.server.token_env=NO_SUCH"], "NO_SUCH is not set"),
        (["tasks.server.urls=[http://127.0.0.1:9]", "tasks.max_steps=3"], "a server has the bound that it was started with"),
        (["evolution.curriculum.num_periods=[1]"], "is a schedule of episodes of users, which the recipe does not play"),
    ],
)
def test_what_does_not_go_together_is_told(load, words, told):
    with pytest.raises(UserError) as caught:
        load(*words)
    assert told in str(caught.value), caught.value


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("agent.name=react", "the react agent plays environments with a goal; add the section tasks, or take awi"),
        ("credit.scheme=return", "return is of environments with a goal; set operation, outcome or blend"),
        ("training.operations=[act]", "acts are calls in environments with a goal; add the section tasks, or remove act"),
        ("evolution.curriculum.max_steps=[3]", "is a schedule of tasks, which the recipe does not play"),
    ],
)
def test_without_tasks_what_is_theirs_is_refused(word, told):
    with pytest.raises(UserError) as caught:
        load_recipe(None, ["name=users", word])
    assert told in str(caught.value), caught.value
