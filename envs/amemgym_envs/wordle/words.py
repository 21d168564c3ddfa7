"""The words of a game: which may be hidden, in which split, and which may be guessed."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path

from amemgym_envs.wordle.solver import best_guess

FOLDER = Path(__file__).parent
LENGTH = 5
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
SPLITS = ("test", "validation", "train", "train", "train")  # of the words in their order, in turns


def as_word(text: str) -> str | None:
    """The word that ``text`` spells, joined or with spaces between its letters, in small letters; None if it spells none."""
    word = "".join(text.split()).lower()
    return word if len(word) == LENGTH and LETTERS.issuperset(word) else None


def read_words(path: str | Path) -> tuple[str, ...]:
    """The words of a text file, one in a line, each once. ValueError: it cannot be read, or a line is no word."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"Wordle-v0: words {str(path)!r} cannot be read: {error}") from error
    words = {}
    for number, line in enumerate(lines, 1):
        word = as_word(line)
        if word is None and line.strip():
            raise ValueError(f"Wordle-v0: {path}, line {number}: {line[:40]!r}, expected a word of {LENGTH} letters, a to z")
        words[word] = None
    words.pop(None, None)
    return tuple(words)


def in_order(words: Iterable[str]) -> list[str]:
    """By their digests: an order without meaning that needs no random generator and stays when other words come or go."""
    return sorted(words, key=lambda word: sha256(word.encode()).digest())


@dataclass(frozen=True)
class Lexicon:
    """``words`` may be hidden and ``accepted`` ones guessed; ``hidden`` gives the word of a task, ``splits`` the tasks."""

    words: tuple[str, ...]
    accepted: frozenset[str]
    hidden: dict[str, str]
    splits: dict[str, list[str]]

    @cached_property
    def tasks(self) -> list[str]:
        return [task for tasks in self.splits.values() for task in tasks]

    @cached_property
    def opening(self) -> str:
        return best_guess(self.words)


@lru_cache(maxsize=8)
def lexicon(words: tuple[str, ...], others: frozenset[str] = frozenset(), vocabulary: int | None = None) -> Lexicon:
    """Of ``words``, or of the first ``vocabulary`` of them in their order, and then without ``others``. A word is in the same
    split whatever the size of the vocabulary. ValueError: fewer words than splits need, or than asked for."""
    if not len(SPLITS) <= (len(words) if vocabulary is None else vocabulary) <= len(words):
        got = f"{len(words)} words" if vocabulary is None else f"a vocabulary of {vocabulary} out of {len(words)} words"
        raise ValueError(f"Wordle-v0: {got}, expected at least {len(SPLITS)} and no more than there are")
    chosen = in_order(words)[:vocabulary]
    hidden, splits = {}, {"train": [], "validation": [], "test": []}
    for number, word in enumerate(chosen):
        split = SPLITS[number % len(SPLITS)]
        task = f"{split}-{len(splits[split])}"
        hidden[task] = word
        splits[split].append(task)
    kept = frozenset(chosen)
    accepted = kept | others if vocabulary is None else kept
    return Lexicon(tuple(word for word in words if word in kept), accepted, hidden, splits)


@lru_cache(maxsize=1)
def own_words() -> tuple[tuple[str, ...], frozenset[str]]:
    """The common words, which may be hidden, and the other words that may be guessed."""
    return read_words(FOLDER / "words.txt"), frozenset(read_words(FOLDER / "guesses.txt"))
