"""Whatever a model says, a user ends as a checked scenario or as a failure with a reason."""

import json
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from amemgym_envs.amemgym.llm import WriterFailure
from amemgym_envs.amemgym.scenario import check

KEYS = ["questions", "info_types", "name", "values", "groups", "members", "answers", "answer", "combination", "query", "event"]
VALUES = (
    st.none() | st.booleans() | st.integers(-1, 5) | st.text(max_size=12) | st.sampled_from(["a_b", "\ud800", "{x}", "old_car"])
)
SHAPED = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
)
JUNK = (
    st.text(max_size=60)
    | SHAPED.map(json.dumps)
    | st.just('{"a":' * 3000 + "1" + "}" * 3000)
    | st.just('{"answer": ' + "9" * 6000 + "}")
)


@pytest.fixture
def outcome(run, chatter, settings):
    """What becomes of user 0 when the model says ``speak(messages)``."""

    def outcome(speak):
        with tempfile.TemporaryDirectory() as work:
            [(_, result)], writer = run(chatter(speak), Path(work), max_tries=2, max_resamples=2)
        assert writer.report.lines() and json.dumps(writer.report.to_dict())
        return result

    return outcome


def assert_ended(result):
    if isinstance(result, WriterFailure):
        assert result.stage and result.reason and str(result).startswith("user 0 failed at stage ")
    else:
        check(result)


FEW = hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SEEDS, RATES = st.integers(0, 2**32), st.sampled_from([2, 10, 40, 200])


@FEW
@given(st.lists(JUNK, min_size=1, max_size=5), SEEDS)
def test_nothing_but_junk(outcome, junk, seed):
    pick = Random(seed)
    result = outcome(lambda messages: pick.choice(junk))
    assert isinstance(result, WriterFailure)
    assert_ended(result)


@FEW
@given(st.lists(JUNK, min_size=1, max_size=5), SEEDS, RATES)
def test_junk_now_and_then(outcome, model, junk, seed, rate):
    """Late stages meet junk too: it comes between the replies of the transcript's model."""
    pick = Random(seed)
    assert_ended(outcome(lambda m: pick.choice(junk) if pick.random() < 1 / rate else model(m)))


@FEW
@given(st.lists(VALUES, min_size=1, max_size=5), SEEDS, RATES)
def test_wrong_guesses_and_values(outcome, model, values, seed, rate):
    """Replies keep their form, but some of their leaves are replaced and some of their lists cut."""
    pick = Random(seed)

    def bent(value):
        if isinstance(value, dict):
            return {key: bent(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [bent(entry) for entry in value][: 1 if pick.random() < 1 / rate else None]
        return pick.choice(values) if pick.random() < 1 / rate else value

    assert_ended(outcome(lambda messages: bent(model(messages))))


def test_every_stage_may_be_the_one_that_fails(outcome, model, stage_of):
    """The reason of a failure names the stage that brought it about."""
    failed = {}
    for stage in ("propose", "merge", "unify", "answers", "check_answer", "introduce", "period", "query", "check_query"):
        result = outcome(lambda m, s=stage: "" if stage_of({"messages": m}) == s else model(m))
        failed[stage] = result.stage
    assert failed == {
        **{stage: stage for stage in ("propose", "merge", "unify", "answers", "introduce", "period")},
        **{"check_answer": "answers", "query": "queries", "check_query": "queries"},
    }
