import json
import random
from statistics import mean

import pytest

from amemgym_train.evaluation.memory import FIGURES, Report, memory_score, period_scores, report
from amemgym_train.rollout.records import Answer, Episode, Probe, Turn

VALUES = ("red", "green")


def episode_of(task, pick, periods=4, questions=3, probes=True, seed=0):
    """An episode whose answer at (p, q) is ``pick(p, q, golden, choices)``; every state is set at period 0 and probed right."""
    rng = random.Random(f"{task}/{seed}")
    episode = Episode("AMemGym-v0", task, seed, task)
    for p in range(periods):
        for q in range(questions):
            choices = 4 + q
            golden = rng.randrange(choices)
            episode.answers.append(Answer(p, q, choices, golden, pick(p, q, golden, choices), None))
            if probes:
                episode.probes.append(Probe(p, q, {"colour": "red"}, {"colour": "red"}, {"colour": 0}, None))
    return episode


def golden(p, q, golden, choices):
    return golden


def wrong(p, q, golden, choices):
    return (golden + 1) % choices


def unread(p, q, golden, choices):
    return None


def early(p, q, golden, choices):
    return golden if p < 2 else None


def test_oracle_scores_one_and_has_no_failure():
    result = report([episode_of("a", golden), episode_of("b", golden)])
    assert (result.overall, result.upper, result.memory_score) == (1, 1, 1)
    assert (result.correct, result.write, result.read, result.utilisation) == (1, 0, 0, 0)
    assert result.undefined_periods == 0


def test_the_expected_score_of_a_blind_pick_is_zero():
    """Averaged over every pick, the memory score is exactly 0: each question has one right choice in ``choices``."""
    scores = [
        report([episode_of("a", lambda p, q, g, n, k=k: k % n)]).memory_score
        for k in range(4 * 5 * 6)  # k mod n runs over each choice of 4, 5 and 6 equally often
    ]
    assert mean(scores) == pytest.approx(0, abs=1e-12)
    assert max(scores) > 0 > min(scores)


def test_wrong_answers_of_one_who_knows_are_utilisation_failures():
    result = report([episode_of("a", wrong)])
    assert (result.utilisation, result.overall) == (1, 0)
    assert result.memory_score == pytest.approx(-result.random / (1 - result.random))
    assert result.random == pytest.approx(mean([1 / 4, 1 / 5, 1 / 6]))


def test_memory_score_is_the_mean_of_ratios_per_period():
    assert period_scores([0.5, 1.0], [0.25, 0.25], [0.5, 1.0]) == [1.0, 1.0]
    assert memory_score([0.5, 0.25], [0.25, 0.25], [0.5, 1.0]) == 0.5  # the ratio of the means would be 0.25
    with pytest.raises(ValueError, match="2 overall, 1 random"):
        memory_score([1, 1], [0], [1, 1])


def test_periods_without_headroom_are_undefined_and_left_out():
    assert period_scores([0.5, 0.4, 0.5], [0.25] * 3, [0.25, 0.2, 0.75]) == [None, None, 0.5]
    assert memory_score([0.5, 0.5], [0.25, 0.25], [0.25, 0.75]) == 0.5
    assert memory_score([0.5], [0.25], [0.25]) is None
    assert memory_score([0.3], [0.3], [0.1 + 0.2]) is None  # equal but for rounding


def test_upper_bound_is_taken_per_question_and_golden_choice():
    episode = episode_of("a", early)
    upper = {("a", q, choice): float(q != 1) for q in range(3) for choice in range(4 + q)}
    result = report([episode], upper)
    assert result.upper == pytest.approx(2 / 3)
    blind = mean([1 / 4, 1 / 5, 1 / 6])
    assert result.memory_score == pytest.approx(mean([(x - blind) / (2 / 3 - blind) for x in (1, 1, 0, 0)]))
    missing = ("a", episode.answers[0].question, episode.answers[0].golden)
    del upper[missing]
    with pytest.raises(ValueError, match=f"task a, question {missing[1]}, choice {missing[2]}"):
        report([episode], upper)


def test_a_report_without_any_headroom_has_no_memory_score():
    result = report([episode_of("a", golden)], {("a", q, choice): 0.0 for q in range(3) for choice in range(4 + q)})
    assert result.memory_score is None
    assert result.undefined_periods == 4
    assert result.per_period["memory_score"] == [None] * 4


def test_unscorable_episodes_enter_no_figure():
    broken = Episode("AMemGym-v0", "c", 0, "c", error="timeout: no reply", answers=episode_of("c", wrong).answers)
    alone, together = report([episode_of("a", early)]), report([broken, episode_of("a", early), broken])
    assert (together.episodes, together.unscorable) == (1, 2)
    for name in FIGURES:
        assert getattr(alone, name) == getattr(together, name)
    assert alone.per_period == together.per_period
    with pytest.raises(ValueError, match="none of 1 episodes is scorable.*timeout"):
        report([broken])
    with pytest.raises(ValueError, match="none of 0"):
        report([])
    with pytest.raises(ValueError, match="neither answers nor an error"):
        report([Episode("AMemGym-v0", "d", 0, "d")])


def test_each_episode_counts_once_whatever_its_length():
    short, long = episode_of("a", golden, periods=1), episode_of("b", wrong, periods=9)
    both = report([short, long])
    assert both.overall == 0.5
    assert both.correct == 0.5
    assert both.per_period["period"] == list(range(9))
    assert both.per_period["overall"] == [0.5] + [0] * 8
    assert report([long, short]).per_period == both.per_period


def test_per_period_lists_average_to_the_figures():
    result = report([episode_of(task, early) for task in "abc"])
    for name in FIGURES:
        assert mean(result.per_period[name]) == pytest.approx(getattr(result, name))
    assert result.per_period["overall"] == [1, 1, 0, 0]


def test_shares_need_probes():
    bare, probed = episode_of("a", golden, probes=False), episode_of("b", wrong)
    assert report([bare]).write is None and report([bare]).per_period["write"] == [None] * 4
    both = report([bare, probed])
    assert (both.diagnosed, both.episodes, both.utilisation) == (1, 2, 1)


def test_parse_failures_are_counted_by_operation():
    episode = episode_of("a", early)
    episode.probes[0].response = {"colour": None}
    for how in ("strict", "failed", "repaired", "failed", "failed"):
        meta = {"exposed": {}, "period": 0, "parsed": how}
        episode.turns.append(Turn([1], [2], [-0.1], "", "stop", "write", f"write/p0/{len(episode.turns)}", meta))
    assert report([episode]).parse_failures == {"answer": 6, "read": 1, "write": 3}
    assert report([episode_of("b", unread)]).overall == 0


def test_a_report_survives_json():
    result = report([episode_of("a", early)])
    assert Report(**json.loads(json.dumps(result.to_dict(), allow_nan=False))) == result
