"""Calls to rows with advantages and returns: each where the turn's tokens stand, nothing of it lost when rows are merged."""

import pytest

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.on_policy import PPOSettings
from amemgym_train.credit.gae import gae, moments
from amemgym_train.credit.records import Reward
from amemgym_train.credit.rows import PADDING, merged, rows_of
from amemgym_train.credit.scored import (
    Scored,
    calls_of,
    estimate,
    judged,
    rows_with,
    weighed,
    whiten,
)
from amemgym_train.rollout.records import Episode, Turn

LEVELS = ("turn", "token")


def episode(kept=True):
    """Four turns of 2, 1, 3 and 2 tokens; the first three in one context that grows, if ``kept``; turn 1 has no signal."""
    grown, turns = [7], []
    for number, length in enumerate((2, 1, 3, 2)):
        prompt = [*grown] if kept and number < 3 else [90 + number]
        completion = [10 * (number + 1) + i for i in range(length)]
        turns.append(Turn(prompt, completion, [-0.5] * length, "", "stop", "answer", f"answer/p{number}/q0"))
        grown = [*prompt, *completion, 50 + number] if number != 1 else [*prompt, *completion]  # nothing between turns 1 and 2
    return Episode("e", "t", 0, "g", turns)


def rewards(**others):
    return {0: Reward(0.5, ""), 1: None, 2: Reward(-1.0, ""), 3: Reward(2.0, "")} | others


def calls(kept=True, given=None, loss="grpo"):
    return calls_of(episode(kept), given or rewards(), CreditConfig(loss=loss), 8)


def filled(kept=True, drift=0.0, given=None):
    """Values 0.1, 0.2 ... by turn and token; the policy is ``drift`` likelier than the reference, twice that at a last token."""
    made = calls(kept, given)
    for call in made:
        for i in range(call.start, call.stop):
            call.row.values[i] = 0.1 * call.row.ids[i]
            call.row.old[i], call.row.reference[i] = -0.5, -0.5 - drift * (2 if i == call.stop - 1 else 1)
    return made


def of_calls(made, name):
    return [getattr(call.row, name)[call.span] for call in made]


@pytest.mark.parametrize("given", [None, rewards() | {1: Reward(0.25, "")}])
def test_each_turn_finds_its_tokens_in_a_merged_row(given):
    """Also where two of them stand side by side, with nothing between."""
    played, made = episode(), calls(given=given)
    assert [call.turn for call in made] == ([0, 2, 3] if given is None else [0, 1, 2, 3])
    for call in made:
        assert call.row.ids[call.span] == played.turns[call.turn].completion_ids
        assert all(call.row.mask[call.span])
    rows = rows_with(made)
    assert len(rows) == 2 and len(rows_with(calls(kept=False))) == 3
    zeros = dict.fromkeys(range(4), 0.0)
    plain = merged(rows_of(played, given or rewards(), zeros, CreditConfig(), 8))
    assert [(row.ids, row.mask, row.weights) for row in rows] == [(row.ids, row.mask, row.weights) for row in plain]


def test_a_turn_without_a_signal_or_tokens_is_no_call():
    played = episode(kept=False)
    played.turns[3].completion_ids, played.turns[3].logprobs = [], []
    assert [call.turn for call in calls_of(played, rewards(), CreditConfig(), 8)] == [0, 2]
    assert calls_of(played, dict.fromkeys(range(4)), CreditConfig(), 8) == []


@pytest.mark.parametrize("kept", [True, False])
def test_a_value_and_an_advantage_per_turn(kept):
    made = filled(kept)
    estimate(made, PPOSettings(gamma_turn=0.9, lambda_turn=0.8))
    firsts = [1.0, 3.0, 4.0]
    found = gae([0.5, -1.0, 2.0], firsts, 0.9, 0.8)
    assert of_calls(made, "advantage") == [[found[0]] * 2, [found[1]] * 3, [found[2]] * 2]
    assert of_calls(made, "returns") == [[found[0] + 1, 0], [found[1] + 3, 0, 0], [found[2] + 4, 0]]
    assert [heads[0] for heads in of_calls(made, "heads")] == pytest.approx([1 / 3] * 3)
    assert len(judged(made)) == 3


def test_a_value_and_an_advantage_per_token():
    made = filled()
    estimate(made, PPOSettings(level="token", gamma_turn=0.9, lambda_turn=0.8, lambda_token=1.0))
    found = gae([0.5, -1.0, 2.0], [1.1, 3.2, 4.1], 0.9, 0.8)
    assert of_calls(made, "advantage")[1] == pytest.approx([found[1] + 0.2, found[1] + 0.1, found[1]])
    for returns, end, advantage in zip(of_calls(made, "returns"), [1.1, 3.2, 4.1], found, strict=True):
        assert returns == pytest.approx([advantage + end] * len(returns))
    assert of_calls(made, "heads") == of_calls(made, "weight")


@pytest.mark.parametrize("level", LEVELS)
def test_the_loss_of_the_critic_weighs_an_episode_once(level):
    for loss, total in (("grpo", 1.0), ("dapo", 1.0), ("dr_grpo", 7 / 24)):
        made = calls(loss=loss)
        estimate(made, PPOSettings(level=level))
        assert sum(weight for weight, *_ in judged(made)) == pytest.approx(total)
        assert sum(weight for weight, _ in weighed(made)) == pytest.approx(total)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kept", [True, False])
def test_kl_comes_off_what_earned_it_and_reaches_all_before(level, kept):
    """With nothing discounted and no values, an advantage is what is earned from its token on."""
    made = filled(kept, drift=0.1)
    for call in made:
        call.row.values = [0.0] * len(call.row.ids)
    estimate(made, PPOSettings(level=level, lambda_turn=1.0, lambda_token=1.0), kl_coef=0.5)
    costs = [[0.05] * (call.stop - call.start - 1) + [0.1] for call in made]
    for number, (call, found) in enumerate(zip(made, of_calls(made, "advantage"), strict=True)):
        later = sum(c.reward for c in made[number:]) - sum(map(sum, costs[number + 1 :]))
        own = costs[number]
        wanted = [later - sum(own[i:]) if level == "token" else later - sum(own) for i in range(len(own))]
        assert found == pytest.approx(wanted), call.turn
    free = filled(kept, drift=0.1)
    estimate(free, PPOSettings(level=level))
    estimate(unmoved := filled(kept), PPOSettings(level=level), kl_coef=0.5)
    assert of_calls(free, "advantage") == of_calls(unmoved, "advantage")


def test_an_episode_that_was_cut_off_goes_on_with_its_critic():
    made = filled()
    estimate(made, PPOSettings(lambda_turn=1.0), last=5.0)
    assert of_calls(made, "returns")[0][0] == pytest.approx(0.5 - 1.0 + 2.0 + 5.0)


@pytest.mark.parametrize("level", LEVELS)
def test_whitened_advantages_leave_what_is_not_learned_at_zero(level):
    made = filled()
    estimate(made, PPOSettings(level=level))
    before = of_calls(made, "advantage")
    whiten(made, moments(weighed(made), lambda local: local))
    after = of_calls(made, "advantage")
    order = [a < b for one in before for a, b in zip(one, one[1:], strict=False)]
    assert order == [a < b for one in after for a, b in zip(one, one[1:], strict=False)]
    mean, deviation = moments(weighed(made), lambda local: local)
    assert mean == pytest.approx(0, abs=1e-9) and deviation == pytest.approx(1, abs=1e-6)
    for row in rows_with(made):
        assert all(learned or not a for a, learned in zip(row.advantage, row.mask, strict=True))


def test_padding_can_be_scored():
    padding = Scored(**vars(PADDING))
    assert padding.heads == padding.values == padding.advantage == [0.0]
