"""The built-in tasks: each kind says how it is asked, and finds its answer or does what is wanted with the tools."""

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

from amemgym_envs.todo.account import Account, Record
from amemgym_envs.todo.accounts import PLACES, draw_account
from amemgym_envs.todo.tools import TOOLS, Desk
from amemgym_envs.toolkit import Recorder, ToolTask

SEED = 51_967
COUNTS = {"train": 220, "validation": 44, "test": 44}
DONE = "done"  # the answer where something is to be done
FINISHED = f' When it is done, answer "{DONE}".'
NAMES = " Answer with the list of their names."


class Request(NamedTuple):
    goal: str
    answer: Any


class Dull(Exception):
    """The answer is empty, all there is, or not the only one; draw again."""


class Clerk:
    """Draws an account and one of its projects, and asks the tools as a good agent would."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.today = date(2023, 1, 1) + timedelta(days=int(rng.integers(700)))
        self.location = PLACES[int(rng.integers(len(PLACES)))]
        self.record = draw_account(rng, self.today)
        self.project = self.pick(self.record["projects"])
        self.name = self.project["name"]
        self.recorder = Recorder(TOOLS, Desk(Account(self.record), self.today.isoformat(), self.location))
        self.use = self.recorder.use

    def pick(self, among: list[Any]) -> Any:
        return among[int(self.rng.integers(len(among)))]

    def tasks(self) -> list[Record]:
        """The tasks of the project, by way of its id."""
        self.use("get_projects")
        return self.use("get_tasks", project_id=self.project["id"])

    def one(self) -> Record:
        return self.pick(self.tasks())

    def one_dated(self) -> Record:
        return self.pick([task for task in self.tasks() if task["due_date"]] or _dull())

    def durations(self, tasks: list[Record]) -> list[int]:
        return [self.use("get_task_duration", task_id=task["id"])["duration"] for task in tasks]

    def notes(self, tasks: list[Record]) -> list[str]:
        return [self.use("get_task_description", task_id=task["id"])["description"] for task in tasks]

    def late(self) -> list[Record]:
        today, tasks = self.use("get_user_current_date"), self.tasks()
        return some([task for task in tasks if task["due_date"] and task["due_date"] < today], tasks)

    def day(self, days: int) -> str:
        return (self.today + timedelta(days=days)).isoformat()


def some(chosen: list[Any], of: list[Any]) -> list[Any]:
    """``chosen``, if it is neither empty nor all."""
    if not 0 < len(chosen) < len(of):
        raise Dull
    return chosen


def contents(tasks: list[Record]) -> list[str]:
    return [task["content"] for task in tasks]


def cost(note: str) -> int:
    return int(re.search(r"costs (\d+)", note)[1])


def _dull() -> Any:
    raise Dull


def minutes_in_all(clerk: Clerk) -> Request:
    return Request(f"How many minutes do the open tasks of my project {clerk.name} take in all? Answer with a number.",
                   sum(clerk.durations(clerk.tasks())))


def longest(clerk: Clerk) -> Request:
    tasks = clerk.tasks()
    minutes = clerk.durations(tasks)
    return Request(f"Which open task of my project {clerk.name} takes longest, and how many minutes? Answer with a list: "
                   "the name of the task, and the minutes.", [tasks[int(np.argmax(minutes))]["content"], max(minutes)])


def cost_of_one(clerk: Clerk) -> Request:
    task = clerk.one()
    return Request(f"How many euros does the task \"{task['content']}\" of my project {clerk.name} cost, by its description? "
                   "Answer with a number.", cost(clerk.notes([task])[0]))


def cost_in_all(clerk: Clerk) -> Request:
    return Request(f"How many euros do the open tasks of my project {clerk.name} cost in all, by their descriptions? Answer "
                   "with a number.", sum(map(cost, clerk.notes(clerk.tasks()))))


def first_due(clerk: Clerk) -> Request:
    dated = [task for task in clerk.tasks() if task["due_date"]] or _dull()
    first = min(dated, key=lambda task: task["due_date"])
    return Request(f"Which open task of my project {clerk.name} is due first, and when? Answer with a list: the name of "
                   "the task, and the date, as YYYY-MM-DD.", [first["content"], first["due_date"]])


def overdue(clerk: Clerk) -> Request:
    return Request(f"Which open tasks of my project {clerk.name} are overdue, that is, were due before today?{NAMES}",
                   contents(clerk.late()))


def due_soon(clerk: Clerk) -> Request:
    days, today, tasks = int(clerk.rng.integers(4, 12)), clerk.use("get_user_current_date"), clerk.tasks()
    soon = some([task for task in tasks if task["due_date"] and today < task["due_date"] <= clerk.day(days)], tasks)
    return Request(f"Which open tasks of my project {clerk.name} are due within the next {days} days, from tomorrow on?{NAMES}",
                   contents(soon))


def urgent(clerk: Clerk) -> Request:
    tasks = clerk.tasks()
    top = some([task for task in tasks if task["priority"] == max(task["priority"] for task in tasks)], tasks)
    return Request(f"Which open tasks of my project {clerk.name} have the highest priority that there is in this project?{NAMES}",
                   contents(top))


def favourites(clerk: Clerk) -> Request:
    projects = clerk.use("get_projects")
    chosen = some([project["name"] for project in projects if project["is_favorite"]], projects)
    others = [project["name"] for project in projects if not project["is_favorite"]]
    word, wanted = [("favourites", chosen), ("not favourites", others)][int(clerk.rng.integers(2))]
    return Request(f"Which of my projects are {word}?{NAMES}", wanted)


def possible_here(clerk: Clerk) -> Request:
    here, tasks = clerk.use("get_user_current_location"), clerk.tasks()
    fit = [(task, note) for task, note in zip(tasks, clerk.notes(tasks), strict=True) if note.startswith(f"{here},")] or _dull()
    return Request(f"Which open task of my project {clerk.name} can be done where I am, and how many euros does it cost, by its "
                   "description? Answer with a list: the name of the task, and the euros.",
                   [fit[0][0]["content"], cost(fit[0][1])])


def days_left(clerk: Clerk) -> Request:
    clerk.use("get_user_current_date")
    task = clerk.one_dated()
    days = (date.fromisoformat(task["due_date"]) - clerk.today).days or _dull()
    return Request(f"In how many days is the task \"{task['content']}\" of my project {clerk.name} due? Answer with a number, "
                   "negative if it is overdue.", days)


def due_date(clerk: Clerk) -> Request:
    task = clerk.one_dated()
    return Request(f"When is the task \"{task['content']}\" of my project {clerk.name} due? Answer with the date, as YYYY-MM-DD.",
                   task["due_date"])


def complete(clerk: Clerk) -> Request:
    task = clerk.one()
    clerk.use("complete_task", task_id=task["id"])
    return _done(f"I have done \"{task['content']}\" of my project {clerk.name}. Mark it as completed.")


def remove(clerk: Clerk) -> Request:
    task = clerk.one()
    clerk.use("delete_task", task_id=task["id"])
    return _done(f"Delete the task \"{task['content']}\" from my project {clerk.name}.")


def put_off(clerk: Clerk) -> Request:
    clerk.use("get_user_current_date")
    task, days = clerk.one(), int(clerk.rng.integers(2, 15))
    if task["due_date"] == clerk.day(days):
        raise Dull
    clerk.use("update_task", task_id=task["id"], due_date=clerk.day(days))
    return _done(f"Let the task \"{task['content']}\" of my project {clerk.name} be due in {days} days from today.")


def put_off_further(clerk: Clerk) -> Request:
    task, days = clerk.one_dated(), int(clerk.rng.integers(2, 15))
    later = date.fromisoformat(task["due_date"]) + timedelta(days=days)
    clerk.use("update_task", task_id=task["id"], due_date=later.isoformat())
    return _done(f"Let the task \"{task['content']}\" of my project {clerk.name} be due {days} days later than it is now.")


def favour(clerk: Clerk) -> Request:
    clerk.use("get_projects")
    clerk.use("update_project", project_id=clerk.project["id"], is_favorite=not clerk.project["is_favorite"])
    wish = "is no longer a favourite of mine" if clerk.project["is_favorite"] else "is a favourite of mine now"
    return _done(f"My project {clerk.name} {wish}. Note that.")


def complete_late(clerk: Clerk) -> Request:
    for task in clerk.late():
        clerk.use("complete_task", task_id=task["id"])
    return _done(f"Mark all tasks of my project {clerk.name} that were due before today as completed, and no others.")


def move_late(clerk: Clerk) -> Request:
    for task in clerk.late():
        clerk.use("update_task", task_id=task["id"], due_date=clerk.day(0))
    return _done(f"Let all tasks of my project {clerk.name} that were due before today be due today, and leave the others.")


def remove_undated(clerk: Clerk) -> Request:
    tasks = clerk.tasks()
    for task in some([task for task in tasks if not task["due_date"]], tasks):
        clerk.use("delete_task", task_id=task["id"])
    return _done(f"Delete all tasks of my project {clerk.name} that have no due date, and no others.")


def complete_longest(clerk: Clerk) -> Request:
    tasks = clerk.tasks()
    clerk.use("complete_task", task_id=tasks[int(np.argmax(clerk.durations(tasks)))]["id"])
    return _done(f"Of my project {clerk.name}, I have done the task that takes longest. Mark it as completed.")


def favour_fullest(clerk: Clerk) -> Request:
    sizes = [len(clerk.use("get_tasks", project_id=project["id"])) for project in clerk.use("get_projects")]
    fullest = clerk.record["projects"][int(np.argmax(sizes))]
    if sizes.count(max(sizes)) > 1 or fullest["is_favorite"]:
        raise Dull
    clerk.use("update_project", project_id=fullest["id"], is_favorite=True)
    return _done("Make the project that has most open tasks a favourite of mine, and leave the others.")


KINDS: dict[Callable[[Clerk], Request], str] = {
    cost_of_one: "easy", due_date: "easy", first_due: "easy", urgent: "easy", favourites: "easy", complete: "easy",
    remove: "easy", favour: "easy", overdue: "medium", due_soon: "medium", days_left: "medium", put_off: "medium",
    put_off_further: "medium", remove_undated: "medium", complete_late: "medium", move_late: "medium", minutes_in_all: "hard",
    longest: "hard", cost_in_all: "hard", possible_here: "hard", complete_longest: "hard", favour_fullest: "hard",
}


def make_tasks() -> dict[str, list[ToolTask]]:
    """The same tasks at every call."""
    return {split: [_task(f"{split}-{number}", [SEED, index, number], number) for number in range(count)]
            for index, (split, count) in enumerate(COUNTS.items())}


def _task(name: str, seed: list[int], number: int) -> ToolTask:
    kind = list(KINDS)[number % len(KINDS)]
    rng = np.random.default_rng(seed)
    while True:
        clerk = Clerk(rng)
        try:
            request = kind(clerk)
        except Dull:
            continue
        init = {"current_date": clerk.today.isoformat(), "current_location": clerk.location, "account": clerk.record}
        listed = kind in (longest, first_due, possible_here)
        return ToolTask(name, request.goal, request.answer, tuple(clerk.recorder.calls), init, kind.__name__, KINDS[kind],
                        ordered=listed)


def _done(goal: str) -> Request:
    return Request(goal + FINISHED, DONE)
