from typing import get_args

import pytest

from amemgym_train.config.check import check
from amemgym_train.config.on_policy import GRPOSettings, PPOSettings
from amemgym_train.config.recipe import Recipe
from amemgym_train.config.training import TrainingConfig


def problems(ppo=None, credit=None, method="ppo", **sections):
    training = {"method": method, "ppo": ppo or {}}
    recipe = {"name": "x", "agent": {"local_length": 0}, "training": training, "credit": credit or {}}
    return dict(check(Recipe.model_validate(recipe | sections)))


def test_defaults_and_what_goes_together_hold():
    for ppo in (
        {},
        {"level": "token", "gamma_token": 0.9, "lambda_token": 0.5},
        {"kl": "loss", "kl_coef": 0.2, "kl_target": 0.1},
        {"kl": "reward", "kl_coef": 0.2},
        {"gamma_turn": 0},
        {"gamma_turn": 0.1, "lambda_turn": 0.5},
    ):
        assert problems(ppo) == {}


def test_a_critic_needs_no_group():
    assert problems(rollout={"group_size": 1}) == {}


def test_a_greedy_policy_is_refused_even_without_a_group():
    assert set(problems(rollout={"group_size": 1}, sampling={"temperature": 0})) == {"sampling.temperature"}


@pytest.mark.parametrize(
    ("ppo", "credit", "key", "named"),
    [
        ({"gamma_turn": 0}, {"scheme": "outcome"}, "training.ppo.gamma_turn", "set it above 0"),
        ({"gamma_turn": 0, "lambda_turn": 0.5}, {}, "training.ppo.lambda_turn", "training.ppo.gamma_turn 0"),
        ({"gamma_token": 0.9}, {}, "training.ppo.gamma_token", "training.ppo.level turn"),
        ({"lambda_token": 0.9}, {}, "training.ppo.lambda_token", "training.ppo.level turn"),
        ({"kl_coef": 0.3}, {}, "training.ppo.kl_coef", "training.ppo.kl none"),
        ({"kl_target": 0.3}, {}, "training.ppo.kl_target", "training.ppo.kl none"),
    ],
)
def test_what_has_no_effect_is_refused_by_name(ppo, credit, key, named):
    found = problems(ppo, credit)
    assert set(found) == {key} and named in found[key]
    assert set(problems(ppo, credit, "grpo")) == set()


def test_a_step_of_ppo_makes_several_updates():
    assert GRPOSettings().updates == 1
    assert PPOSettings(epochs=3, minibatches=4).updates == 12
    assert GRPOSettings(epochs=2, minibatches=4).updates == 8


def test_methods_and_where_their_keys_are():
    grouped = dict.fromkeys(("grpo", "dr_grpo", "rloo", "reinforce_pp"), "grpo")
    sections = {**dict.fromkeys(("rft", "dpo", "none")), "ppo": "ppo", **grouped}
    assert set(sections) == set(get_args(TrainingConfig.model_fields["method"].annotation))
    for method, section in sections.items():
        config = TrainingConfig(method=method)
        assert config.section == section and config.on_policy is (getattr(config, section) if section else None)
