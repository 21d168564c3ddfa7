"""Numbers of a report: means with their intervals over users, and what stages sampled, trained on and took."""

from typing import Any

from amemgym_train.evaluation.intervals import spread
from amemgym_train.report.record import Evaluated, Iteration, Record

NONE = "–"


def number(values: dict[str, Any], key: str) -> float | None:
    """A figure; None where there is none."""
    value = values.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def shown(value: float | None, sign: bool = False) -> str:
    return NONE if value is None else f"{value:+.3f}" if sign else f"{value:.3f}"


def scored(evaluated: Evaluated | None) -> dict[str, float | int | None]:
    """{mean, low, high, users} of the memory score, or of the score of tasks; of figures without their users the mean alone."""
    if evaluated is None:
        return spread([])
    scores = [evaluated.users[user] for user in sorted(evaluated.users) if evaluated.users[user] is not None]
    name = "memory_score" if "memory_score" in evaluated.figures else "score"
    return spread(scores) if scores else spread([]) | {"mean": number(evaluated.figures, name)}


def difference(new: Evaluated | None, old: Evaluated | None) -> dict[str, float | int | None]:
    """{mean, low, high, users} of new minus old score, over the users that have both."""
    if new is None or old is None:
        return spread([])
    both = [user for user in sorted(new.users) if new.users[user] is not None and old.users.get(user) is not None]
    return spread([new.users[user] - old.users[user] for user in both])


def compared(name: str, old: Evaluated | None, new: Evaluated | None) -> list[tuple[str, str, str, str, str]]:
    """Rows of a table for the users ``name``, and those of each environment among them: who, how many, score before and after,
    and the difference."""
    parts = [(name, old, new)]
    for one in sorted((old or new).environments) if old or new else ():
        parts.append((f"{name}, {one}", old and old.part(one), new and new.part(one)))
    rows = []
    for who, before, after in parts:
        change = told(difference(after, before), sign=True)
        rows.append((who, str(scored(before or after)["users"]), told(scored(before)), told(scored(after)), change))
    return rows


def told(found: dict[str, float | int | None], sign: bool = False) -> str:
    """'0.407 [0.296, 0.519]'."""
    if found["mean"] is None:
        return NONE
    between = "" if found["low"] is None else f" [{shown(found['low'], sign)}, {shown(found['high'], sign)}]"
    return shown(found["mean"], sign) + between


def seconds(record: Record) -> dict[str, float]:
    """How long each stage took, over all iterations."""
    books = [record.test, *(one.entries for one in record.iterations)]
    found: dict[str, float] = {}
    for book in books:
        for stage, entry in book.items():
            name = f"test {stage}" if book is record.test else stage
            found[name] = found.get(name, 0.0) + (number(entry, "seconds") or 0.0)
    return found


def tokens(record: Record, stage: str, key: str) -> int | None:
    """The sum of a stage's figure ``key`` over the iterations; None where it has none."""
    values = [value for one in record.iterations if (value := number(one.result(stage), key)) is not None]
    return round(sum(values)) if values else None


def rewards(iteration: Iteration) -> list[float]:
    """The mean reward over the trained operations, step by step; empty for a method that sees none."""
    found = []
    for entry in iteration.log:
        values = [value for key in entry if key.startswith("reward/") and (value := number(entry, key)) is not None]
        if values:
            found.append(sum(values) / len(values))
    return found


def losses(iteration: Iteration) -> list[float]:
    return [value for entry in iteration.log if (value := number(entry, "loss")) is not None]
