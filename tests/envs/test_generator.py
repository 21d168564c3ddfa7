"""Generated users: what must hold for every setting, seed and user."""

from collections import Counter
from dataclasses import replace
from datetime import datetime
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_envs.amemgym.generator import GeneratorConfig, generate
from amemgym_envs.amemgym.languages import phrased, wording
from amemgym_envs.amemgym.scenario import Scenario, ScenarioError, check

SMALL = GeneratorConfig(seed=3, num_users=3, num_variables=6, num_periods=3, num_questions=4, num_changes_per_period=2)
CONFIGS = [
    SMALL,
    GeneratorConfig(num_users=2),
    GeneratorConfig(num_users=2, split="test", phrasings="test", num_variables=18, num_changes_per_period=3, seed=1),
    GeneratorConfig(num_users=2, split="validation", num_variables=8, num_questions=5, num_changes_per_period=2, phrasings="all"),
    GeneratorConfig(num_users=2, num_states_per_question=1, num_questions=20, num_choices=3),
    GeneratorConfig(num_users=2, num_states_per_question=3, num_choices=10, num_periods=20, num_changes_per_period=3),
    GeneratorConfig(num_users=2, num_states_per_question=3, num_choices=4, num_questions=7, num_periods=5),
    GeneratorConfig(num_users=2, num_choices=5, states_per_session=3, changes_per_session=4, start_date="2024-01-31"),
    GeneratorConfig(num_users=2, num_questions=15, num_variables=7, num_changes_per_period=2),
    GeneratorConfig(num_users=2, split="all", num_variables=74, num_questions=37, phrasings="all", num_periods=1),
    replace(SMALL, num_periods=0),
]
LABELS = [f"config{i}" for i in range(len(CONFIGS))]
by_config = pytest.mark.parametrize("config", CONFIGS, ids=LABELS)


def lived(user: Scenario, question: int) -> set[tuple[str, ...]]:
    return {tuple(user.required_state(p, question).values()) for p in range(len(user.periods))}


def matches(carrier: str, text: str) -> bool:
    start, end = carrier.split("{topics}")
    return text.startswith(start) and text.endswith(end)


def assert_sound(config: GeneratorConfig, user: Scenario) -> None:
    """The invariants of one user; test_each_setting_gives_sound_users and the random settings below share them."""
    check(user)  # golden choice unique in every cell, states in the schema, updates follow from states
    assert len(user.state_schema) == config.num_variables
    assert len(user.periods) == config.num_periods + 1
    assert len(user.questions) == config.num_questions
    assert {name for q in user.questions for name in q.required_info} == set(user.state_schema)
    for q, question in enumerate(user.questions):
        states = [tuple(c.state) for c in question.answer_choices]
        assert len(set(question.required_info)) == len(question.required_info) == config.num_states_per_question
        assert len(states) == len(set(states)) == config.num_choices
        assert len({c.answer for c in question.answer_choices}) == config.num_choices
        assert {tuple(c.state) for c in question.answer_choices if c.type == "experience"} == lived(user, q)
        for choice in question.answer_choices:
            assert all(value in choice.answer for value in choice.state)
    counts: Counter[str] = Counter()
    for before, after in pairwise(user.periods):
        changed = {name for name in after.state if after.state[name] != before.state[name]}
        assert set(after.updates) == changed and len(changed) == config.num_changes_per_period
        counts.update(changed)
        assert after.update_cnts == {name: counts[name] for name in user.state_schema}
    if config.num_periods * config.num_changes_per_period <= config.num_variables:
        assert max(counts.values(), default=0) <= 1 or config.num_choices < 2**config.num_states_per_question


@by_config
def test_each_setting_gives_sound_users(config):
    users = generate(config)
    assert len({u.id for u in users}) == config.num_users
    for user in users:
        assert_sound(config, user)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.data())
def test_random_settings_give_sound_users(data):
    """Settings whose pools fit into the choices never fail; others may only be refused by a ScenarioError."""
    draw = data.draw
    states = draw(st.integers(1, 3))
    variables = draw(st.integers(states, 12))
    config = GeneratorConfig(
        seed=draw(st.integers(0, 10**6)),
        num_users=1,
        num_variables=variables,
        num_states_per_question=states,
        num_questions=draw(st.integers(-(-variables // states), 8 + variables)),
        num_choices=draw(st.integers(2**states, min(4**states, 12))),
        num_periods=draw(st.integers(0, 3)),
        num_changes_per_period=draw(st.integers(1, variables)),
        states_per_session=draw(st.integers(1, 5)),
        changes_per_session=draw(st.integers(1, 5)),
    )
    assert_sound(config, generate(config)[0])


@by_config
def test_each_state_is_exposed_once_when_it_changes(config):
    for user in generate(config):
        for p, period in enumerate(user.periods):
            exposed = [pair for s in period.sessions for pair in s.exposed_states.items()]
            assert sorted(exposed) == sorted((name, update["new"]) for name, update in period.updates.items())
            limit = config.changes_per_session if p else config.states_per_session
            assert all(1 <= len(s.exposed_states) <= limit for s in period.sessions)


@by_config
def test_an_opening_tells_exactly_its_exposed_values(config):
    for user in generate(config):
        values = {value for allowed in user.state_schema.values() for value in allowed}
        for period in user.periods:
            for session in period.sessions:
                assert {v for v in values if v in session.query} == set(session.exposed_states.values())


@by_config
def test_nothing_but_the_openings_tells_a_state(config):
    for user in generate(config):
        values = {value for allowed in user.state_schema.values() for value in allowed}
        said = [user.user_profile["formatted_str"], *(q.query for q in user.questions)]
        said += [p.period_summary or "" for p in user.periods] + [s.event or "" for p in user.periods for s in p.sessions]
        assert not [(v, text) for v in values for text in said if v in text.lower()]


@by_config
def test_sessions_are_dated_in_order_strictly_inside_their_period(config):
    for user in generate(config):
        assert user.periods[0].period_start is None and user.periods[0].period_end == user.start_time == config.start_date
        times = [datetime.fromisoformat(s.session_time) for p in user.periods for s in p.sessions]
        assert all(a < b for a, b in pairwise(times))
        for before, period in pairwise(user.periods):
            assert period.period_start == before.period_end
        for period in user.periods:
            for session in period.sessions:
                time = datetime.fromisoformat(session.session_time)
                assert time < datetime.fromisoformat(period.period_end)
                assert period.period_start is None or time > datetime.fromisoformat(period.period_start)


def test_the_same_settings_give_the_same_users():
    assert generate(SMALL) == generate(SMALL)
    assert generate(SMALL) != generate(replace(SMALL, seed=4))


def test_a_user_does_not_depend_on_how_many_there_are():
    many = generate(replace(SMALL, num_users=5))
    assert generate(SMALL) == many[:3]
    assert generate(replace(SMALL, num_users=2, user_offset=3)) == many[3:]


def test_a_user_of_other_settings_has_another_id():
    assert generate(SMALL)[0].id != generate(replace(SMALL, num_choices=6))[0].id


def test_splits_share_no_variable_value_or_phrasing():
    train = generate(GeneratorConfig(num_users=8))
    test = generate(GeneratorConfig(num_users=8, split="test", num_variables=18, num_changes_per_period=3, phrasings="test"))
    for part in (lambda u: set(u.state_schema), lambda u: {v for values in u.state_schema.values() for v in values}):
        assert not set.union(*map(part, train)) & set.union(*map(part, test))
    for phrasings, users in (("train", train), ("test", test)):
        asked = {w for w in wording().questions for u in users for q in u.questions if matches(w, q.query)}
        assert asked == set(phrased(wording().questions, phrasings))


@pytest.mark.parametrize("phrasings", ["train", "test"])
def test_users_speak_only_in_the_phrasings_asked_for(phrasings):
    variables = {v.name: v for v in wording().variables}
    for user in generate(replace(SMALL, num_users=6, phrasings=phrasings)):
        for p, period in enumerate(user.periods):
            for session in period.sessions:
                for name, value in session.exposed_states.items():
                    carriers = variables[name].changes if p else variables[name].says
                    said = [c for c in carriers if c.format(value=value) in session.query]
                    assert len(said) == 1 and said[0] in phrased(carriers, phrasings)


def test_choices_form_a_grid_so_that_none_stands_out():
    for user in generate(GeneratorConfig(num_users=4)):
        for question in user.questions:
            columns = [set(column) for column in zip(*(c.state for c in question.answer_choices), strict=True)]
            assert {tuple(c.state) for c in question.answer_choices} == set(product(*columns))


def test_the_golden_choice_has_no_favourite_place():
    users = generate(GeneratorConfig(num_users=20))
    places = Counter(u.golden(p, q) for u in users for p in range(11) for q in range(10))
    assert set(places) == {0, 1, 2, 3}
    assert all(0.2 < n / places.total() < 0.3 for n in places.values())


def test_changes_are_spread_evenly():
    for user in generate(GeneratorConfig(num_users=3)):
        counts = user.periods[-1].update_cnts.values()
        assert sum(counts) == 40 and max(counts) - min(counts) <= 1


REFUSED = [  # setting, value, the setting that the message names
    ("num_users", 0, "num_users: got 0, expected at least 1"),
    ("num_states_per_question", 0, "num_states_per_question: got 0"),
    ("num_choices", 17, "num_choices: got 17, expected at most 16"),
    ("num_variables", 21, "num_variables: got 21, expected at most .* so that each is asked"),
    ("num_questions", 9, "num_variables: got 20, expected at most .* so that each is asked"),
    ("num_changes_per_period", 21, "num_changes_per_period: got 21, expected at most num_variables"),
    ("num_states_per_question", 21, "num_states_per_question: got 21, expected at most num_variables"),
    ("split", "dev", "split: got 'dev', expected one of train"),
    ("phrasings", "dev", "phrasings: got 'dev', expected one of train"),
    ("language", "xx", "language is 'xx', expected one of en"),
    ("start_date", "October", "start_date: got 'October', expected a date"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED)
def test_settings_that_cannot_hold_are_refused_by_name(name, value, message):
    with pytest.raises(ScenarioError, match=message):
        GeneratorConfig(**{name: value})


def test_a_split_with_too_few_variables_is_refused():
    with pytest.raises(ScenarioError, match="num_variables: got 40, expected at most .* in split 'validation'"):
        GeneratorConfig(split="validation", num_variables=40, num_questions=20)
    with pytest.raises(ScenarioError, match="num_variables: got 20, expected at most .* in split 'train'"):
        GeneratorConfig(domains=("food", "home"))


def test_a_life_without_room_is_refused():
    """With two choices only one of three interlocked variables can move at all."""
    config = replace(SMALL, num_variables=3, num_questions=3, num_choices=2, num_changes_per_period=2, num_periods=2)
    with pytest.raises(ScenarioError, match="no life found with 2 changes in each of 2 periods and at most 2 combinations"):
        generate(config)


def test_a_variable_changes_beyond_the_preferred_number_only_when_no_other_can():
    tight = replace(SMALL, num_periods=4, max_changes_per_state=1)  # room for 6 changes within the preference, 8 asked for
    for user in generate(tight):
        assert max(user.periods[3].update_cnts.values()) == 1
        assert sorted(user.periods[4].update_cnts.values()) == [1, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "weights",
    [
        {"direct": True},
        {"event": float("inf")},
        {"event": float("nan")},
        {"direct": "1"},
        {"direct": -1},
        {"direct": 0},
        {},
        {"odd": 1},
        ["direct"],
        5,
    ]
    + [{"direct": 1e308, "event": 1e308}],
    ids=str,
)
def test_weights_of_difficulty_are_finite_numbers(weights):
    with pytest.raises(ScenarioError, match="difficulty: got .*, expected one of direct, indirect, event, mixed, or weights"):
        replace(SMALL, difficulty=weights)


@pytest.mark.parametrize("key", ["rounds_init", "rounds_update", "reply_tokens"])
def test_more_rounds_and_tokens_than_can_be_meant_are_refused(key):
    assert getattr(replace(SMALL, **{key: 100_000}), key) == 100_000
    with pytest.raises(ScenarioError, match=f"{key}: got 100001, expected at most 100000"):
        replace(SMALL, **{key: 100_001})
