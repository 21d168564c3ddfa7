import dataclasses

import pytest
from pydantic import ValidationError

from amemgym_envs.amemgym.generator import GeneratorConfig, preset, presets
from amemgym_envs.amemgym.scenario import save_scenarios
from amemgym_train.config.scenarios import FROM_FILE, ScenarioConfig, ScenariosConfig
from amemgym_train.errors import UserError

SMALL = {"num_users": 2, "num_variables": 4, "num_questions": 3, "num_periods": 1, "num_changes_per_period": 1}


def test_keys_mirror_the_generator():
    ours = set(ScenarioConfig.model_fields) - FROM_FILE - {"preset"}
    assert ours == {field.name for field in dataclasses.fields(GeneratorConfig)}


def test_a_preset_is_complete_and_gives_way_to_keys_beside_it():
    """No setting of a preset may depend on which of the two classes' defaults stands behind it."""
    for name in presets():
        recipe, plain = ScenarioConfig(preset=name, seed=3).generator(), GeneratorConfig(**preset(name), seed=3)
        assert recipe == plain
    assert ScenarioConfig(preset="base", num_users=3).num_users == 3
    with pytest.raises(ValidationError, match="preset is 'bass', expected one of tiny, quickstart, base, extra"):
        ScenarioConfig(preset="bass")


def test_keys_of_the_public_generator_are_understood():
    public = {"num_user_profiles": 3, "min_state_variants": 5, "num_rounds_init": 2, "num_rounds_update": 3, "lang": "en"}
    config = ScenarioConfig(**public)
    assert (config.num_users, config.num_choices, config.rounds_init, config.rounds_update) == (3, 5, 2, 3)
    with pytest.raises(ValidationError, match="lang and language are the same setting: remove one"):
        ScenarioConfig(language="en", lang="en")


def test_each_role_has_its_own_variables_phrasings_and_users():
    scenarios = ScenariosConfig.model_validate({"test": {"num_users": 3}})
    assert (scenarios.train.split, scenarios.validation.split, scenarios.test.split) == ("train", "validation", "test")
    assert (scenarios.train.phrasings, scenarios.test.phrasings) == ("train", "test")
    assert len({scenarios.train.user_offset, scenarios.validation.user_offset, scenarios.test.user_offset}) == 3
    assert scenarios.test.num_users == 3


def test_the_next_iteration_continues_where_the_last_one_ended():
    config = ScenarioConfig(**SMALL)
    together = ScenarioConfig(**SMALL | {"num_users": 4}).build()
    apart = config.at(0).build() + config.at(1).build()
    assert [user.id for user in apart] == [user.id for user in together]
    assert apart == together
    assert len({user.id for user in together}) == 4


def test_a_file_is_read_in_its_order_and_filtered(tmp_path):
    users = ScenarioConfig(**SMALL).build()
    path = str(tmp_path / "data.json")
    save_scenarios(path, users)
    assert ScenarioConfig(data=path).build() == users
    assert ScenarioConfig(data=path).at(3).build() == users
    assert ScenarioConfig(data=path, users=[users[1].id]).build() == users[1:]
    with pytest.raises(UserError, match=f"no user nobody; its users: {users[0].id}, {users[1].id}"):
        ScenarioConfig(data=path, users=["nobody"]).build()


def test_a_broken_or_absent_file_is_the_users_to_mend(tmp_path):
    path = tmp_path / "data.json"
    with pytest.raises(UserError, match=str(path)):
        ScenarioConfig(data=str(path)).build()
    path.write_text('[{"id": "a"')
    with pytest.raises(UserError, match="line 1"):
        ScenarioConfig(data=str(path)).build()


def test_a_file_and_the_generator_do_not_mix():
    with pytest.raises(ValidationError, match="do not apply: remove num_users, seed, or override all with {data: data.json}"):
        ScenarioConfig(data="data.json", num_users=3, seed=1)
    with pytest.raises(ValidationError, match="add data"):
        ScenarioConfig(users=["a"])
    assert ScenariosConfig.model_validate({"test": {"data": "data.json", "rounds_init": 2}}).test.rounds_init == 2


@pytest.mark.parametrize("weights", [{"direct": True}, {"event": float("inf")}, {"event": float("nan")}, {"direct": "many"}])
def test_weights_of_difficulty_are_numbers(weights):
    with pytest.raises(ValidationError, match="difficulty"):
        ScenarioConfig(difficulty=weights)
    assert ScenarioConfig(difficulty={"direct": 1, "event": 0.5}).generator().difficulty == {"direct": 1.0, "event": 0.5}
