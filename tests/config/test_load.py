import pytest

from amemgym_train.config.load import load_recipe, load_scenarios, recipe_hash
from amemgym_train.errors import UserError

RECIPE = """\
name: small
policy: {model: quickstart}
agent: {local_length: 0}
training:
  learning_rate: 1e-4
evolution:
  iterations: 2
"""


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "recipe.yaml"
        path.write_text(text)
        return path

    return written


def refusal(path, overrides=()):
    with pytest.raises(UserError) as caught:
        load_recipe(path, list(overrides))
    return str(caught.value)


def test_what_is_written_is_read_and_the_rest_has_defaults(write):
    recipe = load_recipe(write(RECIPE))
    assert (recipe.name, recipe.policy.model, recipe.evolution.iterations) == ("small", "quickstart", 2)
    assert recipe.training.learning_rate == 1e-4  # YAML itself reads 1e-4 as text
    assert recipe.policy.lora.r == 16
    assert str(recipe.run_dir) == "runs/small"


def test_a_recipe_survives_its_own_dump(write):
    from amemgym_train.config.recipe import Recipe

    recipe = load_recipe(write(RECIPE), ["evolution.gate.min_delta=0.01"])
    again = Recipe.model_validate_json(recipe.model_dump_json(exclude_unset=True))
    assert again == recipe
    assert recipe_hash(again) == recipe_hash(recipe)


def test_no_file_means_defaults():
    assert load_recipe(None, ["scenarios.train.num_users=3"]).scenarios.train.num_users == 3


def test_overrides_are_yaml_and_the_last_one_wins(write):
    overrides = ["training.operations=[write, answer]", "tracking.entity=", "policy.lora.target_modules=[q, v]"]
    recipe = load_recipe(write(RECIPE), [*overrides, "seed=1", "seed=2"])
    assert recipe.training.operations == ["write", "answer"]
    assert recipe.tracking.entity is None
    assert recipe.seed == 2
    assert recipe.policy.lora.target_modules == ["q", "v"]
    assert recipe.evolution.iterations == 2


def test_bare_off_is_off(write):
    assert load_recipe(write(RECIPE + "tracking: {wandb: off}\n")).tracking.wandb == "off"
    assert "got true, expected" in refusal(write(RECIPE + "tracking: {wandb: on}\n"))


def test_all_problems_are_reported_at_once_with_their_places(write):
    path = write(RECIPE + "sampling: {temprature: 1}\nrollout:\n  group_size: many\n  max_unscorable: 2\n")
    lines = refusal(path, ["evolution.iterations=0", "nonsense"]).splitlines()
    assert lines[0] == f"{path}: 5 problems, nothing was started"
    assert sorted(line.strip(" -") for line in lines[1:]) == sorted(
        [
            "override 'nonsense': expected dotted.key=value, for instance evolution.iterations=3",
            f"sampling.temprature ({path}:8): no such key; did you mean sampling.temperature?",
            f'rollout.group_size ({path}:10): got "many", expected a whole number',
            f"rollout.max_unscorable ({path}:11): got 2, expected less than 1",
            "evolution.iterations (override evolution.iterations=0): got 0, expected at least 1",
        ]
    )


@pytest.mark.parametrize(
    "override, expected",
    [
        ("iterations=3", "did you mean evolution.iterations?"),
        ("policy.lora.ranks=3", "known here: r, alpha, dropout, target_modules"),
        ("evolution.gate.min_delte=3", "did you mean evolution.gate.min_delta?"),
        ("training.method=grop", "got \"grop\", expected 'rft'"),
        ("training.operations=[write, erase]", "training.operations[1] (override training.operations=[write, erase]): got"),
        ("policy.lora.target_modules=3", "got 3, expected 'all-linear' or a list"),
        ("training.learning_rate=.inf", "expected a finite number"),
        ("training=3", "got 3, expected a section of keys"),
        ("training.max_rows=1.5", "got 1.5, expected a whole number"),
        ("name=../elsewhere", "expected text of the form"),
        ("rollout.group_size=[1", "is no YAML value"),
    ],
)
def test_a_wrong_value_is_explained(write, override, expected):
    message = refusal(write(RECIPE), [override])
    assert "1 problem, nothing was started" in message
    assert expected in message


def test_a_key_written_twice_is_refused(write):
    path = write(RECIPE + "policy: {model: smollm2}\n")
    assert f"policy ({path}:8): written before at {path}:2" in refusal(path)


def test_a_missing_name_is_told(write):
    assert "name (" in refusal(write("seed: 1\n")) and "it has no default" in refusal(write("seed: 1\n"))


def test_a_file_that_is_no_recipe_is_told(write, tmp_path):
    path = write(RECIPE)
    assert str(path) in refusal(tmp_path / "recipes.yaml")
    assert "expected a mapping of sections, got list" in refusal(write("- a\n")).replace(" (policy, agent, scenarios, ...)", "")
    assert "line 1, column" in refusal(write("a: [1\n"))


def test_hash_changes_with_what_is_computed_only(write):
    path = write(RECIPE)
    base = recipe_hash(load_recipe(path))
    for same in ["name=other", "output=elsewhere", "tracking.wandb=offline", "evolution.iterations=9", "training.method=rft"]:
        assert recipe_hash(load_recipe(path, [same])) == base
    for other in ["seed=1", "sampling.top_p=0.9", "evolution.start_from=base", "scenarios.test.seed=9", "agent.update_bsz=4"]:
        assert recipe_hash(load_recipe(path, [other])) != base


def test_the_users_of_a_recipe_do_not_depend_on_its_other_sections(tmp_path):
    path = tmp_path / "recipe.yaml"
    sound = "scenarios: {test: {seed: 9}}\n"
    path.write_text(f"{sound}policy: {{model: ./nowhere}}\nagent: {{nmae: awi}}\nseed: -1\nseed: 2\n")
    scenarios = load_scenarios(path, ["training.keep_per_slot=900"])
    path.write_text(f"name: x\n{sound}")
    assert scenarios == load_recipe(path).scenarios


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scenarios: {test: {sede: 9}}", "scenarios.test.sede (recipe.yaml:1): no such key"),
        ("scenarios: {test: {num_variables: 500}}", "scenarios.test (recipe.yaml:1): generator setting num_variables"),
        ("scenarios: {train: {split: all}, test: {split: test, user_offset: 3}}", "scenarios.test.user_offset"),
        ("scenarios: {test: {seed: 1, seed: 2}}", "scenarios.test.seed (recipe.yaml:1): written before"),
        ("scenariso: {test: {seed: 9}}", "scenariso (recipe.yaml:1): no such key"),
    ],
)
def test_problems_of_the_users_are_told(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.yaml").write_text(text)
    with pytest.raises(UserError) as stop:
        load_scenarios("recipe.yaml")
    assert message in str(stop.value)


def test_an_override_of_one_of_two_aliases_leaves_the_other(tmp_path):
    path = tmp_path / "alias.yaml"
    roles = "{train: &users {num_users: 5}, validation: *users, test: *users}"
    path.write_text(f"name: x\nagent: {{local_length: 0}}\nscenarios: {roles}\n")
    found = load_recipe(path, ["scenarios.test.num_users=9"]).scenarios
    assert (found.train.num_users, found.validation.num_users, found.test.num_users) == (5, 5, 9)
