"""Wordle: find a hidden word of five letters by guesses that are marked letter by letter."""

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from amemgym_envs.core import EnvCard
from amemgym_envs.tasks import Outcome, TaskEnv
from amemgym_envs.wordle.solver import best_guess, feedback
from amemgym_envs.wordle.words import as_word, lexicon, own_words, read_words

PREFIX = re.compile(r"^\s*action:", re.IGNORECASE)  # ^: elsewhere it is not looked for
SEED = re.compile(r"seed-(-?[0-9]{1,18})")
SEEDS = {
    split: [f"seed-{seed}" for seed in seeds]
    for split, seeds in {"train": range(800), "validation": range(800, 900), "test": range(900, 1000)}.items()
}
ALL_SEEDS = [task for tasks in SEEDS.values() for task in tasks]
RULES = """Find a hidden word of five letters within {guesses} guesses.
A guess is a word, its five letters parted by spaces, like this:
c r a n e
Each guess is answered by five marks, the first for its first letter and so on:
g - the letter is in its place
y - the hidden word has the letter, in another place
b - the hidden word does not have the letter
If a guess has a letter several times, at most as many of them are marked g or y as the hidden word has.
Only English words are accepted{shown}. Anything else is answered by "invalid word" and uses up a guess."""


class WordleEnv(TaskEnv):
    """``words``: a file of the words to play with, one in a line. ``vocabulary``: play with so many of the words only, and show
    them at the beginning. ``guesses``: how many there are. ``shaped``: until the word is found, the score is half the share of
    letters in place in the best guess.

    ``mode`` "agentgym" plays with all words of the file ``words``, shows them, and has no fixed hidden word: each guess is marked
    by a word drawn from those that all marks so far allow. A task is the seed of these draws. ValueError: wrong options.
    """

    card = EnvCard(
        id="Wordle-v0",
        summary="Find a hidden word of five letters by guesses whose letters are marked.",
        tasks="the hidden word; every fifth word of the list is a test word, every fifth a validation word",
        splits={"train": 1206, "validation": 403, "test": 403},
        score=(0.0, 1.0),
        success="the hidden word is guessed",
        step_cap=6,
        grammar="five letters parted by spaces: c r a n e",
    )

    def __init__(
        self,
        mode: str = "default",
        words: str | Path | None = None,
        vocabulary: int | None = None,
        guesses: int = 6,
        shaped: bool = False,
        max_steps: int | None = None,
    ) -> None:
        if mode not in ("default", "agentgym"):
            raise ValueError(f"Wordle-v0: mode is {mode!r}, expected 'default' or 'agentgym'")
        if mode == "agentgym" and (words is None or vocabulary is not None):
            raise ValueError("Wordle-v0: mode 'agentgym' plays with all words of a file: give words=FILE and no vocabulary")
        if guesses < 1:
            raise ValueError(f"Wordle-v0: guesses is {guesses}, expected at least 1")
        self.resampled = mode == "agentgym"
        self.lexicon = lexicon(*(own_words() if words is None else (read_words(words), frozenset())), vocabulary)
        self.shown = self.resampled or vocabulary is not None
        self.guesses, self.shaped = guesses, shaped
        self.card = replace(self.card, step_cap=guesses, splits={split: len(tasks) for split, tasks in self.splits.items()})
        super().__init__(max_steps)

    @property
    def splits(self) -> dict[str, list[str]]:
        return SEEDS if self.resampled else self.lexicon.splits

    @property
    def tasks(self) -> list[str]:
        return ALL_SEEDS if self.resampled else self.lexicon.tasks

    @property
    def instruction(self) -> str:
        return RULES.format(guesses=self.guesses, shown=", those listed at the beginning" if self.shown else "")

    def choose_task(self, options: dict[str, Any] | None) -> str:
        task = (options or {}).get("task")
        known = isinstance(task, str) and (SEED.fullmatch(task) if self.resampled else task in self.lexicon.hidden)
        return task if known else super().choose_task(options)

    def item(self, number: int) -> str:
        return f"seed-{number}" if self.resampled else super().item(number)

    def begin(self, task: str) -> str:
        self._history: list[tuple[str, str]] = []  # guesses and their marks
        self._left, self._looked = self.lexicon.words, 0  # the words that the first so many of the marks allow
        self._made, self._greens = 0, 0
        if self.resampled:
            self._draws = random.Random(int(task.removeprefix("seed-")))
            self._hidden = self._draws.choice(self._left)
        else:
            self._hidden = self.lexicon.hidden[task]
        start = "Let's start Wordle!" if self.resampled else f"A word is hidden. You have {self.guesses} guesses."
        return "\n".join([start, "It is one of these words:", *self.lexicon.words]) if self.shown else start

    def act(self, action: str) -> Outcome:
        self._made += 1
        last = self._made >= self.guesses
        guess = as_word(PREFIX.sub("", action))
        if guess not in self.lexicon.accepted:
            return Outcome(self._refusal(guess), self._shaping, last)
        marks = feedback(guess, self._hidden)
        self._history.append((guess, marks))
        if guess == self._hidden:
            return Outcome(" ".join(marks), 1.0, True)
        self._greens = max(self._greens, marks.count("g"))
        if self.resampled:
            self._hidden = self._draws.choice(self.consistent())
        return Outcome(" ".join(marks), self._shaping, last)

    def consistent(self) -> list[str]:
        """The words that may still be the hidden one, by all marks so far."""
        for guess, marks in self._history[self._looked :]:
            self._left = [word for word in self._left if feedback(guess, word) == marks]
        self._looked = len(self._history)
        return list(self._left)

    def expert(self) -> str:
        """Plays words that the marks allow, without a look at the hidden one, but for the last guess: that is the hidden word."""
        if self._made + 1 >= self.guesses:
            return " ".join(self._hidden)
        return " ".join(best_guess(self.consistent()) if self._history else self.lexicon.opening)

    def random_action(self, rng: np.random.Generator) -> str:
        words = self.lexicon.words
        return " ".join(words[int(rng.integers(len(words)))])

    @property
    def _shaping(self) -> float:
        return 0.5 * self._greens / 5 if self.shaped else 0.0

    def _refusal(self, guess: str | None) -> str:
        if self.resampled:
            return "invalid word"  # as AgentGym's says it
        if guess is None:
            return "invalid word: five letters parted by spaces are expected, like c r a n e"
        return f"invalid word: {guess} is not in the word list"
