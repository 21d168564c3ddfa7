from amemgym_train.config.description import describe
from amemgym_train.config.recipe import Recipe


def test_the_arithmetic_is_told():
    text = describe(
        Recipe.model_validate(
            {
                "name": "small",
                "scenarios": {"train": {"num_users": 6, "num_periods": 2, "num_questions": 5}, "test": {"num_users": 1}},
                "rollout": {"group_size": 4},
                "training": {"batch_size": 8, "gradient_accumulation": 2, "max_rows": 100, "epochs": 3},
            }
        )
    )
    for part in [
        "6 users x 4 in a group = 24 episodes, new users each time",
        "3 periods x 5 questions = 15 answers",
        "8 x 2 = 16 rows per step",
        "at most 100 rows, so at most 21 steps",  # 7 steps an epoch
        "test: 1 user,",
    ]:
        assert part in text


def test_users_of_a_file_are_told_without_reading_it():
    scenarios = {"train": {"data": "d.json"}, "test": {"data": "t.json", "users": ["a"]}}
    text = describe(Recipe.model_validate({"name": "x", "scenarios": scenarios}))
    assert "plays all users of d.json x 4" in text
    assert "test: 1 user of t.json" in text
    assert "new users each time" not in text


def test_on_policy_steps_are_told():
    training = {"method": "grpo", "grpo": {"steps": 3}, "batch_size": 16}
    text = describe(Recipe.model_validate({"name": "x", "training": training, "scenarios": {"train": {"num_users": 5}}}))
    assert "Each takes 3 steps; a step plays 5 users x 4 in a group = 20 episodes" in text
    assert "updates the adapter once" in text and "credit.scheme operation, 16 rows per process" in text


def test_updates_of_ppo_are_counted():
    training = {"method": "ppo", "ppo": {"steps": 3, "epochs": 2, "minibatches": 4}}
    text = describe(Recipe.model_validate({"name": "x", "training": training}))
    assert "Each takes 3 steps; a step plays" in text and "updates the adapter 8 times" in text
