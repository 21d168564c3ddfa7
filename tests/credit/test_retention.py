"""Who is charged for a state that was known and is no more."""

import pytest

from amemgym_train.credit.retention import losses

TOLD = {"cheese": "gouda"}


@pytest.fixture
def charged(make_episode):
    """The numbers of the writes of period 1 that are charged; ``after``: the notes after each of them (None: no snapshot)."""

    def make(after, before=TOLD, then=TOLD, now=None, changed=(), told=None):
        now = {"cheese": None} if now is None else now
        told = told or [{}] * len(after)
        truth = [TOLD, {"cheese": "brie"} if changed else TOLD]
        writes = [(0, TOLD, before, "strict")]
        writes += [(1, shown, notes, "strict") for shown, notes in zip(told, after, strict=True)]
        episode = make_episode(truth, [{"cheese"}, set(changed)], [("cheese",)], [[then], [now]], writes)
        found = losses(episode)
        assert all(states == ["cheese"] for states in found.values())
        return [int(episode.turns[index].slot.rpartition("/")[2]) for index in sorted(found)]

    return make


def test_the_write_after_which_the_value_is_gone_is_charged(charged):
    assert charged([TOLD, {}, {}]) == [1]
    assert charged([{"cheese": "brie"}, {}]) == [0]
    assert charged([{}]) == [0]
    assert charged([{}, TOLD, {}]) == [0, 2]  # lost twice


def test_a_value_is_held_by_any_entry_that_contains_it_in_any_case(charged):
    assert charged([{"snack": "old Gouda from the market"}, {"snack": "old"}]) == [1]


def test_where_the_snapshots_do_not_tell_every_write_of_the_period_is_charged(charged):
    assert charged([TOLD, TOLD]) == [0, 1]  # still noted, yet unknown
    assert charged([None, None], before=None) == [0, 1]
    assert charged([{}, {}], before={}) == [0, 1]  # known, yet never noted


def test_a_late_write_of_the_state_itself_leaves_others_out_of_it(charged):
    assert charged([{}, {}], before={}, told=[TOLD, {}]) == []
    assert charged([TOLD, {}], before={}, told=[TOLD, {}]) == [1]  # it was saved, and then lost


def test_nothing_was_lost(charged):
    assert charged([{}, {}], now=TOLD) == []  # still known
    assert charged([{}, {}], then={"cheese": None}) == []  # never known
    assert charged([{}, {}], changed={"cheese"}) == []  # changed since
    assert charged([]) == []  # nobody wrote


def test_a_loss_is_charged_once_and_not_again_in_the_next_period(make_episode):
    named = [[TOLD], [{"cheese": None}], [{"cheese": None}]]
    writes = [(0, TOLD, TOLD, "strict"), (1, {}, {}, "strict"), (2, {}, {}, "strict")]
    episode = make_episode([TOLD] * 3, [{"cheese"}, set(), set()], [("cheese",)], named, writes)
    assert [episode.turns[index].slot for index in losses(episode)] == ["write/p1/0"]
