"""The search for prompts, with players that are rules: what they do is known, so what must be found is too."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym_train.agents.templates import load_prompts
from amemgym_train.config.reflection import PromptsConfig
from amemgym_train.policy.base import TooLong
from amemgym_train.reflection.edits import REFUSALS, Bounds
from amemgym_train.reflection.feedback import Feedback
from amemgym_train.reflection.leaks import Secrets
from amemgym_train.reflection.search import search, target_of
from amemgym_train.reflection.trial import Trial

START = load_prompts("fewshot")
USERS = [f"user {i}" for i in range(8)]
FAILED = {"asked": 9, "write": 6, "utilisation": 2}


def player(score):
    """Plays by ``score(instruction of the write prompt, user)``; what was played is in ``played``."""

    def play(prompts, role):
        play.played.append((prompts["write"].instruction, role))
        scores = {user: score(prompts["write"].instruction, user) for user in USERS}
        return Trial(scores, scores, Feedback("diagnostic", "it failed", (), FAILED) if role == "train" else None)

    play.played = []
    return play


def words(*said):
    """Replies one after the other, each an instruction to take in place of the old one."""
    left = list(said)

    def reply(ask):
        text = left.pop(0)
        return json.dumps({"new_prompt": replace(ask.prompt, instruction=text).text}) if text is not None else "nonsense"

    return reply


def find(play, reply, pool=(), fits=lambda prompt: True, **changes):
    config = PromptsConfig(cadence="iteration", **{"proposals": 3, "alpha": 0.05} | changes)
    return search(START, pool, "awi", config, play, reply, Bounds(config.max_chars, Secrets([]), fits=fits), seed=0)


def longer_is_better(instruction, user):
    return len(instruction) / 1000


def test_a_better_prompt_is_accepted_and_gone_on_from():
    long, longer = "Note. " * 60, "Note. " * 90
    found = find(player(longer_is_better), words(long, longer.strip(), "x"))
    assert [one.verdict for one in found.candidates] == ["start", "accepted", "accepted", "no_better_on_train"]
    assert found.best == 2 and found.candidates[2].parent == 1
    assert found.counts()["validation_after"] > found.counts()["validation_before"]
    assert found.candidates[1].test.p <= 0.05 and found.candidates[1].to_dict(found.candidates)["diff"]


def test_what_is_no_better_on_training_users_never_meets_validation_users():
    play = player(longer_is_better)
    find(play, words("a", "b", "c"))
    assert [role for _, role in play.played] == ["train", "validation", "train", "train", "train"]


def test_a_gain_that_chance_could_have_made_is_not_accepted():
    def lucky(instruction, user):
        return 1.0 if len(instruction) < 10 and user in USERS[:3] else 0.5

    found = find(player(lucky), words("short", "brief", "tiny"))
    assert {one.verdict for one in found.candidates[1:]} <= {"no_better", "no_better_on_train"} and found.best == 0
    assert found.candidates[1].test.difference > 0 and found.candidates[1].test.p > 0.05
    assert find(player(lucky), words("short", "brief", "tiny"), alpha=0.2).best == 1


def test_a_reflector_that_says_nothing_useful_changes_nothing_and_is_counted():
    whole = START["write"].text
    said = iter(["nonsense", json.dumps({"new_prompt": "No fields."}), "x" * 100_000, json.dumps({"new_prompt": whole})])
    found = find(player(longer_is_better), lambda ask: next(said), proposals=4)
    assert found.best == 0 and found.candidates[0].prompts == START
    counts = found.counts()
    assert [counts[f"refused_{kind}"] for kind in REFUSALS] == [2, 0, 1, 0, 1, 0] and counts["proposals"] == 4


def test_a_prompt_that_leaves_no_room_in_the_window_is_refused_and_the_search_goes_on():
    def play(prompts, role):
        if prompts["write"].instruction == "endless":
            raise TooLong("it does not fit")
        return player(longer_is_better)(prompts, role)

    better = "Note. " * 90
    found = find(play, words("endless", better.strip(), "wide"), fits=lambda prompt: prompt.instruction != "wide")
    assert [one.verdict for one in found.candidates] == ["start", "refused_long", "accepted", "refused_long"]
    assert found.counts()["refused_long"] == 2 and found.candidates[1].train is None


def test_prompts_kept_before_are_tried_again_and_may_stand():
    better = START | {"write": replace(START["write"], instruction="Note. " * 90)}
    found = find(player(longer_is_better), words(None, None, None), pool=[better])
    assert found.best == 1 and found.candidates[1].verdict == "accepted" and found.candidates[1].parent is None
    assert found.counts()["accepted"] == 0  # of the proposals


def test_several_prompts_are_kept_when_each_is_best_for_somebody():
    def mixed(instruction, user):
        first = user in USERS[:4]
        return {"for some": 0.9 if first else 0.2, "for others": 0.2 if first else 0.95}.get(instruction, 0.4)

    found = find(player(mixed), words("for some", "for others", "for nobody"))
    kept = {found.candidates[number].prompts["write"].instruction for number in found.kept}
    assert {"for some", "for others"} <= kept and len(found.kept) <= 4


QUARTERS = st.lists(st.integers(0, 4), min_size=len(USERS), max_size=len(USERS))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text("ab", min_size=1, max_size=3), QUARTERS), max_size=5))
def test_validation_never_falls_whatever_is_proposed(said):
    scores = {text: [quarter / 4 for quarter in values] for text, values in said}

    def score(instruction, user):
        return scores.get(instruction, [0.5] * 8)[USERS.index(user)]

    found = find(player(score), words(*(text for text, _ in said)), proposals=max(len(said), 1)) if said else None
    if found is not None:
        counts = found.counts()
        assert counts["validation_after"] >= counts["validation_before"]
        assert found.best == 0 or found.candidates[found.best].test.p <= 0.05
        assert counts["proposals"] == len(said) == sum(
            counts[key] for key in counts if key.startswith(("accepted", "no_better", "refused"))
        )


@pytest.mark.parametrize(
    "kind, counts, target",
    [
        ("diagnostic", {"asked": 9, "write": 5}, "write"),
        ("diagnostic", {"asked": 9, "utilisation": 5}, "answer"),
        ("with_exposed_states", {"asked": 9, "wrong": 5, "wrong_though_held": 5}, "answer"),
        ("with_exposed_states", {"asked": 9, "wrong": 5, "wrong_though_held": 0}, "write"),
        ("with_exposed_states", {"asked": 9, "unreadable": 5, "wrong": 0, "wrong_though_held": 0}, "answer"),
        ("diagnostic", {"asked": 9, "unreadable": 5}, "answer"),
        ("vanilla", {"asked": 9, "unreadable": 9}, "answer"),
    ],
)
def test_what_failed_is_mended_where_the_feedback_says_what_it_was(kind, counts, target):
    feedback = Feedback(kind, "", (), counts)
    assert {target_of(feedback, ["write", "answer"], str(seed)) for seed in range(20)} == {target}


@pytest.mark.parametrize("kind", ["question_only", "vanilla", "with_answer"])
def test_where_it_does_not_say_it_every_target_has_its_turn(kind):
    feedback = Feedback(kind, "", (), {"asked": 9} | ({"wrong": 5} if kind == "with_answer" else {}))
    targets = ["write", "read", "answer"]
    assert {target_of(feedback, targets, str(seed)) for seed in range(40)} == set(targets)
