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
        {"scheme": "outcome", "estimator": "rloo", "loss": "dapo"},
        {"estimator": "grpo", "scale_by_std": True},
        {"operations": ["write"]},
    ):
        assert problems(credit) == problems(credit, **GRPO) == {}


@pytest.mark.parametrize(
    ("credit", "key", "named"),
    [
        ({"operations": ["read", "read"]}, "operations", "read, read names one twice"),
        ({"estimator": "rloo", "scale_by_std": True}, "scale_by_std", "this is rloo"),
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
    assert set(problems({}, **GRPO, **alone)) == {"rollout.group_size"}
    native = {"agent": {"name": "native"}}
    assert set(problems({"operations": ["write"]}, **GRPO, **native)) == {"credit.operations"}
    assert problems({}, **GRPO, **native) == {}


def test_every_problem_is_found_at_once():
    assert set(problems({"estimator": "rloo", "scale_by_std": True, "operation_share": 0.1})) == {
        "credit.scale_by_std",
        "credit.operation_share",
    }


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("credit.scheme=operations", 'got "operations", expected outcome, operation, blend, or a function of your own'),
        ("credit.operation_share=1", "expected less than 1"),
        ("credit.format_penalty=-1", "expected at least 0"),
        ("credit.operations=[]", "expected at least 1 of them"),
        ("credit.operations=[respond]", "credit.operations[0]"),
        ("credit.estimater=rloo", "did you mean credit.estimator?"),
        ("credit.loss=bnpo", "expected 'grpo', 'dapo' or 'dr_grpo'"),
    ],
)
def test_wrong_values_are_explained(override, expected):
    with pytest.raises(UserError) as caught:
        load_recipe(None, ["agent.local_length=0", override])
    assert expected in str(caught.value)


def test_a_config_survives_its_own_dump():
    config = CreditConfig(scheme="my.rewards:f", operations=["read"], estimator="reinforce_pp")
    assert CreditConfig.model_validate_json(config.model_dump_json()) == config
