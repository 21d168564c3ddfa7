"""Rules of the wording file: what a held-out or leaked word would break silently."""

import re
from collections import Counter

import pytest

from amemgym_envs.amemgym.errors import ScenarioError
from amemgym_envs.amemgym.templates import SPLITS, Variable, phrased, wording

WORDING = wording()
VARIABLES = WORDING.variables
NEUTRAL = [
    *WORDING.openers,
    *WORDING.news_openers,
    *WORDING.follow_ups,
    *WORDING.questions,
    *(text for texts in WORDING.personas.values() for text in texts),
]


def texts(variable: Variable) -> list[str]:
    return [variable.name, variable.asks, *variable.says, *variable.changes, *variable.advice]


def test_there_are_enough_variables_domains_and_splits():
    assert len(VARIABLES) >= 60
    assert len({v.domain for v in VARIABLES}) >= 10
    sizes = Counter(v.split for v in VARIABLES)
    assert sizes["train"] >= 36 and sizes["validation"] >= 8 and sizes["test"] >= 14
    for split in SPLITS:
        assert len({v.domain for v in WORDING.split(split)}) >= 5


def test_splits_are_disjoint_and_cover_everything():
    parts = [{v.name for v in WORDING.split(s)} for s in SPLITS]
    assert sum(len(p) for p in parts) == len(set.union(*parts)) == len(WORDING.split("all"))


def test_names_and_values_are_plain_short_lowercase_words():
    for v in VARIABLES:
        for text in (v.name, *v.values):
            assert re.fullmatch(r"[a-z]+( [a-z]+)?", text), text


def test_names_are_unique_and_share_no_word():
    assert len({v.name for v in VARIABLES}) == len(VARIABLES)
    shared = {w: n for w, n in Counter(w for v in VARIABLES for w in v.name.split()).items() if n > 1}
    assert shared == {}


def test_no_value_contains_or_equals_another():
    values = [value for v in VARIABLES for value in v.values]
    for value in values:
        assert [other for other in values if value in other] == [value]


def test_a_value_occurs_in_no_text_of_the_file():
    for v in VARIABLES:
        for value in v.values:
            for other in VARIABLES:
                assert not [t for t in texts(other) if value in t.lower()], (value, other.name)
            assert not [t for t in NEUTRAL if value in t.lower()], value


@pytest.mark.parametrize("variable", VARIABLES, ids=lambda v: v.name)
def test_carriers_name_their_topic_and_stay_short(variable):
    for carrier in (*variable.says, *variable.changes):
        missing = set(variable.name.split()) - set(re.findall(r"[a-z]+", carrier.lower()))
        assert not missing, carrier
        assert len(carrier.split()) <= 17, carrier  # a value may have two words
        assert not carrier.startswith("{value}"), carrier  # a sentence begins with a capital, a value never does
        assert carrier[0].isupper() and carrier.endswith("."), carrier
    assert set(variable.name.split()) <= set(variable.asks.split())
    for carrier in variable.advice:
        assert len(carrier.split()) <= 7 and carrier[0].islower(), carrier


def test_no_carrier_is_listed_twice_in_one_variable():
    for v in VARIABLES:
        carriers = [*v.says, *v.changes, *v.advice]
        assert len(set(carriers)) == len(carriers), v.name


def test_no_article_a_meets_a_vowel():
    for v in VARIABLES:
        for value in v.values:
            for carrier in (*v.says, *v.changes, *v.advice):
                assert not re.search(r"\ba [aeio]", carrier.format(value=value)), carrier.format(value=value)


def test_held_out_phrasings_are_the_last_third():
    says = VARIABLES[0].says
    assert phrased(says, "train") == says[:4] and phrased(says, "test") == says[4:] and phrased(says, "all") == says
    assert phrased(VARIABLES[0].changes, "test") == VARIABLES[0].changes[2:]


def test_questions_take_topics():
    assert all(q.count("{topics}") == 1 for q in WORDING.questions)


def test_unknown_language_and_split_name_the_choices():
    with pytest.raises(ScenarioError, match="language is 'xx', expected one of en"):
        wording("xx")
    with pytest.raises(ScenarioError, match="split is 'dev', expected one of train"):
        WORDING.split("dev")


def test_a_carrier_without_its_placeholder_is_refused():
    good = {f: getattr(VARIABLES[0], f) for f in VARIABLES[0].__dataclass_fields__}
    with pytest.raises(ScenarioError, match="'coffee order': advice entry 'drink it'"):
        Variable(**{**good, "advice": ("drink it", "get {value}")})
    with pytest.raises(ScenarioError, match="'coffee order': values has 1 entries, expected 4"):
        Variable(**{**good, "values": ("tea",)})
