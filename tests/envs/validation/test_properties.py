"""Whatever the settings: they are refused by name, or the users they give pass every rule of ``validate``."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemgym_envs.amemgym.dataset import build
from amemgym_envs.amemgym.generator import GeneratorConfig
from amemgym_envs.amemgym.languages import DIRECTNESS, wording
from amemgym_envs.amemgym.scenario import ScenarioError
from amemgym_envs.amemgym.validation import validate

MIXES = st.one_of(
    st.sampled_from([*DIRECTNESS, "mixed"]),
    st.dictionaries(st.sampled_from(DIRECTNESS), st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=1),
)
SHARES = st.sampled_from([0.0, 0.3, 1.0])


@st.composite
def given_settings(draw):
    """Settings that mostly hold: each key is drawn with regard to those that limit it, but not to all of them."""
    states, values = draw(st.integers(1, 3)), draw(st.integers(2, 3))
    variables = draw(st.integers(states, 9))
    language = draw(st.sampled_from(["en", "zh"]))
    domains = sorted({variable.domain for variable in wording(language).variables})
    return {
        "seed": draw(st.integers(0, 10**6)),
        "num_users": draw(st.integers(1, 3)),
        "split": draw(st.sampled_from(["train", "validation", "test", "all"])),
        "phrasings": draw(st.sampled_from(["train", "test", "all"])),
        "num_variables": variables,
        "num_periods": draw(st.integers(0, 4)),
        "num_questions": -(-variables // states) + draw(st.integers(0, 1)),
        "num_states_per_question": states,
        "num_changes_per_period": draw(st.integers(1, variables)),
        "max_changes_per_state": draw(st.integers(1, 3)),
        "num_choices": draw(st.integers(2, min(values**states, 9))),
        "states_per_session": draw(st.integers(1, 4)),
        "changes_per_session": draw(st.integers(1, 4)),
        "start_date": draw(st.dates().map(str)),
        "num_months_per_period": draw(st.integers(1, 5)),
        "user_offset": draw(st.sampled_from([0, 1, 1_000_000])),
        "language": language,
        "pool": draw(st.one_of(st.just(0), st.integers(variables, 12))),
        "disjoint": draw(st.sampled_from(["variables", "personas"])),
        "domains": draw(st.one_of(st.just([]), st.lists(st.sampled_from(domains), min_size=6, unique=True))),
        "num_choices_per_state": values,
        "rounds_init": draw(st.integers(1, 4)),
        "rounds_update": draw(st.integers(1, 4)),
        "difficulty": draw(MIXES),
        "noise_rounds": draw(st.integers(0, 2)),
        "target_tokens": draw(st.sampled_from([0, 0, 800, 2500, 5000])),
        "reply_tokens": draw(st.sampled_from([0, 30, 150])),
        "distractor_values": draw(SHARES),
        "contradictions": draw(SHARES),
    }


def test_settings_are_refused_or_give_valid_users(tmp_path):
    path, outcomes = tmp_path / "data.json", []

    @settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    @given(given_settings())
    def holds(keys):
        try:
            build(GeneratorConfig(**keys), path)
        except ScenarioError as error:
            outcomes.append("refused")
            assert str(error).startswith(("generator setting ", "no life found with "))
            return
        outcomes.append("valid")
        [report] = validate(path)
        assert [str(fault) for fault in report.violations] == []
        assert report.lacks == []
        items = json.loads(path.read_text())
        assert len(items) == keys["num_users"]
        told = {name: count for name, count in report.figures.items() if name in ("tokens per user", "longest user")}
        assert min(told.values()) >= keys["target_tokens"]

    holds()
    assert outcomes.count("valid") > 20 and "refused" in outcomes
