import pytest

from amemgym_train.config.check import check
from amemgym_train.config.load import load_recipe
from amemgym_train.config.recipe import Recipe


def problems(**sections):
    return dict(check(Recipe.model_validate({"name": "x", "agent": {"local_length": 0}} | sections)))


def test_defaults_hold():
    assert problems() == {}


def test_greedy_groups_are_refused():
    greedy = {"temperature": 0}
    assert "sampling.temperature" in problems(sampling=greedy)
    assert problems(sampling=greedy, rollout={"group_size": 1}) == {}


def test_no_more_is_kept_than_drawn():
    assert "training.keep_per_slot" in problems(training={"keep_per_slot": 5})
    assert problems(training={"keep_per_slot": 4}) == {}


def test_operations_are_those_the_agent_makes():
    assert "training.operations" in problems(agent={"name": "native"}, training={"operations": ["write", "read"]})
    assert problems(agent={"name": "native"}) == {}  # the default is of what there is
    assert problems(agent={"name": "native"}, training={"operations": ["answer"]}) == {}
    assert "training.operations" in problems(training={"operations": ["answer", "answer"]})


def test_an_agent_that_never_writes_is_refused():
    short = {"num_variables": 4, "num_periods": 1, "num_changes_per_period": 1}  # 2 sessions, then 1: 6 messages
    assert "agent.local_length" in problems(agent={"update_bsz": 2, "local_length": 5}, scenarios={"train": short})
    assert problems(agent={"update_bsz": 2, "local_length": 4}, scenarios={"train": short}) == {}
    assert problems(agent={"local_length": 5, "flush": "period"}, scenarios={"train": short}) == {}


def test_what_the_generator_refuses_is_told_before_it_runs():
    assert "num_variables" in problems(scenarios={"validation": {"num_variables": 1000}})["scenarios.validation"]


def test_paths_must_exist(tmp_path):
    data = {"test": {"data": str(tmp_path / "data.json")}}
    found = problems(policy={"model": str(tmp_path / "model")}, agent={"prompts": "nowhere"}, scenarios=data)
    assert set(found) == {"policy.model", "agent.prompts", "scenarios.test.data"}
    assert problems(policy={"model": str(tmp_path)}) == {}


def test_roles_may_not_share_users(tmp_path):
    own = {"split": "all", "user_offset": 0, "num_users": 4}
    found = problems(scenarios={"train": own, "test": own | {"user_offset": 11}})
    assert "overlap users 0..11" in found["scenarios.test.user_offset"]  # 3 iterations of 4 new users
    assert problems(scenarios={"train": own, "test": own | {"user_offset": 12}}) == {}
    steps = {"method": "grpo", "operations": ["answer"], "grpo": {"steps": 5}}
    found = problems(scenarios={"train": own, "test": own | {"user_offset": 59}}, training=steps)
    assert "overlap users 0..59" in found["scenarios.test.user_offset"]  # 3 iterations of 5 steps of 4 new users
    assert problems(scenarios={"train": own, "test": own | {"user_offset": 60}}, training=steps) == {}
    assert problems(scenarios={"train": own, "test": own | {"seed": 1}}) == {}
    assert problems(scenarios={"train": own, "test": own | {"user_offset": 4}}, rollout={"new_users_each_iteration": False}) == {}

    path = tmp_path / "data.json"
    path.write_text("[]")
    first, second = {"data": str(path), "users": ["a"]}, {"data": str(path), "users": ["b"]}
    assert problems(scenarios={"validation": first, "test": second}) == {}
    assert "scenarios.test.data" in problems(scenarios={"validation": first, "test": first})
    assert "scenarios.test.data" in problems(scenarios={"validation": first, "test": {"data": str(path)}})


def test_scrambled_needs_another_user():
    scrambled = {"controls": ["scrambled"]}
    assert "evaluation.controls" in problems(evaluation=scrambled, scenarios={"test": {"num_users": 1}})
    assert problems(evaluation=scrambled, scenarios={"test": {"num_users": 2}}) == {}


def test_the_loader_checks(tmp_path):
    from amemgym_train.errors import UserError

    path = tmp_path / "recipe.yaml"
    path.write_text("name: x\nagent: {local_length: 0}\nsampling: {temperature: 0}\n")
    with pytest.raises(UserError, match=r"sampling.temperature \(.*recipe.yaml:3\): 0 is greedy"):
        load_recipe(path)
    with pytest.raises(UserError, match="2 problems"):
        load_recipe(path, ["training.keep_per_slot=9"])


@pytest.mark.parametrize(
    ("training", "credit", "key", "named"),
    [
        ({"method": "grpo", "known_answers_only": True}, {}, "training.known_answers_only", "training.method is grpo"),
        ({"method": "dpo", "known_answers_only": True}, {}, "training.known_answers_only", "training.method is dpo"),
        ({"method": "dpo"}, {"loss": "dapo"}, "credit.loss", "whole replies"),
        ({"method": "dpo", "dpo": {"loss": "ipo", "label_smoothing": 0.1}}, {}, "training.dpo.label_smoothing", "loss ipo"),
        ({"method": "rft", "known_answers_only": True}, {"loss": "dapo"}, None, ""),
        ({"method": "dpo", "dpo": {"label_smoothing": 0.1}}, {}, None, ""),
    ],
)
def test_keys_of_another_method_are_refused(training, credit, key, named):
    found = problems(training=training, credit=credit)
    assert set(found) == ({key} if key else set())
    assert key is None or named in found[key]
