"""The estimators: what must hold for any signals, and their formulas once more by brute force."""

import random
import statistics
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.config.credit import CreditConfig
from amemgym_train.credit.advantages import Signal, advantages, dr_grpo, figures, grpo, reinforce_pp, rloo

METHODS = [
    ("grpo", CreditConfig()),
    ("grpo", CreditConfig(scale_by_std=True)),
    ("dr_grpo", CreditConfig()),
    ("rloo", CreditConfig()),
    ("reinforce_pp", CreditConfig()),
]
VALUES = st.one_of(st.none(), st.sampled_from([0.0, 0.1, 0.5, 1.0, -0.2]), st.floats(-5, 5).map(lambda x: round(x, 3)))


@st.composite
def batches(draw):
    """Signals of 1 to 3 groups at up to 3 slots, of up to 5 episodes each, in any order; not every episode is at every slot."""
    found = []
    for group in range(draw(st.integers(1, 3))):
        for slot in ("write/p0/0", "read/p1/q0", "answer/p1/q0")[: draw(st.integers(1, 3))]:
            for episode in range(draw(st.integers(1, 5))):
                found.append(Signal(f"g{group}", slot, f"g{group}/{episode}", draw(VALUES)))
    return draw(st.permutations(found))


def by_slot(signals, values):
    """{(group, slot): [(reward, value)]} of the signals that are not None."""
    slots = defaultdict(list)
    for signal, value in zip(signals, values, strict=True):
        if signal.value is not None:
            slots[signal.group, signal.slot].append((signal.value, value))
    return slots


@given(signals=batches())
def test_the_mean_of_a_slot_is_0(signals):
    for method, config in METHODS:
        for pairs in by_slot(signals, advantages(signals, method, config)).values():
            assert sum(value for _, value in pairs) == pytest.approx(0, abs=1e-9)


@given(signals=batches())
def test_no_signal_means_no_advantage_and_no_part_in_any_baseline(signals):
    given_ = [signal for signal in signals if signal.value is not None]
    for method, config in METHODS:
        values = advantages(signals, method, config)
        assert all(value == 0 for signal, value in zip(signals, values, strict=True) if signal.value is None)
        assert [value for signal, value in zip(signals, values, strict=True) if signal.value is not None] == advantages(
            given_, method, config
        )


@given(signals=batches(), seed=st.integers(0, 99))
def test_the_order_of_signals_does_not_matter(signals, seed):
    """Exactly: processes may be gathered in any order, and all must come to the same advantages."""
    order = random.Random(seed).sample(range(len(signals)), len(signals))
    for method, config in METHODS:
        values = advantages(signals, method, config)
        assert advantages([signals[i] for i in order], method, config) == [values[i] for i in order]


@given(signals=batches())
def test_a_slot_met_once_or_without_spread_gives_exactly_0(signals):
    for method, config in METHODS:
        for pairs in by_slot(signals, advantages(signals, method, config)).values():
            if len({reward for reward, _ in pairs}) == 1:
                assert {value for _, value in pairs} == {0.0}
            else:
                assert any(value for _, value in pairs)


@settings(max_examples=200)
@given(signals=batches())
def test_the_formulas_by_brute_force(signals):
    slots = by_slot(signals, signals)
    centred = [
        signal.value - statistics.fmean(reward for reward, _ in slots[signal.group, signal.slot])
        for signal in signals
        if signal.value is not None
    ]
    spread = statistics.stdev(centred) if len(centred) > 1 else 0.0
    for i, signal in enumerate(signals):
        if signal.value is None:
            continue
        rewards = [reward for reward, _ in slots[signal.group, signal.slot]]
        mean = statistics.fmean(rewards)
        others = (sum(rewards) - signal.value) / (len(rewards) - 1) if len(rewards) > 1 else signal.value
        deviation = statistics.stdev(rewards) if len(rewards) > 1 else 0.0
        assert grpo(signals)[i] == pytest.approx(signal.value - mean, abs=1e-9)
        assert dr_grpo(signals)[i] == grpo(signals)[i]
        assert rloo(signals)[i] == pytest.approx(signal.value - others, abs=1e-9)
        assert rloo(signals)[i] == pytest.approx(grpo(signals)[i] * len(rewards) / max(len(rewards) - 1, 1), abs=1e-9)
        assert grpo(signals, scale_by_std=True)[i] == pytest.approx((signal.value - mean) / (deviation + 1e-4), abs=1e-6)
        assert reinforce_pp(signals)[i] == pytest.approx((signal.value - mean) / (spread + 1e-4), abs=1e-6)


def signals_of(*values, slot="write/p0/0", group="g"):
    return [Signal(group, slot, f"{group}/{i}", value) for i, value in enumerate(values)]


def test_four_calls_by_hand():
    signals = signals_of(1.0, 0.0, None, 0.0, 1.0)
    assert grpo(signals) == dr_grpo(signals) == [0.5, -0.5, 0.0, -0.5, 0.5]
    assert rloo(signals) == pytest.approx([2 / 3, -2 / 3, 0.0, -2 / 3, 2 / 3])
    assert grpo(signals, scale_by_std=True) == pytest.approx([0.5 / ((1 / 3) ** 0.5 + 1e-4) * sign for sign in (1, -1, 0, -1, 1)])


def test_each_slot_of_each_group_has_its_own_baseline():
    signals = [
        *signals_of(1.0, 1.0),
        *signals_of(0.0, 0.0, group="h"),
        *signals_of(0.5, 0.5, slot="read/p0/q0"),
    ]
    for method, config in METHODS:
        assert set(advantages(signals, method, config)) == {0.0}


def test_equal_rewards_that_no_float_can_halve_leave_nothing_behind():
    for method, config in METHODS:
        assert set(advantages(signals_of(0.1, 0.1, 0.1), method, config)) == {0.0}


def test_reinforce_pp_weighs_a_wide_slot_more_than_a_narrow_one_and_grpo_with_std_does_not():
    signals = signals_of(1.0, 0.0) + signals_of(0.1, 0.0, slot="read/p0/q0")
    wide, narrow = reinforce_pp(signals)[0], reinforce_pp(signals)[2]
    assert wide == pytest.approx(10 * narrow)
    scaled = grpo(signals, scale_by_std=True)
    assert scaled[0] == pytest.approx(scaled[2], rel=2e-3)


def test_stock_trl_gives_the_same():
    """TRL's own lines for scale_rewards "group" and "none", and its leave-one-out, on groups of 4 without None."""
    import torch
    from trl.trainer.utils import nanstd

    rewards = torch.tensor([[0.0, 1.0, 1.0, 0.3], [0.2, 0.2, 0.2, 0.2], [-0.2, 0.5, 0.1, 0.7]], dtype=torch.float64)
    signals = [Signal(f"g{i}", "answer/p0/q0", f"{i}/{j}", float(v)) for i, row in enumerate(rewards) for j, v in enumerate(row)]
    plain = rewards - rewards.nanmean(dim=1, keepdim=True)
    assert grpo(signals) == pytest.approx(plain.flatten().tolist(), abs=1e-12)
    scaled = plain / (nanstd(rewards, dim=1, keepdim=True) + 1e-4)
    assert grpo(signals, scale_by_std=True) == pytest.approx(scaled.flatten().tolist(), rel=1e-6)  # its correction is in float32
    leave_one_out = rewards - (rewards.nansum(dim=1, keepdim=True) - rewards) / 3
    assert rloo(signals) == pytest.approx(leave_one_out.flatten().tolist(), abs=1e-12)


def test_figures():
    signals = [
        *signals_of(1.0, 0.0, None, None),
        *signals_of(1.0, 1.0, slot="read/p0/q0"),
        *signals_of(0.25, slot="read/p1/q0"),
        *signals_of(None, slot="answer/p0/q0"),
    ]
    assert figures(signals, grpo(signals)) == {
        "zero_spread": pytest.approx(2 / 3),  # both reads, not the write; nobody had a signal at the answer
        "no_signal": pytest.approx(3 / 8),
        "zero_advantage": pytest.approx(3 / 5),
        "reward/read": 0.75,
        "reward/write": 0.5,
    }
    assert figures([], []) == {"zero_spread": 0.0, "no_signal": 0.0, "zero_advantage": 0.0}
