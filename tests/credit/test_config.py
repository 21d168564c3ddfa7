import pytest

from amemgym_train.config.check import check
from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.load import load_recipe
from amemgym_train.config.recipe import Recipe
from amemgym_train.errors import UserError


def problems(credit, **sections):
    return dict(check(Recipe.model_validate({"name": "x", "agent": {"local_length": 0}, "credit": credit} | sections)))


GRPO = {"training": {"method": "grpo", "operations": ["answer"]}}


def test_defaults_and_what_goes_together_hold():
    for credit in (
        {},
        {"scheme": "blend", "operation_share": 0.3, "format_penalty": 0, "retention_penalty": 1},
        {"scheme": "outcome", "loss": "dapo"},
        {"scale_by_std": True},
        {"operations": ["write"]},
    ):
        assert problems(credit) == problems(credit, **GRPO) == {}


@pytest.mark.parametrize(
    ("credit", "key", "named"),
    [
        ({"operations": ["read", "read"]}, "operations", "read, read names one twice"),
        ({"operation_share": 0.3}, "operation_share", "credit.scheme operation"),
        ({"scheme": "outcome", "operation_share": 0.3}, "operation_share", "credit.scheme outcome"),
        ({"scheme": "outcome", "format_penalty": 0}, "format_penalty", "credit.scheme outcome"),
        ({"scheme": "outcome", "retention_penalty": 0.1}, "retention_penalty", "credit.scheme outcome"),
        ({"operations": ["read", "answer"], "retention_penalty": 0.1}, "retention_penalty", "only read and answer"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(credit, key, named):
    found = problems(credit)
    assert set(found) == {f"credit.{key}"}
    assert named in found[f"credit.{key}"]


def test_a_method_with_baselines_needs_a_group_and_calls_that_are_made():
    alone = {"rollout": {"group_size": 1}}
    assert problems({}, **alone) == {}  # rft takes no rewards
    for method in ("grpo", "dr_grpo", "rloo", "reinforce_pp", "dpo"):
        assert set(problems({}, training={"method": method}, **alone)) == {"rollout.group_size"}
    native = {"agent": {"name": "native"}}
    assert set(problems({"operations": ["write"]}, **GRPO, **native)) == {"credit.operations"}
    assert problems({}, **GRPO, **native) == {}


@pytest.mark.parametrize("method", ["dr_grpo", "rloo", "reinforce_pp", "ppo", "dpo"])
def test_only_grpo_divides_by_a_spread_and_every_problem_is_found_at_once(method):
    found = problems({"scale_by_std": True, "operation_share": 0.1}, training={"method": method})
    assert set(found) == {"credit.scale_by_std", "credit.operation_share"}
    assert f"training.method is {method}" in found["credit.scale_by_std"]


def test_dr_grpo_weighs_tokens_its_own_way_unless_told_otherwise():
    def loss(method, **credit):
        return Recipe.model_validate({"name": "x", "credit": credit, "training": {"method": method}}).credit.loss

    assert [loss(method) for method in ("grpo", "dr_grpo", "rloo", "reinforce_pp")] == ["grpo", "dr_grpo", "grpo", "grpo"]
    assert loss("dr_grpo", loss="dapo") == "dapo" and loss("dr_grpo", scheme="outcome") == "dr_grpo"
    recipe = load_recipe(None, ["agent.local_length=0", "training.method=dr_grpo"])
    assert recipe.credit.loss == "dr_grpo" and Recipe.model_validate(recipe.model_dump()) == recipe


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("credit.scheme=operations", 'got "operations", expected outcome, operation, blend, return, or a function of your own'),
        ("credit.operation_share=1", "expected less than 1"),
        ("credit.format_penalty=-1", "expected at least 0"),
        ("credit.operations=[]", "expected at least 1 of them"),
        ("credit.operations=[respond]", "credit.operations[0]"),
        ("credit.operation=[read]", "did you mean credit.operations?"),
        ("training.method=trpo", "expected 'rft', 'dpo', 'grpo', 'dr_grpo', 'rloo', 'reinforce_pp', 'ppo' or 'none'"),
        ("credit.loss=bnpo", "expected 'grpo', 'dapo' or 'dr_grpo'"),
    ],
)
def test_wrong_values_are_explained(override, expected):
    with pytest.raises(UserError) as caught:
        load_recipe(None, ["agent.local_length=0", override])
    assert expected in str(caught.value)


def test_a_config_survives_its_own_dump():
    config = CreditConfig(scheme="my.rewards:f", operations=["read"], loss="dapo")
    assert CreditConfig.model_validate_json(config.model_dump_json()) == config
