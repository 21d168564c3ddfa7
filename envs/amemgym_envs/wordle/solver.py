"""What feedback says about a guess, and a guess that feedback will say much about."""

from collections import Counter
from collections.abc import Sequence

FEW = 60  # words whose feedbacks are compared with each other; more would take milliseconds


def feedback(guess: str, hidden: str) -> str:
    """One mark per letter of ``guess``: g in its place, y elsewhere in ``hidden``, b neither.

    A letter is marked as often as ``hidden`` has it: first where it is in its place, then from left to right.
    """
    marks, left = ["b"] * len(guess), []
    for place, (letter, right) in enumerate(zip(guess, hidden, strict=True)):
        if letter == right:
            marks[place] = "g"
        else:
            left.append(right)
    if left:
        for place, letter in enumerate(guess):
            if marks[place] == "b" and letter in left:
                marks[place] = "y"
                left.remove(letter)
    return "".join(marks)


def best_guess(words: Sequence[str]) -> str:
    """One of ``words`` that leaves few of them: by the number of different feedbacks if they are few, by how evenly its letters
    part them if they are many. The first of the equally good."""
    if len(words) > FEW:
        having = Counter(letter for word in words for letter in set(word))
        placed = Counter(at for word in words for at in enumerate(word))

        def parting(word: str) -> int:
            letters = sum(having[letter] * (len(words) - having[letter]) for letter in set(word))
            return letters + sum(placed[at] * (len(words) - placed[at]) for at in enumerate(word)) // 2

        return max(words, key=parting)
    return max(words, key=lambda guess: len({feedback(guess, word) for word in words}))
