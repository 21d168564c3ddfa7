"""Accounts drawn at random: projects, tasks, ids and all."""

from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

PROJECTS = 5
TASKS = (4, 6)  # per project, least and most
UNDATED = 0.2  # share of tasks without a due date
PLACES = ("at home", "at the office", "at the library", "downtown", "at the station", "at the club house")
COMPANIONS = ("alone", "with Amira", "with Bruno", "with Chen", "with Dora", "with Emil")


@cache
def chores() -> dict[str, tuple[str, ...]]:
    """The tasks that a project can have, by the name of the project."""
    lines = Path(__file__).with_name("chores.txt").read_text(encoding="utf-8").splitlines()
    named = (line.partition(":") for line in lines if not line.startswith("#"))
    return {name: tuple(task.strip() for task in tasks.split(";")) for name, _, tasks in named}


def draw_account(rng: np.random.Generator, today: date) -> dict[str, Any]:
    """What ``Account`` takes. Within a project no two tasks take equally long or are due on one day."""
    names = list(chores())
    record: dict[str, Any] = {"projects": [], "tasks": []}
    numbers = iter(rng.choice(9 * 10**6, size=PROJECTS * (TASKS[1] + 1), replace=False) + 10**6)
    for at in rng.choice(len(names), size=PROJECTS, replace=False):
        project = str(next(numbers))
        record["projects"].append({"id": project, "name": names[at], "is_favorite": bool(rng.random() < 0.4)})
        count = int(rng.integers(TASKS[0], TASKS[1] + 1))
        contents, places = rng.permutation(chores()[names[at]])[:count], rng.permutation(PLACES)
        minutes, days = rng.permutation(24)[:count] * 5 + 10, rng.permutation(26)[:count] - 8
        for number in range(count):
            dated = rng.random() >= UNDATED
            record["tasks"].append({
                "id": str(next(numbers)),
                "project_id": project,
                "content": str(contents[number]),
                "description": f"{places[number]}, {COMPANIONS[rng.integers(6)]}; costs {rng.integers(1, 60)} euros",
                "due_date": (today + timedelta(days=int(days[number]))).isoformat() if dated else None,
                "priority": int(rng.integers(1, 5)),
                "duration": int(minutes[number]),
                "is_completed": False,
            })
    return record
