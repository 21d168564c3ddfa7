"""The search for better prompts: propose, try on a few training users, test on validation users, keep.

Each proposal rewrites one target of a parent, which is drawn from the prompts that are best for some validation user (GEPA,
arXiv 2507.19457) with the feedback that this parent earned on training users. What is no better on those, by what its target is
there for (the states known, or the answers), goes no further. What is goes to the validation users, and stands in place of the
best so far only if a paired test says that it is better there. That test is of the memory score, but for read prompts, which no
answer depends on: they are compared by the states known.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from random import Random
from typing import Any

from amemgym_train.agents.templates import Prompt
from amemgym_train.config.reflection import WRITERS, PromptsConfig, Target
from amemgym_train.policy.base import TooLong
from amemgym_train.reflection.edits import REFUSALS, Bounds, Refused, edited
from amemgym_train.reflection.feedback import Feedback
from amemgym_train.reflection.paired import Comparison, compare
from amemgym_train.reflection.pareto import draw, front
from amemgym_train.reflection.reflectors import Ask
from amemgym_train.reflection.trial import Metric, Trial

Prompts = Mapping[str, Prompt]
Play = Callable[[Prompts, str], Trial]  # with these prompts the users of a role: train (with feedback) or validation
Reply = Callable[[Ask], str]


@dataclass
class Candidate:
    """Some prompts and what became of them. ``parent`` is the number of the candidate that they were made from (None: the start,
    or kept from the iteration before). ``verdict``: start, kept, refused_<why>, no_better_on_train, no_better, accepted."""

    number: int
    prompts: Prompts
    parent: int | None = None
    target: Target | None = None
    changes: Sequence[str] = ()
    leaks: Sequence[str] = ()
    verdict: str = "start"
    message: str = ""
    train: Trial | None = None
    validation: Trial | None = None
    test: Comparison | None = None

    def to_dict(self, parents: "Sequence[Candidate]") -> dict[str, Any]:
        """JSON values: lineage, scores by user, and the difference to its parent as lines of a diff."""
        before = parents[self.parent].prompts if self.parent is not None else self.prompts
        return {
            "number": self.number,
            "parent": self.parent,
            "target": self.target,
            "verdict": self.verdict,
            "message": self.message,
            "changes": list(self.changes),
            "leaks": list(self.leaks),
            "diff": diff(before, self.prompts),
            "train": None if self.train is None else dict(self.train.memory_score),
            "validation": None if self.validation is None else dict(self.validation.memory_score),
            "test": None if self.test is None else self.test.to_dict(),
        }


@dataclass
class Found:
    """``best`` is the candidate that stands, ``kept`` the numbers of those to go on from."""

    candidates: list[Candidate] = field(default_factory=list)
    best: int = 0
    kept: list[int] = field(default_factory=list)

    def counts(self) -> dict[str, int | float]:
        """Figures for a log; a refusal is counted by its kind, those that never happened with 0."""
        verdicts = Counter(one.verdict for one in self.candidates if one.parent is not None)
        refused = {f"refused_{kind}": verdicts[f"refused_{kind}"] for kind in REFUSALS}
        start, best = self.candidates[0], self.candidates[self.best]
        return {
            "proposals": verdicts.total(),
            "accepted": verdicts["accepted"],
            "no_better": verdicts["no_better"],
            "no_better_on_train": verdicts["no_better_on_train"],
            **refused,
            "flagged": sum(bool(one.leaks) for one in self.candidates),
            "kept": len(self.kept),
            "validation_before": start.validation.mean,
            "validation_after": best.validation.mean,
        }


def search(
    start: Prompts,
    pool: Sequence[Prompts],
    agent: str,
    config: PromptsConfig,
    play: Play,
    reply: Reply,
    bounds: Bounds,
    seed: int,
    guided: bool = False,
) -> Found:
    """Make ``config.proposals`` proposals. ``pool``: other prompts kept before, tried again first; ``agent``: its name."""
    found = Found([Candidate(0, start, train=play(start, "train"), validation=play(start, "validation"))])
    for prompts in pool:
        _judge(found, _add(found, Candidate(len(found.candidates), prompts, verdict="kept")), config, play)
    for number in range(config.proposals):
        scores = {one.number: one.validation.memory_score for one in found.candidates if one.validation is not None}
        parent = found.candidates[draw(front(scores, config.keep), scores, f"{seed}/{number}/parent")]
        target = target_of(parent.train.feedback, config.targets, f"{seed}/{number}/target")
        name = WRITERS[agent] if target in ("write", "types") else target
        one = _add(found, Candidate(len(found.candidates), parent.prompts, parent.number, target))
        ask = Ask(target, name, parent.prompts[name], parent.train.feedback, number, guided)
        try:
            edit = edited(target, name, ask.prompt, reply(ask), bounds)
        except Refused as refusal:
            one.verdict, one.message = f"refused_{refusal.kind}", str(refusal)
            continue
        one.prompts, one.changes, one.leaks = {**parent.prompts, name: edit.prompt}, edit.changes, edit.leaks
        try:
            _judge(found, one, config, play)
        except TooLong as error:  # of a server's window, which is not known before
            one.verdict, one.message, one.train, one.validation = "refused_long", str(error), None, None
    scores = {one.number: one.validation.memory_score for one in found.candidates if one.validation is not None}
    found.kept = front(scores, config.keep)
    return found


def target_of(feedback: Feedback, targets: Sequence[Target], seed: str) -> Target:
    """What to rewrite: drawn with as many chances as there were failures that it could mend, as far as the feedback may know."""
    counts = feedback.counts
    lost, known = counts.get("write", 0) + counts.get("read", 0), counts.get("utilisation", 0)
    if feedback.kind == "with_exposed_states":
        lost, known = counts["wrong"] - counts["wrong_though_held"], counts["wrong_though_held"]
    elif feedback.kind != "diagnostic":  # what is wrong, or may be, is so for either reason
        lost = known = counts.get("wrong", 0) if feedback.kind == "with_answer" else counts["asked"] - counts.get("unreadable", 0)
    read = counts.get("read", 0) if feedback.kind == "diagnostic" else lost
    chances = {"write": lost, "types": lost, "read": read, "answer": known + counts.get("unreadable", 0)}
    weights = [chances[target] for target in targets]
    return Random(seed).choices(targets, weights if any(weights) else None)[0]


def diff(before: Prompts, after: Prompts) -> list[str]:
    lines = []
    for name in after:
        old, new = before[name].text.splitlines(), after[name].text.splitlines()
        lines += unified_diff(old, new, f"{name}.txt", f"{name}.txt", lineterm="", n=1)
    return lines


def _add(found: Found, one: Candidate) -> Candidate:
    found.candidates.append(one)
    return one


def _judge(found: Found, one: Candidate, config: PromptsConfig, play: Play) -> None:
    """Try ``one``, and let it stand if it is better; prompts that were tried before keep the verdict that they are kept."""
    best, fresh = found.candidates[found.best], one.parent is not None
    one.train = play(one.prompts, "train")
    first: Metric = "memory_score" if one.target == "answer" else "known"
    if fresh and not compare(one.train.by(first), found.candidates[one.parent].train.by(first)).difference > 0:
        one.verdict = "no_better_on_train"
        return
    one.validation = play(one.prompts, "validation")
    last: Metric = "known" if one.target == "read" else "memory_score"
    one.test = compare(one.validation.by(last), best.validation.by(last))
    if one.test.better(config.alpha) and one.validation.mean >= best.validation.mean:
        one.verdict, found.best = "accepted", one.number
    elif fresh:
        one.verdict = "no_better"
