"""Several environments in one recipe: whose turn it is in training, whose users are whose, and what is refused."""

from collections import Counter

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from amemgym_train.config.check import check
from amemgym_train.config.curriculum import longest, scheduled
from amemgym_train.config.description import describe
from amemgym_train.config.environments import alike, environment_of, shares, sources, training_users, users
from amemgym_train.config.load import load_recipe, load_scenarios, recipe_hash
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError

SMALL = {"num_variables": 4, "num_questions": 2, "num_periods": 1, "num_changes_per_period": 1}


def environment(train, **keys):
    counts = {"train": train, "validation": 2, "test": 3}
    return {role: SMALL | {"num_users": count} for role, count in counts.items()} | keys


def recipe(environments, **sections):
    return Recipe.model_validate({"name": "x", "agent": {"local_length": 0}, "environments": environments} | sections)


@pytest.fixture
def data(tmp_path):
    from amemgym_envs.amemgym.generator import GeneratorConfig, generate
    from amemgym_envs.amemgym.scenario import save_scenarios

    path = tmp_path / "data.json"
    save_scenarios(path, generate(GeneratorConfig(**SMALL, num_users=3, split="all", user_offset=9_000_000)))
    return str(path)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 3))
def test_without_weights_every_rollout_plays_the_users_of_each(sizes, rollouts):
    made = recipe({f"e{place}": environment(size) for place, size in enumerate(sizes)})
    assert shares(made, rollouts) == {f"e{place}": size * rollouts for place, size in enumerate(sizes)}


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=4), st.integers(1, 40), st.integers(1, 6))
def test_weights_are_met_as_near_as_whole_users_allow_and_no_turn_is_taken_back(weights, size, rollouts):
    made = recipe({f"e{n}": environment(1, weight=weight) for n, weight in enumerate(weights)}, rollout={"users": size})
    before = shares(made, rollouts - 1) if rollouts > 1 else Counter()
    now = shares(made, rollouts)
    assert now.total() == size * rollouts and all(now[name] >= count for name, count in before.items())
    had = [now[f"e{n}"] for n in range(len(weights))]
    for giver, taker in ((a, b) for a in range(len(weights)) for b in range(len(weights)) if a != b and had[a]):
        # Webster: nobody who has a turn could give it to another who is more behind
        assert weights[giver] / (2 * had[giver] - 1) >= weights[taker] / (2 * had[taker] + 1) * (1 - 1e-12)


def test_training_users_are_the_next_ones_each_time_and_take_turns():
    made = recipe({"a": environment(1, weight=3), "b": environment(1, weight=1)}, rollout={"users": 6})
    played = [[user.id for user in training_users(made, number)] for number in range(4)]
    everybody = [user for rollout in played for user in rollout]
    assert len(set(everybody)) == 24
    assert Counter(environment_of(made, user) for user in everybody) == {"a": 18, "b": 6}
    assert {environment_of(made, user) for user in played[0][:4]} == {"a", "b"}  # a first part has both, too
    kept = made.model_copy(update={"rollout": made.rollout.model_copy(update={"new_users_each_iteration": False})})
    assert training_users(kept, 3) == training_users(kept, 0) == training_users(made, 0) == users(made, "train")
    alone = made.environments["a"].train.model_copy(update={"num_users": 18}).build()
    assert [user.removeprefix("a.") for user in everybody if user.startswith("a.")] == [user.id for user in alone]


def test_other_roles_have_the_users_of_one_environment_after_the_other():
    made = recipe({"a": environment(1), "b": environment(2)})
    assert Counter(environment_of(made, user.id) for user in users(made, "test")) == {"a": 3, "b": 3}
    assert len({user.id for user in users(made, "test")}) == 6  # though both generators number theirs alike
    single = Recipe.model_validate({"name": "x", "scenarios": {"test": SMALL}})
    assert users(single, "test") == single.scenarios.test.build() and environment_of(single, "v1.2") == ""


def test_a_file_is_played_in_a_circle_and_never_twice_at_once(data):
    file = {"train": {"data": data}, "weight": 1}
    made = recipe({"file": file, "new": environment(1, weight=1)}, rollout={"users": 4})
    played = [[user.id for user in training_users(made, number) if user.id.startswith("file.")] for number in range(3)]
    first, second, third = (f"file.{user.id}" for user in made.environments["file"].train.build())
    assert played == [[first, second], [third, first], [second, third]]
    with pytest.raises(UserError, match=r"environments\.file\.train: a rollout plays 4 of its users, .* has 3 for training"):
        training_users(recipe({"file": file, "new": environment(1, weight=1)}, rollout={"users": 8}), 0)
    assert len(alike(made, "train")) == 4  # all of the file, one of the generator


def test_a_schedule_grows_every_environment():
    made = recipe({"a": environment(1), "b": environment(1)}, evolution={"curriculum": {"num_periods": [1, 3]}})
    assert [source.num_periods for source in sources(scheduled(made, 2), "train").values()] == [3, 3]
    assert [source.num_periods for source in sources(longest(made), "train").values()] == [3, 3]
    assert all(source.num_periods == 1 for source in sources(scheduled(made, 2), "test").values())


@pytest.mark.parametrize(
    ("environments", "sections", "key", "told"),
    [
        ({"a": environment(1, weight=1), "b": environment(1)}, {}, "environments.b.weight", "needs one, too"),
        ({"a": environment(1)}, {"scenarios": {"train": {"num_users": 5}}}, "scenarios.train", "move it to environments.NAME"),
        ({}, {"rollout": {"users": 4}}, "rollout.users", "set scenarios.train.num_users"),
        ({"a": environment(1) | {"test": {"num_variables": 1000}}}, {}, "environments.a.test", "num_variables"),
        ({"a": environment(1) | {"test": {"data": "no.json"}}}, {}, "environments.a.test.data", "no file no.json"),
    ],
)
def test_what_does_not_hold_is_told_with_its_key(environments, sections, key, told):
    assert told in dict(check(recipe(environments, **sections)))[key]


def test_a_user_of_one_environment_may_not_train_for_the_test_of_another():
    mine = environment(4) | {"train": SMALL | {"split": "all", "user_offset": 0, "num_users": 4}}
    theirs = environment(4)
    theirs["train"] = theirs["train"] | {"user_offset": 500}
    theirs["test"] = SMALL | {"split": "all", "user_offset": 11, "num_users": 4}
    found = dict(check(recipe({"a": mine, "b": theirs})))
    assert "overlap users 0..11 of environments.a.train" in found["environments.b.test.user_offset"]  # 3 iterations of 4
    apart = theirs | {"test": theirs["test"] | {"user_offset": 12}}
    assert check(recipe({"a": mine, "b": apart})) == []


def test_how_much_of_a_file_is_played_must_be_said(data):
    assert "set weights" in dict(check(recipe({"f": {"train": {"data": data}}})))["environments.f.train.users"]
    assert check(recipe({"f": {"train": {"data": data}, "weight": 2}}, rollout={"users": 2})) == []


def test_keys_below_a_name_are_explained(tmp_path):
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump({"name": "x", "environments": {"a": {"train": {"num_usrs": 1}}, "b.c": {}}}))
    with pytest.raises(UserError) as caught:
        load_recipe(path, ["environments.a.gate.confidence=2"])
    told = str(caught.value)
    assert "environments.a.train.num_usrs (" in told and "no such key; did you mean environments.a.train.num_users?" in told
    assert "environments.a.gate.confidence (override" in told and "got 2, expected less than 1" in told
    assert "environments.b.c (" in told and "expected text of the form" in told


def test_overrides_reach_into_an_environment_and_change_the_recipe(tmp_path):
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump({"name": "x", "agent": {"local_length": 0}, "environments": {"a": environment(1)}}))
    changed = load_recipe(path, ["environments.a.test.num_users=7"])
    assert changed.environments["a"].test.num_users == 7
    assert recipe_hash(changed) != recipe_hash(load_recipe(path))
    with pytest.raises(UserError, match="the users of a recipe with environments are not those of scenarios"):
        load_scenarios(path)


def test_the_description_says_how_users_are_shared_out():
    made = recipe({"a": environment(1, weight=3), "b": environment(1, weight=1)}, rollout={"users": 8})
    assert "plays 8 users (6 of a + 2 of b) x 4 in a group = 32 episodes, new users each time." in describe(made)
    assert "Validation: 2 users of a + 2 users of b each time; test: 3 users of a + 3 users of b" in describe(made)
