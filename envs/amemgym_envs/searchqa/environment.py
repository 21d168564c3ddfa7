"""SearchQA: find the answer to a question by searching articles, then give it."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from amemgym_envs.core import EnvCard
from amemgym_envs.searchqa.answers import is_right, normalised
from amemgym_envs.searchqa.library import Corpus, Questions, corpus, question_list
from amemgym_envs.searchqa.questions import SPLITS
from amemgym_envs.tasks import Outcome, TaskEnv

MODES = ("default", "agentgym")
USAGE = "Write <search>words to look for</search> to search, or <answer>the answer</answer> to answer."
_OPEN = {kind: re.compile(f"<{kind}>", re.IGNORECASE) for kind in ("search", "answer")}
_CLOSE = {kind: re.compile(f"</{kind}>", re.IGNORECASE) for kind in ("search", "answer")}
_PLAIN = re.compile(r"(?:action:)?\s*(search|answer)\[(.*)\]", re.IGNORECASE | re.DOTALL)


def parse(action: str) -> tuple[str, str] | None:
    """The first search or answer element of ``action`` as (kind, content); None: there is none.

    Both have to be closed. ``search[...]`` and ``answer[...]`` are read where they are the whole action.
    """
    found = []
    for kind in _OPEN:
        start = _OPEN[kind].search(action)
        end = start and _CLOSE[kind].search(action, start.end())
        if end:
            found.append((start.start(), kind, action[start.end() : end.start()].strip()))
    if found:
        return min(found)[1:]
    plain = _PLAIN.fullmatch(action.strip())  # stripped beforehand: with the spaces in it, the pattern took quadratic time
    return plain and (plain[1].lower(), plain[2].strip())


class SearchQAEnv(TaskEnv):
    """``corpus`` and ``questions``: JSONL files instead of the built-in ones. ``top``: articles that a search shows.

    ``mode``: "agentgym" lets an agent go on after a wrong answer; by default that ends the episode.
    """

    card = EnvCard(
        id="SearchQA-v0",
        summary="Questions of one to three hops, answered by searching articles.",
        tasks="generated questions about an invented continent, or a JSONL file",
        splits=dict(SPLITS),
        score=(0.0, 1.0),
        success="the answer equals a gold answer after SQuAD's normalisation",
        step_cap=10,
        grammar="<search>words</search> | <answer>text</answer>",
    )

    def __init__(
        self,
        corpus: str | Path | None = None,
        questions: str | Path | None = None,
        top: int = 3,
        mode: str = "default",
        max_steps: int | None = None,
    ) -> None:
        super().__init__(max_steps)
        if mode not in MODES:
            raise ValueError(f"{self.card.id}: mode is {mode!r}, expected {' or '.join(MODES)}")
        if not isinstance(top, int) or not 1 <= top <= 20:
            raise ValueError(f"{self.card.id}: top is {top!r}, expected a number from 1 to 20")
        if corpus and not questions:
            raise ValueError(f"{self.card.id}: corpus is {corpus}; the built-in questions are not about it, give questions too")
        self.top, self.mode = top, mode
        self._files = corpus, questions
        if questions:
            _ = self._questions  # a wrong file is told now, not at the first episode
        if corpus:
            _ = self._corpus

    @cached_property
    def _corpus(self) -> Corpus:
        return corpus(self._files[0])

    @cached_property
    def _questions(self) -> Questions:
        return question_list(self._files[1])

    @property
    def splits(self) -> Mapping[str, Sequence[str]]:
        return self._questions.splits

    @property
    def instruction(self) -> str:
        wrong = "After a wrong answer you may try again." if self.mode == "agentgym" else "Only one answer is taken."
        return (
            "You are asked a question whose answer stands in a collection of articles. Some questions need several articles, one "
            "leading to the next.\n"
            f"<search>words</search> shows the {self.top} articles that fit the words best. Names work well; a search does not "
            "understand sentences.\n"
            "<answer>text</answer> gives your answer: a name, a date or a number, in as few words as possible.\n"
            f"Each step takes one of the two, the first one that you write. {wrong}"
        )

    def item(self, number: int) -> str:
        if self._files[1] and 0 <= number < len(self.tasks):
            return f"q-{number}"  # the row of the file, whatever its split
        return super().item(number)

    def begin(self, task: str) -> str:
        self._question = self._questions.by_id[task]
        self._found = 0  # how many of the gold searches have been made
        return f"Question: {self._question.text}"

    def act(self, action: str) -> Outcome:
        parsed = parse(action)
        if parsed is None:
            return Outcome(f"There is no complete search or answer in this. {USAGE}", 0.0)
        kind, text = parsed
        if not normalised(text):
            return Outcome(f"The {kind} is empty. {USAGE}", 0.0)
        return self._search(text) if kind == "search" else self._answer(text)

    def _search(self, query: str) -> Outcome:
        gold = self._question.searches
        if self._found < len(gold) and query == gold[self._found]:
            self._found += 1
        articles = self._corpus.index.search(query, self.top)
        shown = [f"Doc {place}(Title: {article.title}) {article.text}" for place, article in enumerate(articles, 1)]
        return Outcome(f"<information>{chr(10).join(shown) or 'No article has any of these words.'}</information>", 0.0)

    def _answer(self, text: str) -> Outcome:
        if is_right(text, self._question.answers):
            return Outcome("Congratulations! The answer is right.", 1.0, done=True)
        if self.mode == "agentgym":
            return Outcome(f"This answer is wrong. Try again. {USAGE}", 0.0)
        return Outcome("This answer is wrong. The episode is over.", 0.0, done=True)

    def expert(self) -> str:
        last = self.max_steps is not None and self.steps >= self.max_steps - 1
        if last or self._found == len(self._question.searches):
            return f"<answer>{self._question.answers[0]}</answer>"
        return f"<search>{self._question.searches[self._found]}</search>"

    def random_action(self, rng: np.random.Generator) -> str:
        kind = "search" if rng.random() < 0.8 else "answer"
        title = self._corpus.titles[int(rng.integers(len(self._corpus.titles)))]
        return f"<{kind}>{title}</{kind}>"
