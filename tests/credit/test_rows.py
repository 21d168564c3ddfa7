"""Rows: what they weigh must not depend on how they are cut, merged, dropped, dealt or padded."""

import math
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit.records import Reward
from amemgym_train.credit.rows import PADDING, deal, merged, rows_of, without_zeros
from amemgym_train.rollout.records import Episode, Row, Turn

CONFIGS = {loss: CreditConfig(loss=loss) for loss in ("grpo", "dapo", "dr_grpo")}
LONGEST = 7
TOKENS = st.integers(1, 3)  # few, so that prompts agree by chance, too


@st.composite
def played(draw, name="e"):
    """(episode, rewards, advantages): calls that start anew or go on from an earlier one, some without signal or tokens."""
    turns, rewards, advantages = [], {}, {}
    for index in range(draw(st.integers(1, 8))):
        operation = draw(st.sampled_from(["respond", "write", "write", "read", "answer"]))
        start = draw(st.sampled_from(["anew", "on", "on", "on the one before"]))
        earlier = turns[-1:] if start == "on" else turns[-2:-1] if start == "on the one before" else []
        context = [i for turn in earlier for i in turn.prompt_ids + turn.completion_ids]
        prompt = context + draw(st.lists(TOKENS, max_size=3)) or [9]
        completion = draw(st.lists(TOKENS, max_size=4))
        logprobs = [-(index + 1) - i / 10 for i in range(len(completion))]
        meta = {"policy_version": draw(st.sampled_from(["a", "a", "a", "b"]))}
        turns.append(Turn(prompt, completion, logprobs, "", "stop", operation, f"{operation}/p0/{index}", meta))
        if operation != "respond":
            value = draw(st.one_of(st.none(), st.sampled_from([0.0, 1.0, -0.2])))
            rewards[index] = None if value is None else Reward(value, f"turn {index}")
            advantages[index] = 0.0 if value is None else draw(st.sampled_from([0.0, 0.5, -1.25]))
    return Episode("env", name, 0, f"group {name}", turns=turns), rewards, advantages


def rows(case, loss="grpo"):
    return rows_of(*case, CONFIGS[loss], LONGEST)


def tokens(found):
    """What the loss sees of each learned token: its whole context, itself, and everything that scales it."""
    seen = Counter()
    for row in found:
        for i, learned in enumerate(row.mask):
            if learned:
                key = (row.episode, row.policy_version, tuple(row.ids[: i + 1]), row.logprobs[i])
                seen[*key, row.advantages[i], row.weights[i]] += 1
    return seen


def total(found):
    return sum(w * a for row in found for w, a in zip(row.weights, row.advantages, strict=True))


def weight(found):
    return sum(sum(row.weights) for row in found)


@given(case=played())
def test_an_episode_counts_once_whatever_its_number_of_calls(case):
    episode, rewards, _ = case
    turns = [episode.turns[i] for i, reward in rewards.items() if reward is not None and episode.turns[i].completion_ids]
    lengths = [len(turn.completion_ids) for turn in turns]
    for loss in CONFIGS:
        found = rows(case, loss)
        assert [row.slot for row in found] == [turn.slot for turn in turns]
        if not turns:
            continue
        expected = 1 if loss != "dr_grpo" else sum(lengths) / (len(lengths) * LONGEST)
        assert weight(found) == pytest.approx(expected)
        for row, turn, length in zip(found, turns, lengths, strict=True):
            per_token = {"grpo": 1 / (len(turns) * length), "dapo": 1 / sum(lengths), "dr_grpo": 1 / (len(turns) * LONGEST)}[loss]
            assert row.weights == [0.0] * len(turn.prompt_ids) + [per_token] * length
    if turns:  # grpo: calls weigh the same; dapo: tokens do
        assert [sum(row.weights) for row in rows(case, "grpo")] == pytest.approx([1 / len(turns)] * len(turns))


@given(case=played())
def test_rows_are_turns_as_they_were_drawn(case):
    episode, rewards, advantages = case
    by_slot = {turn.slot: (i, turn) for i, turn in enumerate(episode.turns)}
    for row in rows(case):
        index, turn = by_slot[row.slot]
        assert row.ids == turn.prompt_ids + turn.completion_ids
        assert row.mask == [0] * len(turn.prompt_ids) + [1] * len(turn.completion_ids)
        assert row.logprobs == [0.0] * len(turn.prompt_ids) + turn.logprobs
        assert row.advantage == [advantages[index] * m for m in row.mask]
        assert (row.operation, row.episode, row.group) == (turn.operation, episode.id, episode.group)
        assert row.reason == rewards[index].reason


@settings(max_examples=300)
@given(
    cases=st.lists(st.integers(0, 2), min_size=1, max_size=3).flatmap(lambda ns: st.tuples(*(played(str(n)) for n in set(ns))))
)
def test_merging_changes_no_token_of_the_loss(cases):
    for loss in CONFIGS:
        made = [row for case in cases for row in rows(case, loss)]
        joined = merged(made)
        assert tokens(joined) == tokens(made)
        assert total(joined) == pytest.approx(total(made), abs=1e-12)
        assert weight(joined) == pytest.approx(weight(made))
        assert sum(len(row.ids) for row in joined) <= sum(len(row.ids) for row in made)
        assert merged(joined) == joined
        assert [slot for row in joined for slot in row.slot.split(" + ")] == [row.slot for row in made]
        for one, two in zip(joined, joined[1:], strict=False):  # whatever could be merged was
            prompt = two.ids[: two.mask.index(1)]
            same = (one.episode, one.policy_version) == (two.episode, two.policy_version)
            assert not (same and prompt[: len(one.ids)] == one.ids)


@given(case=played())
def test_dropping_rows_without_advantage_changes_no_sum_and_no_other_weight(case):
    for loss in CONFIGS:
        made = rows(case, loss)
        for before in (made, merged(made)):
            kept = without_zeros(before)
            assert total(kept) == total(before)
            assert kept == [row for row in before if any(a != 0 for a in row.advantages)]
        assert total(merged(without_zeros(made))) == pytest.approx(total(made), abs=1e-12)


@given(
    cases=st.tuples(played("0"), played("1"), played("2")),
    ranks=st.integers(1, 4),
    per_batch=st.integers(1, 4),
    spare=st.one_of(st.none(), st.integers(0, 2)),
    seed=st.integers(0, 9),
)
def test_every_row_is_dealt_once_and_every_rank_gets_as_many(cases, ranks, per_batch, spare, seed):
    made = merged([row for case in cases for row in rows(case)])
    needed = max(1, math.ceil(len(made) / (ranks * per_batch)))
    batches = None if spare is None else needed + spare
    dealt = deal(made, ranks, per_batch, batches)
    assert [len(rank) for rank in dealt] == [batches or needed] * ranks
    assert {len(batch) for rank in dealt for batch in rank} == {per_batch}
    flat = [row for rank in dealt for batch in rank for row in batch]
    real = [row for row in flat if row.slot != "padding"]
    assert sorted(map(id, real)) == sorted(map(id, made))
    assert len(flat) - len(real) == flat.count(PADDING)
    assert total(flat) == pytest.approx(total(made), abs=1e-12)
    assert weight(flat) == pytest.approx(weight(made))
    assert deal(random.Random(seed).sample(made, len(made)), ranks, per_batch, batches) == dealt
    blocks = [[row for rank in dealt for row in rank[i]] for i in range(batches or needed)]
    lengths = [sum(len(row.ids) for row in block) for block in blocks]
    assert lengths == sorted(lengths, reverse=True)  # what takes most memory comes first
    places = {id(row): place for place, row in enumerate(sorted(made, key=lambda row: (row.ids, row.episode, row.slot)))}
    for block in blocks:  # neighbours in the order of their ids
        found = sorted(places[id(row)] for row in block if row.slot != "padding")
        assert found == [found[0] + i for i in range(len(found))]  # of none, []
    counts = [sum(row.slot != "padding" for batch in rank for row in batch) for rank in dealt]
    assert max(counts) - min(counts) <= 1


def test_no_rows_are_still_a_batch_on_every_rank():
    assert deal([], 2, 3) == [[[PADDING] * 3]] * 2
    assert deal([], 2, 1, batches=2) == [[[PADDING]] * 2] * 2


def test_too_few_batches_are_refused():
    with pytest.raises(ValueError, match="5 rows for 2 ranks x 1 batches x 2; expected 2 batches or more"):
        deal([PADDING] * 5, 2, 2, batches=1)
    with pytest.raises(ValueError, match="expected 1 batches"):
        deal([], 1, 1, batches=0)


def test_padding_changes_nothing():
    assert (sum(PADDING.mask), PADDING.weights, PADDING.advantages, len(PADDING.ids)) == (0, [0], [0], 1)


def chain(*pieces, changed=None):
    """Calls that each go on from the one before: (what is appended, completion); from call ``changed`` on with another start."""
    turns, context = [], [100]
    for number, (prompt, completion) in enumerate(pieces):
        context = ([101] + context[1:] if number == changed else context) + prompt
        logprobs = [-float(i) for i in completion]
        turns.append(Turn(context, completion, logprobs, "", "stop", "write", f"write/p0/{number}", {}))
        context = context + completion
    return Episode("env", "task", 0, "g", turns=turns)


PIECES = ([1], [2, 3]), ([4], [5]), ([], [6, 7])


def test_a_chain_becomes_one_row():
    case = chain(*PIECES), {i: Reward(i, f"r{i}") for i in range(3)}, {0: 0.5, 1: 0.0, 2: -1.0}
    (row,) = merged(rows(case))
    assert row.ids == [100, 1, 2, 3, 4, 5, 6, 7]
    assert row.mask == [0, 0, 1, 1, 0, 1, 1, 1]
    assert row.logprobs == [0, 0, -2, -3, 0, -5, -6, -7]
    assert row.advantage == [0, 0, 0.5, 0.5, 0, 0, -1, -1]
    assert row.weight == pytest.approx([0, 0, 1 / 6, 1 / 6, 0, 1 / 3, 1 / 6, 1 / 6])
    assert (row.operation, row.slot, row.reason) == ("write", "write/p0/0 + write/p0/1 + write/p0/2", "r0 | r1 | r2")


def test_a_changed_prefix_ends_a_chain():
    case = chain(*PIECES, changed=1), {i: Reward(1, "") for i in range(3)}, dict.fromkeys(range(3), 1.0)
    assert [row.slot for row in merged(rows(case))] == ["write/p0/0", "write/p0/1 + write/p0/2"]


def test_a_call_without_signal_becomes_context():
    case = chain(*PIECES), {0: Reward(1, ""), 1: None, 2: Reward(0, "")}, {0: 1.0, 1: 0.0, 2: -1.0}
    (row,) = merged(rows(case))
    assert row.mask == [0, 0, 1, 1, 0, 0, 1, 1]
    assert row.weight == pytest.approx([0, 0, 0.25, 0.25, 0, 0, 0.25, 0.25])


def test_episodes_and_policies_are_never_mixed_but_episodes_may_alternate():
    first, second, third = rows((chain(*PIECES), {i: Reward(1, "") for i in range(3)}, dict.fromkeys(range(3), 1.0)))
    other = replace(second, episode="other")
    assert merged([first, other]) == [first, other]
    assert merged([first, replace(second, policy_version="newer")])[0] == first
    assert [row.slot for row in merged([first, other, second, third])] == [
        "write/p0/0 + write/p0/1 + write/p0/2",
        "write/p0/1",
    ]


def test_dr_grpo_needs_to_know_the_longest_completion():
    case = chain(([1], [2] * 9)), {0: Reward(1, "")}, {0: 1.0}
    with pytest.raises(ValueError, match="a completion has 9 tokens; expected at most longest = 7"):
        rows(case, "dr_grpo")
    assert weight(rows(case, "grpo")) == pytest.approx(1)


ROW = {"ids": [1, 2, 3], "mask": [0, 1, 1], "logprobs": [0, -1, -1], "operation": "write", "slot": "write/p0/0"}
ROW |= {"episode": "e", "group": "g", "policy_version": "base"}


def test_a_number_holds_for_every_learned_token():
    row = Row(**ROW, advantage=-0.5, weight=0.25)
    assert (row.advantages, row.weights) == ([0, -0.5, -0.5], [0, 0.25, 0.25])
    lists = Row(**ROW, advantage=[0, -0.5, -0.5], weight=[0, 0.25, 0.25])
    assert (lists.advantages, lists.weights) == (row.advantages, row.weights)
    assert (Row(**ROW).advantage, Row(**ROW).weight) == (1.0, 1.0)


@pytest.mark.parametrize("name", ["advantage", "weight"])
def test_a_list_must_fit_the_mask(name):
    with pytest.raises(ValueError, match=f"row e write/p0/0: 2 entries of {name} for 3 ids"):
        Row(**ROW, **{name: [0.0, 1.0]})
    with pytest.raises(ValueError, match=f"{name} 0.5 at token 0, where the mask is 0"):
        Row(**ROW, **{name: [0.5, 1.0, 1.0]})
