"""A to-do account: projects, their tasks, and what can be done with them."""

from copy import deepcopy
from typing import Any, Protocol

from amemgym_envs.toolkit import ToolError

Record = dict[str, Any]
TASK = ("id", "project_id", "content", "description", "due_date", "priority", "duration", "is_completed")


class Tasks(Protocol):
    """The account that the tools work on. Ids are strings. ToolError: there is no such project or open task."""

    def projects(self) -> list[Record]: ...
    def favour(self, project_id: str, is_favorite: bool) -> Record: ...
    def tasks(self, project_id: str) -> list[Record]: ...
    def task(self, task_id: str) -> Record: ...
    def complete(self, task_id: str) -> None: ...
    def postpone(self, task_id: str, due_date: str) -> Record: ...
    def delete(self, task_id: str) -> None: ...
    def state(self) -> Any: ...  # everything, so that two states are equal if and only if nothing differs


class Account:
    """An account in memory, from ``{"projects": [...], "tasks": [...]}``, which it leaves as it is.

    A project has ``id``, ``name``, ``is_favorite``; a task has the keys of ``TASK``: ``due_date`` is YYYY-MM-DD or None,
    ``priority`` 1 to 4, 4 the most urgent, ``duration`` in minutes. ValueError: a key is missing, or a task is in no project.
    """

    def __init__(self, record: Record) -> None:
        try:
            self._projects = {project["id"]: {key: project[key] for key in ("id", "name", "is_favorite")}
                              for project in record["projects"]}
            self._tasks = {task["id"]: {key: task[key] for key in TASK} for task in record["tasks"]}
        except (KeyError, TypeError) as error:
            raise ValueError(f"no account: {error} is missing from projects, tasks or one of them") from None
        for task in self._tasks.values():
            if task["project_id"] not in self._projects:
                raise ValueError(f"no account: task {task['id']} is in project {task['project_id']}, which there is not")

    def projects(self) -> list[Record]:
        return deepcopy(list(self._projects.values()))

    def favour(self, project_id: str, is_favorite: bool) -> Record:
        project = self._project(project_id)
        project["is_favorite"] = is_favorite
        return dict(project)

    def tasks(self, project_id: str) -> list[Record]:
        """The open ones."""
        self._project(project_id)
        return [dict(task) for task in self._tasks.values() if task["project_id"] == project_id and not task["is_completed"]]

    def task(self, task_id: str) -> Record:
        return dict(self._open(task_id))

    def complete(self, task_id: str) -> None:
        self._open(task_id)["is_completed"] = True

    def postpone(self, task_id: str, due_date: str) -> Record:
        task = self._open(task_id)
        task["due_date"] = due_date
        return dict(task)

    def delete(self, task_id: str) -> None:
        self._open(task_id)
        del self._tasks[task_id]

    def state(self) -> tuple[dict[str, Record], dict[str, Record]]:
        return deepcopy((self._projects, self._tasks))

    def _project(self, project_id: str) -> Record:
        if project_id not in self._projects:
            raise ToolError(f"there is no project {project_id[:40]!r}; get_projects tells the ids")
        return self._projects[project_id]

    def _open(self, task_id: str) -> Record:
        task = self._tasks.get(task_id)
        if task is None or task["is_completed"]:
            raise ToolError(f"there is no open task {task_id[:40]!r}; get_tasks tells the ids of a project's tasks")
        return task
