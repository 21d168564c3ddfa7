import json

import pytest

from amemgym_envs.amemgym.dataset import save
from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.validation import validate

SMALL = {"seed": 7, "num_users": 3, "num_variables": 6, "num_periods": 3, "num_questions": 4, "num_changes_per_period": 2}
NOISY = GeneratorConfig(**SMALL, noise_rounds=1, target_tokens=8000, difficulty="mixed")


@pytest.fixture
def noisy() -> GeneratorConfig:
    """Three users who speak in every way there is, with off-topic messages and sessions."""
    return NOISY


@pytest.fixture
def items(tmp_path, noisy) -> list[dict]:
    """The users of ``noisy`` as JSON, valid and ready to be spoilt."""
    path = tmp_path / "unspoilt" / "data.json"
    save(generate(noisy), path, {})
    [report] = validate(path)
    assert report.valid and report.lacks == []
    return json.loads(path.read_text())


@pytest.fixture
def validated(tmp_path):
    """Writes items, without a manifest, and validates them."""

    def run(items, **options):
        path = tmp_path / "data.json"
        path.write_text(json.dumps(items, ensure_ascii=False))
        [report] = validate(path, **options)
        return report

    return run


@pytest.fixture
def item(items):
    """The second of three items: the one that is spoilt."""
    return items[1]


@pytest.fixture
def found(items, item, validated):
    """Validates the items; {(period, field): problems} of the spoilt one. The others must still be right."""

    def run():
        violations = validated(items).violations
        assert {fault.item for fault in violations} <= {item["id"]}
        problems = {}
        for fault in violations:
            place = fault.period, fault.field
            problems[place] = f"{problems[place]}; {fault.problem}" if place in problems else fault.problem
        return problems

    return run


@pytest.fixture
def session():
    """(field, session) of the first session of a period that tells something, or that does not."""

    def first(item, telling, p=2):
        sessions = item["periods"][p]["sessions"]
        s = next(i for i, s in enumerate(sessions) if bool(s["exposed_states"]) == telling)
        return f"periods[{p}].sessions[{s}]", sessions[s]

    return first


@pytest.fixture
def another():
    """A value of a state that is none of the given ones."""
    return lambda item, name, *values: next(value for value in item["state_schema"][name] if value not in values)
