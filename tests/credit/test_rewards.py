"""Every rule of the schemes on examples computed by hand, and the operation scheme against its definition on random lives."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit.canned import canned
from amemgym_train.credit.rewards import SCHEMES, Reward, rewarded
from amemgym_train.diagnosis.operations import diagnose

VALUES = ("red", "green", "blue")
TRUTH = {"cheese": "gouda", "tram": "nine"}
BOTH, CHEESE, TRAM = ("cheese", "tram"), ("cheese",), ("tram",)


def rewards(episode, **keys):
    """{slot: reward} of an episode."""
    given_ = rewarded(episode, diagnose(episode), CreditConfig(**keys))
    return {episode.turns[index].slot: reward for index, reward in given_.items()}


def values(episode, **keys):
    return {slot: None if reward is None else reward.value for slot, reward in rewards(episode, **keys).items()}


@pytest.fixture
def still(make_episode):
    """A life in which nothing changes after period 0; ``named[p]``: what every probe of period p names."""

    def make(named, writes, required=(BOTH,), **rest):
        periods = len(named)
        changed = [set(TRUTH)] + [set()] * (periods - 1)
        return make_episode([TRUTH] * periods, changed, required, [[{s: here.get(s) for s in states} for states in required]
                            for here in named], writes, **rest)  # fmt: skip

    return make


def test_a_write_earns_the_share_of_what_it_was_shown_that_is_known(still):
    writes = [(0, TRUTH, TRUTH, "strict")]
    assert values(still([TRUTH], writes))["write/p0/0"] == 1
    half = rewards(still([{"cheese": "gouda", "tram": "ten"}], writes))["write/p0/0"]
    assert half == Reward(0.5, "cheese known right after it; tram not known right after it")
    assert values(still([{}], writes))["write/p0/0"] == 0


def test_a_state_that_one_of_two_probes_gets_wrong_is_not_known(make_episode):
    named = [[{"cheese": "gouda"}, {"cheese": "brie"}]]
    episode = make_episode([TRUTH], [set(TRUTH)], [CHEESE, CHEESE], named, [(0, TRUTH, TRUTH, "strict")])
    assert values(episode)["write/p0/0"] == 0  # and the tram, which no probe asks for, is left out


def test_a_reply_that_cannot_be_read_costs_the_format_penalty(still):
    episode = still([{"cheese": "gouda"}], [(0, TRUTH, {}, "failed")])
    assert values(episode)["write/p0/0"] == pytest.approx(0.5 - 0.2)
    assert values(episode, format_penalty=0.75)["write/p0/0"] == pytest.approx(0.5 - 0.75)
    repaired = still([{"cheese": "gouda"}], [(0, TRUTH, {}, "repaired")])
    assert values(repaired)["write/p0/0"] == 0.5


def test_an_idle_write_has_no_signal_unless_it_cannot_be_read(still):
    idle = values(still([TRUTH], [(0, TRUTH, TRUTH, "strict"), (0, {}, TRUTH, "strict"), (0, {}, TRUTH, "failed")]))
    assert (idle["write/p0/0"], idle["write/p0/1"]) == (1, None)
    assert idle["write/p0/2"] == pytest.approx(-0.2)


def test_a_late_write_is_paid_by_the_probes_of_its_own_period(make_episode):
    told = {"cheese": "gouda"}
    life = [[told, told], [{"cheese"}, set()], [CHEESE]]
    late = make_episode(*life, [[{"cheese": None}], [told]], [(1, told, told, "strict")])
    assert values(late)["write/p1/0"] == 1
    late = make_episode(*life, [[{"cheese": None}], [{"cheese": "brie"}]], [(1, told, {}, "strict")])
    assert values(late)["write/p1/0"] == 0


def test_a_write_of_what_has_changed_by_then_has_no_signal(make_episode):
    named = [[{"cheese": "gouda"}], [{"cheese": "brie"}]]
    life = [[{"cheese": "gouda"}, {"cheese": "brie"}], [{"cheese"}, {"cheese"}], [CHEESE], named]
    stale = make_episode(*life, [(1, {"cheese": "gouda"}, {}, "strict"), (1, {"cheese": "brie"}, {}, "strict")])
    assert (values(stale)["write/p1/0"], values(stale)["write/p1/1"]) == (None, 1)


def test_a_late_write_that_lets_a_known_state_go_pays_for_it_once(make_episode):
    told = {"cheese": "gouda"}  # known in period 0 from the messages themselves
    writes = [(1, told, {}, "strict"), (1, {}, {}, "strict")]
    late = make_episode([told, told], [{"cheese"}, set()], [CHEESE], [[told], [{"cheese": None}]], writes)
    assert (values(late)["write/p1/0"], values(late)["write/p1/1"]) == (0, None)


def test_a_loss_is_charged_to_the_write_that_made_it(still):
    one_gone = {"cheese": "gouda"}
    writes = [
        (0, TRUTH, TRUTH, "strict"),
        (1, {}, TRUTH, "strict"),
        (1, {}, one_gone, "strict"),
        (1, {}, one_gone, "strict"),
    ]
    found = rewards(still([TRUTH, one_gone], writes))
    assert [found[f"write/p1/{i}"] for i in (0, 2)] == [None, None]
    assert found["write/p1/1"] == Reward(-0.2, "tram lost")
    assert found["write/p0/0"].value == 1
    assert values(still([TRUTH, one_gone], writes), retention_penalty=0.5)["write/p1/1"] == -0.5


def test_a_loss_comes_on_top_of_what_the_write_was_shown(make_episode):
    values_ = [TRUTH, TRUTH | {"cheese": "brie"}]
    named = [[dict(TRUTH)], [{"cheese": "brie", "tram": None}]]
    writes = [(0, TRUTH, TRUTH, "strict"), (1, {"cheese": "brie"}, {"cheese": "brie"}, "strict")]
    found = rewards(make_episode(values_, [set(TRUTH), {"cheese"}], [BOTH], named, writes))
    assert found["write/p1/0"].value == pytest.approx(1 - 0.2)
    assert found["write/p1/0"].reason == "cheese known right after it; tram lost"


def test_a_read_earns_the_share_of_what_was_known_once(still):
    written = [(0, TRUTH, TRUTH, "strict")]
    read = [values(still([TRUTH, now], written))["read/p1/q0"] for now in (TRUTH, {"cheese": "gouda"}, {})]
    assert read == [1, 0.5, 0]


def test_a_state_unknown_at_its_write_is_not_the_reads_fault(still):
    found = rewards(still([{"cheese": "gouda"}, {"cheese": "gouda", "tram": "nine"}], [(0, TRUTH, TRUTH, "strict")]))
    assert found["read/p1/q0"] == Reward(1, "cheese named right")
    never = values(still([{}, {"cheese": "gouda"}], [(0, TRUTH, TRUTH, "strict")]))
    assert never["read/p1/q0"] is None


def test_in_the_period_of_the_write_a_read_is_never_blamed(still):
    read = [values(still([now], [(0, TRUTH, TRUTH, "strict")]))["read/p0/q0"] for now in (TRUTH, {"cheese": "gouda"}, {})]
    assert read == [1, 1, None]


@pytest.mark.parametrize(
    ("named", "agrees", "reward"),
    [
        (TRUTH, {"cheese": True, "tram": True}, 1),
        (TRUTH, {"cheese": True, "tram": False}, 0.5),
        (TRUTH, {"cheese": False, "tram": False}, 0),  # a reply that cannot be read has nothing right either
        ({"tram": "nine"}, {"cheese": True, "tram": False}, 0),  # what was not known was luck
        ({"tram": "nine"}, {"cheese": False, "tram": True}, 1),
        ({}, {"cheese": True, "tram": True}, None),
    ],
)
def test_an_answer_is_paid_for_what_it_uses_of_what_is_known(still, named, agrees, reward):
    episode = still([named], [(0, TRUTH, TRUTH, "strict")], right=[[all(agrees.values())]])
    (answer,) = episode.answers
    answer.agrees = agrees
    assert values(episode)["answer/p0/q0"] == reward
    if reward == 0.5:
        assert rewards(episode)["answer/p0/q0"].reason == "cheese used; tram known, not used"


def test_where_a_choice_cannot_be_taken_apart_its_states_must_all_be_known(still):
    for known, right, reward in [(TRUTH, True, 1), (TRUTH, False, 0), ({"tram": "nine"}, True, None), ({}, False, None)]:
        episode = still([known], [(0, TRUTH, TRUTH, "strict")], right=[[right]])
        assert values(episode)["answer/p0/q0"] == reward


def test_outcome_pays_every_trained_turn_the_share_of_right_answers(still):
    episode = still([TRUTH] * 2, [(0, TRUTH, TRUTH, "strict")], required=(BOTH, TRAM), right=[[True, False], [True, True]])
    found = rewards(episode, scheme="outcome")
    assert set(found.values()) == {Reward(0.75, "3 of 4 answers right")}
    assert set(found) == {turn.slot for turn in episode.turns if turn.operation != "respond"}


def test_blend_sums_both_and_keeps_the_outcomes_share_where_the_operation_is_silent(still):
    episode = still([TRUTH, {}], [(0, TRUTH, TRUTH, "strict")], right=[[True], [False]])
    found = rewards(episode, scheme="blend", operation_share=0.25)
    assert found["write/p0/0"] == Reward(0.25 * 1 + 0.75 * 0.5, "cheese, tram known right after it; 1 of 2 answers right")
    assert found["answer/p1/q0"] == Reward(0.75 * 0.5, "1 of 2 answers right")
    assert found["read/p1/q0"].value == 0.75 * 0.5  # an operation that earned 0


@pytest.mark.parametrize("scheme", sorted(set(SCHEMES) - {"return"}))
@pytest.mark.parametrize("operations", [["write"], ["read", "answer"], ["write", "read", "answer"]])
def test_only_the_operations_of_the_recipe_are_paid(scheme, operations):
    for episode in canned():
        found = rewarded(episode, diagnose(episode), CreditConfig(scheme=scheme, operations=operations))
        every = rewarded(episode, diagnose(episode), CreditConfig(scheme=scheme))
        assert found == {index: reward for index, reward in every.items() if episode.turns[index].operation in operations}
        assert list(found) == sorted(found) and found


def test_the_canned_episodes_are_what_their_names_say():
    right, write, form = canned()
    assert {cell.outcome for cell in diagnose(right).cells} == {"correct"}
    assert [cell.outcome for cell in diagnose(write).cells] == ["correct", "correct", "write", "correct"]
    assert {cell.outcome for cell in diagnose(form).cells} == {"write"}
    assert values(write)["write/p1/0"] == 0 and values(form)["write/p0/0"] == -0.2
    assert [turn.meta["parsed"] for turn in form.turns if turn.operation == "write"] == ["failed", "strict"]
    assert len({episode.id for episode in canned()}) == 3


@st.composite
def lives(draw):
    """Arguments of ``make_episode``: an agent that is right by chance, writes each change at once, and forgets by chance."""
    states = [f"s{i}" for i in range(draw(st.integers(1, 3)))]
    periods = draw(st.integers(1, 4))
    truth, changed = [{s: draw(st.sampled_from(VALUES)) for s in states}], [set(states)]
    for _ in range(1, periods):
        changed.append(set(draw(st.lists(st.sampled_from(states), unique=True))))
        truth.append(
            truth[-1] | {s: draw(st.sampled_from([v for v in VALUES if v != truth[-1][s]])) for s in sorted(changed[-1])}
        )
    required = draw(st.lists(st.lists(st.sampled_from(states), unique=True, min_size=1), min_size=1, max_size=3))
    named = [
        [{s: draw(st.sampled_from([truth[p][s], truth[p][s], None, *VALUES])) for s in asked} for asked in required]
        for p in range(periods)
    ]
    writes, notes = [], {}
    for p in range(periods):
        told = sorted(changed[p])
        cut = draw(st.integers(0, len(told)))
        for part in (told[:cut], told[cut:]):  # two writes a period, of which one may be shown nothing
            exposed = {s: truth[p][s] for s in part}
            forgotten = draw(st.lists(st.sampled_from(states), unique=True, max_size=1))
            notes = {label: value for label, value in (notes | exposed).items() if label not in forgotten}
            writes.append((p, exposed, draw(st.sampled_from([notes, notes, None])), draw(st.sampled_from(["strict", "failed"]))))
    right = [[draw(st.booleans()) for _ in required] for _ in range(periods)]
    return truth, changed, required, named, writes, right


def knowledge(truth, required, named):
    """known[p][s]: whether all probes of s at p are right; no entry where none asks for it."""
    known = defaultdict(dict)
    for p, row in enumerate(named):
        for asked, reply in zip(required, row, strict=True):
            for s in asked:
                known[p][s] = known[p].get(s, True) and reply[s] == truth[p][s]
    return known


def lost_by(reward):
    """The states that a reward's reason says were lost."""
    parts = [] if reward is None else reward.reason.split("; ")
    return {state for part in parts if part.endswith(" lost") for state in part.removesuffix(" lost").split(", ")}


@settings(max_examples=150, deadline=None)
@given(life=lives())
def test_a_write_earns_1_just_when_nothing_it_was_shown_failed_and_nothing_was_lost(make_episode, life):
    truth, changed, required, named, writes, _ = life
    episode = make_episode(*life)
    diagnosis, known = diagnose(episode), knowledge(truth, required, named)
    failures = {(cell.period, state) for cell in diagnosis.cells for state in cell.write_failures}
    found = rewarded(episode, diagnosis, CreditConfig())
    for index, turn in enumerate(episode.turns):
        if turn.operation != "write" or turn.meta["parsed"] == "failed":
            continue
        p = turn.meta["period"]
        shown = {s for s in turn.meta["exposed"] if s in known[p]}
        gone = {s for s, now in known[p].items() if p and known[p - 1].get(s) and not now and s not in changed[p]}
        failed = {s for s in shown if (p, s) in failures}
        if shown and not gone:
            assert found[index].value == pytest.approx(1 - len(failed) / len(shown))
            assert (found[index].value == 1) == (not failed)
        elif not shown and not gone:
            assert found[index] is None
        charged = lost_by(found[index])
        assert charged <= gone
        assert not charged or found[index].value == pytest.approx(
            (1 - len(failed) / len(shown) if shown else 0) - 0.2 * len(charged)
        )
    for p in known:  # each loss is charged to someone
        gone = {s for s, now in known[p].items() if p and known[p - 1].get(s) and not now and s not in changed[p]}
        writes = [reward for i, reward in found.items() if episode.turns[i].slot.startswith(f"write/p{p}/")]
        assert set().union(*map(lost_by, writes)) == gone


@settings(max_examples=150, deadline=None)
@given(life=lives())
def test_reads_and_answers_agree_with_the_definition(make_episode, life):
    truth, changed, required, named, _, right = life
    episode = make_episode(*life)
    found = values(episode)
    for p in range(len(truth)):
        for q, asked in enumerate(required):
            known = {s: named[p][q][s] == truth[p][s] for s in asked}
            at_write = []
            for s in asked:
                w = max(w for w in range(p + 1) if s in changed[w])
                at_write += [s] if named[w][q][s] == truth[w][s] else []
            share = sum(known[s] for s in at_write) / len(at_write) if at_write else None
            assert found[f"read/p{p}/q{q}"] == share
            assert found[f"answer/p{p}/q{q}"] == (float(right[p][q]) if all(known.values()) else None)
