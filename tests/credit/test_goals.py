"""Credit in environments with a goal: what calls are paid, and what they are compared with."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym_train.config.credit import CreditConfig
from amemgym_train.config.training import TrainingConfig
from amemgym_train.credit.batch import credited, signals_of
from amemgym_train.credit.gae import per_turn
from amemgym_train.credit.rewards import rewarded
from amemgym_train.diagnosis.operations import diagnose
from amemgym_train.rollout.records import Episode, Turn
from amemgym_train.training.rft import select

ACTS = {"operations": ["act"]}


def acted(rewards, seed=0, group="task", success=None, replies=None):
    episode = Episode("Toy-v0", group, seed, group, rewards=list(rewards), score=sum(rewards))
    episode.success = sum(rewards) >= 1 if success is None else success
    for number in range(len(rewards)):
        parsed, reason = (replies or {}).get(number, ("strict", "stop"))
        prompt = [1, *range(10, 10 + number)]
        meta = {"parsed": parsed, "observation": str(number)}
        episode.turns.append(Turn(prompt, [3, seed + 20], [-0.1, -0.2], "a", reason, "act", f"act/{number}", meta))
    return episode


def values(episode, **config):
    rewards = rewarded(episode, diagnose(episode), CreditConfig(**ACTS, **config))
    return [rewards[index].value for index in sorted(rewards)]


def test_the_outcome_is_the_score_of_every_act():
    assert values(acted([0, 0.25, 0.5]), scheme="outcome") == [0.75] * 3
    assert diagnose(acted([0, 1])).cells == []


@given(st.lists(st.integers(-4, 4).map(lambda n: n / 4), min_size=1, max_size=8), st.sampled_from([0.0, 0.5, 0.75, 1.0]))
def test_returns_follow_their_definition(rewards, discount):
    found = values(acted(rewards), scheme="return", discount=discount)
    expected = [sum(discount ** (k - t) * rewards[k] for k in range(t, len(rewards))) for t in range(len(rewards))]
    assert found == pytest.approx(expected, abs=1e-12)


def test_an_episode_that_lost_a_reward_has_no_returns():
    episode = acted([0, 1])
    episode.rewards.pop()
    with pytest.raises(ValueError, match="1 rewards for 2 turns; expected one each"):
        values(episode, scheme="return")


def test_an_episode_is_compared_as_a_whole_however_long_it_is():
    """GRPO: A = score - mean of the group's scores, for all acts; a late act of a failure is not alone at its slot."""
    episodes = [acted([0, 1], 0), acted([0] * 6, 1), acted([0] * 4, 2), acted([1], 3)]
    config = CreditConfig(scheme="outcome", **ACTS)
    signals = [s for e in episodes for s in signals_of(e, rewarded(e, diagnose(e), config))]
    assert [(s.slot, s.episode, s.value) for s in signals] == [("act", e.id, e.score) for e in episodes]
    found = credited(
        episodes, config, method="grpo", gather=lambda one: one, per_batch=4, batches=8, longest=4, keep_zeros=False
    )
    rows = [row for batch in found.batches for row in batch if row.episode]
    by_episode = {row.episode: set(row.advantages) - {0.0} for row in rows}
    assert by_episode == {episodes[0].id: {0.5}, episodes[1].id: {-0.5}, episodes[2].id: {-0.5}, episodes[3].id: {0.5}}
    assert found.figures["reward/act"] == found.figures["shares/success"] == found.figures["shares/score"] == 0.5
    weights = {e.id: sum(sum(row.weights) for row in rows if row.episode == e.id) for e in episodes}
    assert weights == pytest.approx(dict.fromkeys(weights, 1.0))


def test_processes_without_a_scorable_episode_have_no_say():
    broken = acted([0], 9)
    broken.error = "ConnectionError: gone"
    config, parts = CreditConfig(scheme="outcome", **ACTS), [[acted([0, 1], 0), acted([0], 1)], [broken]]
    shared = {}
    for _ in range(2):  # the first round only records what each process says
        for rank, episodes in enumerate(parts):
            counter = iter(range(100))

            def gather(local, rank=rank, counter=counter):
                shared[rank, number := next(counter)] = local
                return [one for other in range(2) for one in shared.get((other, number), [])]

            found = credited(
                episodes, config, method="grpo", gather=gather, per_batch=4, batches=2, longest=4, keep_zeros=False
            )
    assert found.figures["shares/success"] == 0.5 and found.figures["unscorable"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(("scheme", "expected"), [("outcome", [0, 0, 1.0]), ("return", [0.25, 0.25, 0.5])])
def test_a_critic_is_told_every_reward_once(scheme, expected):
    episode, config = acted([0.25, 0.25, 0.5]), CreditConfig(scheme=scheme, **ACTS)
    rewards = per_turn(episode, diagnose(episode), config)
    assert [rewards[index].value for index in range(3)] == expected and sum(expected) == episode.score


def test_of_a_group_the_shortest_success_is_imitated_whole():
    episodes = [acted([0, 0, 1], 0), acted([0, 1], 1), acted([0, 1], 2), acted([0], 3), acted([1], 4, "other")]
    diagnoses = {episode.id: diagnose(episode) for episode in episodes}
    rows = select(episodes, diagnoses, TrainingConfig(operations=["act"]))
    assert [(row.episode, row.slot) for row in rows] == [
        (episodes[4].id, "act/0"),
        (episodes[1].id, "act/0"),
        (episodes[1].id, "act/1"),
    ]
    assert {row.reason for row in rows} == {"success in 1 steps", "success in 2 steps"}
    two = select(episodes, diagnoses, TrainingConfig(operations=["act"], keep_per_slot=2))
    assert {row.episode for row in two} == {episodes[place].id for place in (1, 2, 4)}


@pytest.mark.parametrize("reply", [("failed", "stop"), ("strict", "length")])
def test_a_reply_that_was_no_whole_one_is_not_imitated(reply):
    episode = acted([0, 1], 0, replies={0: reply})
    rows = select([episode], {episode.id: diagnose(episode)}, TrainingConfig(operations=["act"]))
    assert [row.slot for row in rows] == ["act/1"]


def test_a_broken_episode_teaches_nothing():
    for error, success in product(["Unscorable: x", None], [False, True]):
        episode = acted([0, 1], success=success)
        episode.error = error
        diagnoses = {} if error else {episode.id: diagnose(episode)}
        rows = select([episode], diagnoses, TrainingConfig(operations=["act"]))
        assert bool(rows) == (error is None and success)
