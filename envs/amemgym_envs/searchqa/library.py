"""What all environments of a process share: the corpus, its index and the questions, made once, when first asked for."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import NamedTuple

from amemgym_envs.searchqa import articles, questions
from amemgym_envs.searchqa.index import Index
from amemgym_envs.searchqa.questions import SPLITS, Question
from amemgym_envs.searchqa.world import World

_LOCK = RLock()  # so that two threads do not build the same thing twice


class Corpus(NamedTuple):
    titles: list[str]
    index: Index


class Questions(NamedTuple):
    splits: Mapping[str, list[str]]  # ids
    by_id: Mapping[str, Question]


def corpus(path: str | Path | None) -> Corpus:
    """The articles of the JSONL file ``path``, or the invented ones."""
    with _LOCK:
        return _corpus(path and _version(path))


def question_list(path: str | Path | None) -> Questions:
    """The questions of the JSONL file ``path``, or those about the invented articles."""
    with _LOCK:
        return _questions(path and _version(path))


def _version(path: str | Path) -> tuple[str, int, int]:
    """Changes when the file does, so that nothing old is served. ValueError: there is no such file."""
    try:
        state = Path(path).stat()
    except OSError as error:
        raise ValueError(f"SearchQA-v0: {path} cannot be read: {error.strerror}") from error
    return str(Path(path).resolve()), state.st_mtime_ns, state.st_size


@lru_cache(maxsize=1)
def _invented() -> tuple[World, list[articles.Article]]:
    world = World()
    return world, articles.written(world)


@lru_cache(maxsize=4)
def _corpus(version: tuple[str, int, int] | None) -> Corpus:
    texts = articles.read(version[0]) if version else _invented()[1]
    return Corpus([article.title for article in texts], Index(texts))


@lru_cache(maxsize=4)
def _questions(version: tuple[str, int, int] | None) -> Questions:
    if version:
        rows = questions.read(version[0])
        splits = {split: [name for name, (where, _) in rows.items() if where == split] for split in SPLITS}
        return Questions(splits, {name: question for name, (_, question) in rows.items()})
    by_id = {
        f"{split}-{number}": question
        for split, group in questions.Writer(*_invented()).questions().items()
        for number, question in enumerate(group)
    }
    return Questions({split: [name for name in by_id if name.startswith(f"{split}-")] for split in SPLITS}, by_id)
