import random

import pytest

from amemgym_train.diagnosis.operations import OUTCOMES, counts, diagnose, shares
from amemgym_train.rollout.records import Answer, Episode, Probe, Turn

VALUES = ("red", "green", "blue")


def world(seed):
    """A random life and an agent that is right by chance: values[p][s], changed[p], required[q], named[p][q][s], right[p][q]."""
    rng = random.Random(seed)
    states = [f"s{i}" for i in range(rng.randint(1, 5))]
    periods, questions = rng.randint(1, 7), rng.randint(1, 4)
    values, changed = [{s: rng.choice(VALUES) for s in states}], [set(states)]
    for _ in range(1, periods):
        changed.append({s for s in states if rng.random() < 0.3})
        new = {s: rng.choice([value for value in VALUES if value != values[-1][s]]) for s in sorted(changed[-1])}
        values.append(values[-1] | new)
    required = [rng.sample(states, min(2, len(states))) for _ in range(questions)]
    skill = rng.random()

    def reply(truth):
        return truth if rng.random() < skill else rng.choice([None, *VALUES])

    named = [[{s: reply(values[p][s]) for s in required[q]} for q in range(questions)] for p in range(periods)]
    right = [[rng.random() < 0.5 for _ in range(questions)] for _ in range(periods)]
    return values, changed, required, named, right


def episode_of(seed):
    values, changed, required, named, right = world(seed)
    rng = random.Random(-seed)
    turns = []
    for p in range(len(values)):
        for shown in (changed[p], changed[p - 1] if p else set()):  # a late write is shown what happened a period ago
            seen = p if shown is changed[p] else p - 1
            meta = {"exposed": {s: values[seen][s] for s in sorted(shown)}, "period": p}
            turns.append(Turn([1], [2], [-0.1], "{}", "stop", "write", f"write/p{p}/{len(turns)}", meta))
    answers, probes = [], []
    for p in range(len(values)):
        for q, states in enumerate(required):
            answers.append(Answer(p, q, 4, 1, 1 if right[p][q] else rng.choice([None, 0, 2]), None))
            written = {s: max(w for w in range(p + 1) if s in changed[w]) for s in states}
            probes.append(Probe(p, q, {s: values[p][s] for s in states}, named[p][q], written, None))
    return Episode("AMemGym-v0", f"user{seed}", seed, f"user{seed}", turns=turns, answers=answers, probes=probes)


def slow_outcome(seed, p, q):
    """The definition once more, from the arrays: walk back from p to the change, and look there."""
    values, changed, required, named, right = world(seed)
    kinds = set()
    for state in required[q]:
        if named[p][q][state] == values[p][state]:
            continue
        at = p
        while state not in changed[at]:
            at -= 1
        kinds.add("read" if named[at][q][state] == values[at][state] else "write")
    if kinds:
        return "write" if "write" in kinds else "read"
    return "correct" if right[p][q] else "utilisation"


@pytest.mark.parametrize("seed", range(60))
def test_outcomes_agree_with_the_definition(seed):
    episode = episode_of(seed)
    diagnosis = diagnose(episode)
    values, _, required, named, _ = world(seed)
    assert [(cell.period, cell.question) for cell in diagnosis.cells] == [(a.period, a.question) for a in episode.answers]
    for cell in diagnosis.cells:
        assert cell.outcome == slow_outcome(seed, cell.period, cell.question)
        wrong = [s for s in required[cell.question] if named[cell.period][cell.question][s] != values[cell.period][s]]
        assert sorted(cell.write_failures + cell.read_failures) == sorted(wrong)
        assert bool(cell.write_failures) == (cell.outcome == "write")
    assert sum(diagnosis.counts.values()) == len(episode.answers)
    assert sum(diagnosis.shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(60))
def test_write_turns_agree_with_the_definition(seed):
    episode = episode_of(seed)
    values, changed, required, named, _ = world(seed)
    diagnosis = diagnose(episode)
    assert list(diagnosis.known_after) == list(range(len(episode.turns))) == list(diagnosis.persistence)
    for index, turn in enumerate(episode.turns):
        start = turn.meta["period"]
        assert set(diagnosis.known_after[index]) == set(turn.meta["exposed"])
        for state, value in turn.meta["exposed"].items():
            hits, now = [], []
            for p in range(start, len(values)):
                if values[start][state] != value or (p > start and state in changed[p]):
                    break
                here = [named[p][q][state] == value for q in range(len(required)) if state in required[q]]
                hits += here
                now = here if p == start else now
            assert diagnosis.known_after[index][state] == (all(now) if now else None)
            assert diagnosis.persistence[index][state] == (pytest.approx(sum(hits) / len(hits)) if hits else None)


def test_first_period_has_no_read_failure():
    cells = [cell for seed in range(60) for cell in diagnose(episode_of(seed)).cells if cell.period == 0]
    assert {cell.outcome for cell in cells} == {"correct", "write", "utilisation"}


def test_aggregation_sums_cells_and_averages_episodes():
    diagnoses = [diagnose(episode_of(seed)) for seed in (1, 2, 3)]
    assert sum(counts(diagnoses).values()) == sum(len(d.cells) for d in diagnoses)
    assert shares(diagnoses)["write"] == pytest.approx(sum(d.shares["write"] for d in diagnoses) / 3)
    assert shares(diagnoses[:1]) == diagnoses[0].shares
    assert counts([]) == dict.fromkeys(OUTCOMES, 0)
    with pytest.raises(ValueError, match="no diagnosis"):
        shares([])


def test_turns_other_than_writes_are_left_alone():
    episode = episode_of(3)
    episode.turns.append(Turn([1], [], [], "", "stop", "respond", "respond/p0/s0/r0"))
    assert len(episode.turns) - 1 not in diagnose(episode).known_after


def unscorable(episode):
    episode.error = "timeout: no reply"


def unplayed(episode):
    episode.answers = []


def unprobed(episode):
    episode.probes = []


def asked_twice(episode):
    episode.answers.append(episode.answers[0])


def written_in_the_future(episode):
    episode.probes[0].write_period = dict.fromkeys(episode.probes[0].write_period, 1)


def written_with_another_value(episode):
    episode.probes[-1].expected = dict.fromkeys(episode.probes[-1].expected, "black")
    episode.probes[-1].write_period = dict.fromkeys(episode.probes[-1].write_period, 0)


def unlabelled_write(episode):
    del episode.turns[0].meta["exposed"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (unscorable, "timeout: no reply"),
        (unplayed, "no answers"),
        (unprobed, "probes=True"),
        (asked_twice, "answers for"),
        (written_in_the_future, "written at period 1"),
        (written_with_another_value, "expects .* = 'black'"),
        (unlabelled_write, "has no meta exposed"),
    ],
)
def test_what_cannot_be_diagnosed_is_named(spoil, message):
    episode = episode_of(5)
    assert len(episode.turns) > 2  # several periods
    spoil(episode)
    with pytest.raises(ValueError, match=message) as error:
        diagnose(episode)
    assert episode.id in str(error.value)
