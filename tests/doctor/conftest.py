"""What the tests of the doctor share: a recipe that is sound on any machine, to plant faults in."""

import pytest
import yaml

from amemgym_train.doctor.checks import findings

USERS = {
    **{"num_users": 2, "num_variables": 3, "num_questions": 3, "num_periods": 1, "num_changes_per_period": 1},
    **{"num_choices": 2, "num_states_per_question": 1},
}


@pytest.fixture(scope="session")
def untrained(make_llama, tokenizer, tmp_path_factory):
    """The folder of a tiny model with random weights."""
    folder = tmp_path_factory.mktemp("models") / "untrained"
    make_llama(max_position_embeddings=16384).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def sound(untrained, tmp_path):
    """The file of a recipe in which nothing is wrong."""
    sections = {
        "name": "sound",
        "output": str(tmp_path / "runs"),
        "policy": {"model": str(untrained)},
        "agent": {"local_length": 0, "flush": "period", "respond": "fixed"},
        "scenarios": {role: USERS for role in ("train", "validation", "test")},
    }
    path = tmp_path / "sound.yaml"
    path.write_text(yaml.safe_dump(sections))
    return path


@pytest.fixture
def diagnosed(sound):
    """{check: findings} of the sound recipe with changes."""

    def run(*overrides):
        found = {}
        for finding in findings(sound, list(overrides)):
            found.setdefault(finding.name, []).append(finding)
        return found

    return run


@pytest.fixture
def only(diagnosed):
    """The one finding of a check, which is the only one of that level or worse."""

    def run(name, *overrides, level="red"):
        found = diagnosed(*overrides)
        bad = [finding for one in found.values() for finding in one if finding.level == level and finding.remedy]
        assert [finding.name for finding in bad] == [name], bad
        return bad[0]

    return run
