"""What the tests of credit share: episodes made from the arrays of a life."""

import pytest

from amemgym_train.rollout.records import Answer, Episode, Memory, Probe, Turn


def build(values, changed, required, named, writes, right=None):
    """An episode in which period p makes its writes, then answers every question, then is probed for every question.

    ``values[p][s]``: the truth; ``changed[p]``: the states that changed; ``required[q]``: the states of a question;
    ``named[p][q][s]``: what its probe was answered with; ``writes``: (period, exposed, notes after it or None for no snapshot,
    parsed); ``right[p][q]``: whether it was answered right (default: yes).
    """
    episode = Episode("AMemGym-v0", "user", 0, "user")

    def turn(operation, slot, **meta):
        number = len(episode.turns)
        episode.turns.append(Turn([1], [2, number], [-0.1, -0.2], slot, "stop", operation, slot, meta))
        return number

    for p, truth in enumerate(values):
        turn("respond", f"respond/p{p}/s0/r0", period=p)
        for number, (_, exposed, notes, parsed) in enumerate(write for write in writes if write[0] == p):
            index = turn("write", f"write/p{p}/{number}", period=p, exposed=exposed, parsed=parsed)
            if notes is not None:
                entries = [{"label": label, "value": value, "timestamp": ""} for label, value in notes.items()]
                episode.memories.append(Memory(index, p, entries))
        for q in range(len(required)):
            index = turn("answer", f"answer/p{p}/q{q}", period=p)
            episode.answers.append(Answer(p, q, 4, 1, 1 if right is None or right[p][q] else 0, index))
        for q, states in enumerate(required):
            index = turn("read", f"read/p{p}/q{q}", period=p)
            written = {s: max(w for w in range(p + 1) if s in changed[w]) for s in states}
            episode.probes.append(Probe(p, q, {s: truth[s] for s in states}, named[p][q], written, index))
    return episode


@pytest.fixture(scope="session")
def make_episode():
    return build
