"""Feedback summaries: what a reflector is told of played episodes, in one bounded text.

The first four kinds are the feedback types of AMemGym's public code (arXiv 2603.01966), each telling more than the one before it;
``diagnostic`` tells what failed in the terms of the diagnosis. What is the same for many users is told once, with how often it
happened: a prompt is to learn kinds of failure, and not one user's facts.

``question_only`` and ``vanilla`` do not say what was right, and so may not pick out what failed: they show all questions.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from amemgym_train.config.reflection import FeedbackKind
from amemgym_train.reflection.cases import Case
from amemgym_train.reflection.hints import hold_all, named

JUDGING = ("with_answer", "with_exposed_states", "diagnostic")  # kinds that know what was right
WORST = {"unreadable": 0, "write": 1, "read": 2, "utilisation": 3, "wrong": 4, "asked": 5}
TOLD = {
    "unreadable": "no choice could be read in the answer",
    "write": "the memory never held it",
    "read": "it was known once, then lost",
    "utilisation": "it was known, and the answer was wrong",
    "wrong": "answered wrong",
    "asked": "asked",
}
LONGEST = 400  # characters of one detail
# Cases shown of a group
EXAMPLES = {"question_only": 12, "vanilla": 12, "with_answer": 8, "with_exposed_states": 4, "diagnostic": 3}
NAMED = 6  # info types named of a group
HOLDING = {"whole": "word for word", "part": "in part", "nothing": "not at all"}  # what the memory had of what was asked for


@dataclass(frozen=True)
class Shown:
    """Cases told as one: what happened (``outcome``, a key of TOLD), what the memory ``held`` of it (a key of HOLDING; empty
    where the kind may not tell), how ``times`` often, with how many ``users``, and of which ``topics``, the most frequent first.
    """

    outcome: str
    held: str
    times: int
    users: int
    topics: tuple[str, ...]


@dataclass(frozen=True)
class Feedback:
    """``text`` for a model, ``shown`` and ``counts`` the same for rules. ``counts``: cases by what the kind may know of them;
    ``left_out``: groups of cases for which there was no room."""

    kind: FeedbackKind
    text: str
    shown: tuple[Shown, ...]
    counts: dict[str, int]
    left_out: int = 0

    def to_dict(self) -> dict[str, Any]:
        """JSON values; ``from_dict`` is the inverse."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Feedback":
        shown = tuple(Shown(**one | {"topics": tuple(one["topics"])}) for one in values["shown"])
        return cls(**values | {"shown": shown})


def summarise(cases: Iterable[Case], kind: FeedbackKind, max_chars: int) -> Feedback:
    """The feedback on ``cases`` in at most ``max_chars`` characters: what most users met first, and among equals the worst."""
    cases = list(cases)
    groups: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        outcome = _outcome(case, kind)
        if outcome != "correct":
            groups[outcome, _held(case, kind)].append(case)
    found = [_shown(*key, members, kind) for key, members in groups.items()]
    ordered = sorted(zip(found, groups.values(), strict=True), key=lambda pair: (-pair[0].users, -pair[0].times, _rank(pair[0])))
    counts = _counts(cases, kind)
    text, shown = _head(counts, kind), []
    for number, (one, members) in enumerate(ordered, 1):
        blocks = ["\n".join(f"   {line}" for line in _details(case, kind)) for case in _examples(members)[: EXAMPLES[kind]]]
        title = f"\n\n{number}. {_title(one, kind)}"
        while blocks and len(text) + len(title) + sum(len(block) + 1 for block in blocks) > max_chars:
            blocks.pop()
        if not blocks:
            break
        text += "\n".join([title, *blocks])
        shown.append(one)
    return Feedback(kind, text[:max_chars], tuple(shown), counts, len(ordered) - len(shown))


def _shown(outcome: str, held: str, members: Sequence[Case], kind: FeedbackKind) -> Shown:
    topics = Counter(topic for case in members for topic in _topics(case, kind))
    frequent = tuple(sorted(topics, key=lambda topic: (-topics[topic], topic))[:NAMED])
    return Shown(outcome, held, len(members), len({case.user for case in members}), frequent)


def _examples(members: Sequence[Case]) -> list[Case]:
    """Each user's different questions, first one of everybody, then another of everybody, and so on."""
    by_user: dict[str, dict[str, Case]] = defaultdict(dict)
    for case in members:
        by_user[case.user].setdefault(case.query, case)
    rounds = zip_longest(*(list(cases.values()) for cases in by_user.values()))
    return [case for one in rounds for case in one if case is not None]


def _rank(shown: Shown) -> tuple[int, str]:
    return WORST[shown.outcome], shown.held


def _outcome(case: Case, kind: FeedbackKind) -> str:
    if case.response is None and kind != "question_only":
        return "unreadable"  # whatever was known: the first thing to mend
    if kind not in JUDGING:
        return "asked"
    if kind == "diagnostic" and case.cell is not None:
        return case.cell.outcome
    return "correct" if case.right else "wrong"


def _topics(case: Case, kind: FeedbackKind) -> tuple[str, ...]:
    """The info types that may be named: an answer alone does not tell which it rests on."""
    return case.failed if kind == "diagnostic" else tuple(case.states) if kind == "with_exposed_states" else ()


def _held(case: Case, kind: FeedbackKind) -> str:
    """What the memory had of the values that the kind may know; for ``diagnostic`` of those that failed."""
    if kind not in ("with_exposed_states", "diagnostic") or case.response is None:
        return ""
    values = [case.states[state] for state in _topics(case, kind)]
    if hold_all([{"value": note} for note in case.memory], values):
        return "whole"
    words = " ".join(case.memory).casefold().split()
    return "part" if any(word in words for value in values for word in value.casefold().split()) else "nothing"


def _counts(cases: Sequence[Case], kind: FeedbackKind) -> dict[str, int]:
    if kind == "with_exposed_states":
        wrong = Counter(case.held for case in cases if _outcome(case, kind) == "wrong")
        unread = sum(case.response is None for case in cases)
        return {"asked": len(cases), "unreadable": unread, "wrong": wrong.total(), "wrong_though_held": wrong[True]}
    found = Counter(_outcome(case, kind) for case in cases)
    return {"asked": len(cases)} | {outcome: found[outcome] for outcome in WORST if found[outcome] and outcome != "asked"}


def _head(counts: dict[str, int], kind: FeedbackKind) -> str:
    if kind not in JUDGING and "unreadable" not in counts:
        return f"{counts['asked']} questions were asked, among them:"
    failures = [f"{counts[outcome]} {outcome} ({TOLD[outcome]})" for outcome in WORST if outcome in counts and outcome != "asked"]
    return f"{counts['asked']} questions were asked. What failed: {'; '.join(failures) or 'nothing'}."


def _title(shown: Shown, kind: FeedbackKind) -> str:
    users = "1 user" if shown.users == 1 else f"{shown.users} users"
    failure = f"{shown.outcome} failure, " if shown.outcome in ("write", "read", "utilisation") else ""
    held = f"; the memory had it {HOLDING[shown.held]}" if shown.held else ""
    about = f", about {', '.join(shown.topics)}" if shown.topics else ""
    return f"{failure}{TOLD[shown.outcome]}{held} ({shown.times} times with {users}{about}). For instance:"


def _details(case: Case, kind: FeedbackKind) -> list[str]:
    choices = " / ".join(f"{number}. {text}" for number, text in enumerate(case.choices, 1))
    response = "nothing readable" if case.response is None else f"choice {case.response + 1}"
    memory = "; ".join(case.memory) or "empty"
    lines = [f"Question: {case.query}"]
    if kind != "question_only":
        lines += [f"Choices: {choices}", f"The agent answered: {response}"]
    if kind in JUDGING:
        lines.append(f"Right was: choice {case.golden + 1}")
    if kind == "with_exposed_states":
        lines.append(f"The user had told in this period: {named(case.updates)}")
    if kind == "diagnostic":
        lines += [f"It needed: {named(case.states)}", f"The user had said: {' / '.join(case.said) or 'nothing'}"]
    return [_short(line) for line in (*lines, f"The memory then: {memory}")]


def _short(line: str) -> str:
    """``line`` on one line, its end left out if it is long (of a memory its beginning: the newest stands last)."""
    line = " ".join(line.split())
    if len(line) <= LONGEST:
        return line
    head, _, rest = line.partition(": ")
    return f"{head}: ... {rest[-LONGEST:]}" if head == "The memory then" else f"{line[:LONGEST]} ..."
