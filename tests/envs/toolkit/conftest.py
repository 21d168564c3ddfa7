from typing import Any

import pytest

from amemgym_envs.core import EnvCard
from amemgym_envs.toolkit import Call, Parameter, Tool, ToolEnv, ToolError, ToolTask, catalogue

BOOKS = {1: {"title": "Dune", "copies": 3}, 2: {"title": "Emma", "copies": 0}, 3: {"title": "Ulysses", "copies": 2}}


def find(shelf: dict[int, dict[str, Any]], title: str) -> int:
    for number, book in shelf.items():
        if book["title"] == title:
            return number
    raise ToolError(f"no book has the title {title!r}")


def copies(shelf: dict[int, dict[str, Any]], book_id: int) -> int:
    if book_id not in shelf:
        raise ToolError(f"there is no book {book_id}")
    return shelf[book_id]["copies"]


def burn(shelf: dict[int, dict[str, Any]], book_id: int, quietly: bool = False) -> str:
    shelf.pop(book_id, None)
    return "burnt"


class Library(ToolEnv):
    card = EnvCard("Library-v0", "Ask for books.", "built in", {"train": 2, "test": 1}, (0.0, 1.0), "it is right", 6, "calls")
    role = "You serve in a library."
    advice = "Look numbers up."
    book = Parameter("book_id", "integer", "the number of the book", draw=lambda rng: int(rng.integers(1, 4)))
    tools = catalogue(
        Tool("find_book", "Finds a book.", (Parameter("title", "string", "the title"),), "its number", find),
        Tool("get_copies", "Counts copies.", (book,), "how many there are", copies),
        Tool("burn_book", "Burns a book.", (book, Parameter("quietly", "boolean", "unseen", False)), "that it is burnt", burn),
    )
    worlds = {"empty": dict}

    @classmethod
    def make_tasks(cls):
        def about(name, book):
            gold = (Call("find_book", {"title": BOOKS[book]["title"]}), Call("get_copies", {"book_id": book}))
            return ToolTask(name, f"How many copies of {BOOKS[book]['title']}?", BOOKS[book]["copies"], gold, kind="count")
        return {"train": [about("train-0", 1), about("train-1", 2)], "test": [about("test-0", 3)]}

    def open(self, task):
        return dict(BOOKS if self.world is None else self.world)

    def intact(self):
        return len(self.session) == len(BOOKS)


@pytest.fixture
def library() -> type[ToolEnv]:
    """A toy with three tools, three tasks and a world that can be damaged."""
    return Library
