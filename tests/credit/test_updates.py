"""Which rows an update sees: every row once in each epoch, and the same ones whichever process holds them."""

from hypothesis import given
from hypothesis import strategies as st

from amemgym_train.credit.rows import PADDING
from amemgym_train.credit.updates import dealt, minibatches, starts_of
from amemgym_train.rollout.records import Row


@given(st.lists(st.integers(1, 7), min_size=1, max_size=6), st.integers(1, 4), st.integers(0, 9), st.data())
def test_minibatches_are_the_same_whatever_process_holds_an_episode(sizes, parts, seed, data):
    names = [(f"e{e}", f"s{i}") for e, n in enumerate(sizes) for i in range(n)]
    rows = [Row([1, 2], [0, 1], [0.0, 0.0], "answer", slot, episode, "g", "v") for episode, slot in names]
    counts = [(f"e{e}", n) for e, n in enumerate(sizes)]
    starts = starts_of(counts, f"{seed}")
    assert starts == starts_of(counts[::-1], f"{seed}")
    made = minibatches(rows, starts, parts, f"{seed}")
    assert sorted((row.episode, row.slot) for part in made for row in part) == sorted((row.episode, row.slot) for row in rows)
    assert max(map(len, made)) - min(map(len, made)) <= 1
    for part in made:
        for e, n in enumerate(sizes):
            assert sum(row.episode == f"e{e}" for row in part) in (n // parts, -(-n // parts))
    first = data.draw(st.sets(st.sampled_from(range(len(sizes)))))
    shares = [[row for row in rows if (int(row.episode[1:]) in first) is held] for held in (True, False)]
    apart = [minibatches(share, starts, parts, f"{seed}") for share in shares]
    for part, one, other in zip(made, *apart, strict=True):
        assert {(row.episode, row.slot) for row in part} == {(row.episode, row.slot) for row in one + other}


def test_every_epoch_sees_every_row_once_and_in_an_order_of_its_own():
    rows = [Row([1, i], [0, 1], [0.0, 0.0], "answer", f"s{i}", f"e{i % 3}", "g", "v") for i in range(11)]
    batches = dealt(rows, gather=list, seed="0/4", epochs=2, parts=3, per_batch=2, batches=2)
    assert len(batches) == 2 * 3 * 2 and all(len(batch) == 2 for batch in batches)
    seen = [[row.slot for batch in batches[start : start + 6] for row in batch if row is not PADDING] for start in (0, 6)]
    assert sorted(seen[0]) == sorted(seen[1]) == sorted(row.slot for row in rows)
    parts = [{frozenset(row.slot for batch in batches[k : k + 2] for row in batch) for k in range(s, s + 6, 2)} for s in (0, 6)]
    assert parts[0] != parts[1]
