"""Three episodes made by hand, on which a scheme is tried before any model is loaded.

The user tells which cheese and which seat they like, and changes the cheese a period later. Question 0 needs both, question 1
the seat. In each period the agent replies, writes once, answers both questions and is probed for them.
"""

import json

from amemgym_train.rollout.records import Answer, Episode, Memory, Operation, Parsed, Probe, Turn

Notes = dict[str, str]

TRUTH: tuple[Notes, ...] = ({"cheese": "gouda", "seat": "window"}, {"cheese": "brie", "seat": "window"})
TOLD: tuple[Notes, ...] = (TRUTH[0], {"cheese": "brie"})
WRITTEN = ({"cheese": 0, "seat": 0}, {"cheese": 1, "seat": 0})
REQUIRED = (("cheese", "seat"), ("seat",))


def canned() -> list[Episode]:
    """Everything right; a change that was not written; a first write that could not be read."""
    return [
        _played("all right", 0, [(TOLD[0], "strict"), (TOLD[1], "strict")]),
        _played("a write failure", 1, [(TOLD[0], "strict"), ({}, "strict")]),
        _played("a format failure", 2, [(None, "failed"), (TOLD[1], "strict")]),
    ]


def _played(task: str, seed: int, writes: list[tuple[Notes | None, Parsed]]) -> Episode:
    """``writes``: what is noted in each period, None for a reply that is no JSON. The agent reads and answers by its notes."""
    episode = Episode("canned", task, seed, "canned", score=0.0)
    notes: Notes = {}
    for period, (noted, parsed) in enumerate(writes):
        _turn(episode, "respond", f"respond/p{period}/s0/r0", "Thanks!", {"period": period})
        shown = {"period": period, "sessions": [[period, 0]], "exposed": dict(TOLD[period]), "parsed": parsed}
        text = "Nice to know." if noted is None else json.dumps(noted)
        write = _turn(episode, "write", f"write/p{period}/0", text, shown)
        notes = notes | (noted or {})
        entries = [{"label": label, "value": value, "timestamp": f"2020-1{period}-01"} for label, value in notes.items()]
        episode.memories.append(Memory(write, period, entries))
        _ask(episode, period, notes)
    episode.score = sum(episode.rewards) / len(episode.answers)
    episode.success = all(answer.correct for answer in episode.answers)
    return episode


def _ask(episode: Episode, period: int, notes: Notes) -> None:
    """The questions of a period, then its probes. Choice 1 is right."""
    for question, states in enumerate(REQUIRED):
        right = all(notes.get(state) == TRUTH[period][state] for state in states)
        place = {"period": period, "question": question, "parsed": "strict"}
        turn = _turn(episode, "answer", f"answer/p{period}/q{question}", json.dumps({"answer": 2 if right else 1}), place)
        agrees = {state: notes.get(state) == TRUTH[period][state] for state in states}
        episode.answers.append(Answer(period, question, 4, 1, 1 if right else 0, turn, agrees))
        episode.rewards.append(float(right))
    for question, states in enumerate(REQUIRED):
        named = {state: notes.get(state) for state in states}
        place = {"period": period, "question": question, "parsed": "strict"}
        turn = _turn(episode, "read", f"read/p{period}/q{question}", json.dumps(named), place)
        expected = {state: TRUTH[period][state] for state in states}
        written = {state: WRITTEN[period][state] for state in states}
        episode.probes.append(Probe(period, question, expected, named, written, turn))


def _turn(episode: Episode, operation: Operation, slot: str, text: str, meta: dict) -> int:
    """Append a call whose ids are its characters; returns its index."""
    prompt, completion = [ord(char) for char in slot], [ord(char) for char in text]
    meta = meta | {"policy_version": "canned"}
    episode.turns.append(Turn(prompt, completion, [-0.1] * len(completion), text, "stop", operation, slot, meta))
    return len(episode.turns) - 1
