from collections import Counter
from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st

from amemgym_train.reflection.pareto import best_for, draw, front

USERS = ["ann", "bob", "cyd"]
OF_USERS = st.tuples(*[st.integers(0, 3)] * 3).map(lambda scores: dict(zip(USERS, scores, strict=True)))
SCORES = st.dictionaries(st.integers(0, 6), OF_USERS, min_size=1)


@given(SCORES, st.integers(1, 5))
def test_the_kept_are_best_for_somebody_and_none_beats_another_everywhere(scores, keep):
    kept = front(scores, keep)
    assert 1 <= len(kept) <= keep
    assert fmean(scores[kept[0]].values()) == max(fmean(one.values()) for one in scores.values())
    wins = best_for(scores)
    assert all(wins[name] for name in kept[1:])
    for a in kept:
        assert not any(all(scores[b][user] >= scores[a][user] for user in USERS) for b in kept if b != a)


@given(SCORES)
def test_every_user_is_somebodys_best_case_while_there_is_room(scores):
    kept = front(scores, keep=len(scores))
    for user in USERS:
        top = max(one[user] for one in scores.values())
        assert any(scores[name][user] == top for name in kept)


def test_who_is_best_for_more_users_is_drawn_more_often_and_the_draw_is_fixed():
    scores = {"a": {"ann": 1, "bob": 1, "cyd": 0}, "b": {"ann": 0, "bob": 0, "cyd": 1}}
    drawn = Counter(draw(["a", "b"], scores, str(seed)) for seed in range(300))
    assert 1.5 < drawn["a"] / drawn["b"] < 2.7
    assert draw(["a", "b"], scores, "7") == draw(["a", "b"], scores, "7")
