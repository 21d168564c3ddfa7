"""The tools of the to-do environment, with AgentGym's names and parameters."""

from dataclasses import dataclass
from typing import Any

from amemgym_envs.todo.account import Tasks
from amemgym_envs.toolkit import Parameter, Tool, ToolError, catalogue

LISTED = ("id", "content", "due_date", "priority")  # of a task in a list; the rest is asked for singly


@dataclass(frozen=True)
class Desk:
    """What the tools work on: the account, and when and where the user is (empty: nobody knows)."""

    account: Tasks
    today: str = ""
    location: str = ""


def current_date(desk: Desk) -> str:
    return desk.today or _unknown("date")


def current_location(desk: Desk) -> str:
    return desk.location or _unknown("location")


def projects(desk: Desk) -> list[dict[str, Any]]:
    return desk.account.projects()


def update_project(desk: Desk, project_id: str, is_favorite: bool) -> dict[str, Any]:
    return desk.account.favour(project_id, is_favorite)


def tasks(desk: Desk, project_id: str) -> list[dict[str, Any]]:
    return [{key: task[key] for key in LISTED} for task in desk.account.tasks(project_id)]


def description(desk: Desk, task_id: str) -> dict[str, Any]:
    return _part(desk, task_id, "description")


def duration(desk: Desk, task_id: str) -> dict[str, Any]:
    return _part(desk, task_id, "duration")


def complete_task(desk: Desk, task_id: str) -> str:
    desk.account.complete(task_id)
    return f"task {task_id} is completed"


def update_task(desk: Desk, task_id: str, due_date: str) -> dict[str, Any]:
    task = desk.account.postpone(task_id, due_date)
    return {key: task[key] for key in LISTED}


def delete_task(desk: Desk, task_id: str) -> str:
    desk.account.delete(task_id)
    return f"task {task_id} is deleted"


def _part(desk: Desk, task_id: str, part: str) -> dict[str, Any]:
    task = desk.account.task(task_id)
    return {key: task[key] for key in ("id", "content", part)}


def _unknown(what: str) -> str:
    raise ToolError(f"the user's {what} is not known; the goal does not need it")


PROJECT = (Parameter("project_id", "string", "the id of the project"),)
TASK = (Parameter("task_id", "string", "the id of the task"),)
TOOLS = catalogue(
    Tool("get_user_current_date", "The date of today for the user.", (), "date, YYYY-MM-DD", current_date),
    Tool("get_user_current_location", "The place where the user is.", (), "name of the place", current_location),
    Tool("get_projects", "All projects of the account.", (), "list of objects with id, name, is_favorite", projects),
    Tool("update_project", "Makes a project a favourite, or no longer one.",
         (*PROJECT, Parameter("is_favorite", "boolean", "whether it is to be one")), "the project", update_project),
    Tool("get_tasks", "The open tasks of a project.", PROJECT,
         "list of objects with id, content, due_date (or None), priority (1 to 4, 4 the most urgent)", tasks),
    Tool("get_task_description", "What is noted about a task.", TASK, "object with id, content, description", description),
    Tool("get_task_duration", "How long a task takes.", TASK, "object with id, content, duration in minutes", duration),
    Tool("complete_task", "Marks a task as completed; it is no longer open then.", TASK, "that it is completed", complete_task),
    Tool("update_task", "Gives a task another due date.", (*TASK, Parameter("due_date", "date", "the new date")), "the task",
         update_task),
    Tool("delete_task", "Removes a task for good.", TASK, "that it is deleted", delete_task),
)
